"""What becomes of each instruction that makes or takes a generic pointer: a table from opcode to its maker."""

from __future__ import annotations

from metalloid.frontend.spaces.generic import GENERIC, WORDLESS, mentions, without_generic
from metalloid.frontend.spaces.lower import Lowering, Make
from metalloid.frontend.spaces.numbers import Parts, as_number, from_number
from metalloid.ir.module import Function, Instruction
from metalloid.ir.types import I64, IntType, PointerType
from metalloid.ir.values import Aggregate, Global, Local, Value, poison
from metalloid.records import replace

_TAKERS = (*WORDLESS, "llvm.memcpy.", "llvm.memmove.", "llvm.memset.")


def can_lower(function: Function) -> bool:
    """Whether everything that makes or takes a generic pointer is known here."""
    return all(_known(i) for i in function.instructions())


def _known(i: Instruction) -> bool:
    if i.type == GENERIC and (i.opcode not in MAKERS or i.opcode in ("atomicrmw", "cmpxchg")):
        return False
    if any(isinstance(o, Aggregate | Global) and mentions(o) for o in i.operands):
        return False
    return i.opcode != "call" or i.called.startswith(_TAKERS) or not any(mentions(o) for o in i.operands)


def _part(parts: Parts, space: int) -> Value:
    return parts.of.get(space, poison(PointerType(space)))


def _gep(low: Lowering, i: Instruction) -> None:
    base = low.of(i.operands[0])
    for space, value in low.of(i.value).of.items():
        operands = (_part(base, space), *i.operands[1:])
        assert isinstance(value, Local)
        low.w.code.append(replace(i, type=value.type, operands=operands, name=value.name))


def _choice(low: Lowering, i: Instruction) -> None:
    """phi, select and freeze: of each part, and of the tag."""
    kept = i.operands[:1] if i.opcode == "select" else ()
    given = [low.of(o) for o in i.operands[len(kept) :]]
    made = low.of(i.value)
    low.append(i, made.tag, (*kept, *(p.tag for p in given)))
    for space, value in made.of.items():
        low.append(i, value, (*kept, *(_part(p, space) for p in given)))


def _read(low: Lowering, i: Instruction) -> None:
    """A pointer that is read from memory, or made from a number."""
    address = tuple(low.operand(i, o) for o in i.operands)
    if i.opcode == "inttoptr":
        number: Value = i.operands[0]
        assert isinstance(number.type, IntType)
        if number.type.bits != 64:
            opcode = "zext" if number.type.bits < 64 else "trunc"
            number = low.w.put(opcode, I64, (number,))
    else:
        number = low.w.put("load", I64, ())
        low.w.code[-1] = replace(i, type=I64, operands=address, name=number.name)
    low.defined(i, from_number(low.w, number, low.spaces.of[i.name]))


def _load(low: Lowering, i: Instruction) -> None:
    if i.type == GENERIC:
        _read(low, i)
    else:
        low.w.code.append(i.map_operands(lambda o: low.operand(i, o)))


def _access(low: Lowering, i: Instruction) -> None:
    """Pointers that are stored are numbers; addresses stay."""
    at = 1 if i.opcode == "store" else 0
    kept = tuple(
        as_number(low.w, low.of(o)) if n != at and o.type == GENERIC else low.operand(i, o)
        for n, o in enumerate(i.operands)
    )
    low.w.code.append(replace(i, operands=kept))


def _number(low: Lowering, i: Instruction) -> None:
    number = as_number(low.w, low.of(i.operands[0]))
    assert isinstance(i.type, IntType)
    if i.type.bits == 64:
        low.values[i.name] = number
    else:
        low.w.code.append(
            replace(i, opcode="trunc" if i.type.bits < 64 else "zext", operands=(number,), flags=())
        )


def _compare(low: Lowering, i: Instruction) -> None:
    a, b = (low.of(o) for o in i.operands)
    if len(a.of) == 1 and a.of.keys() == b.of.keys():
        operands: tuple[Value, ...] = (*a.of.values(), *b.of.values())
    else:
        operands = (as_number(low.w, a), as_number(low.w, b))
    low.w.code.append(replace(i, operands=operands, flags=()))


def _cast(low: Lowering, i: Instruction) -> None:
    if i.type != GENERIC:
        assert isinstance(i.type, PointerType)
        low.values[i.name] = low.constants.narrowed(i.operands[0], i.type.space)


def _inserted(low: Lowering, i: Instruction) -> None:
    part = i.operands[1]
    number = as_number(low.w, low.of(part)) if part.type == GENERIC else part
    low.w.code.append(replace(i, operands=(i.operands[0], number), type=without_generic(i.type)))


def _extracted(low: Lowering, i: Instruction) -> None:
    number = low.w.put("extractvalue", I64, i.operands)
    low.w.code[-1] = replace(i, type=I64, name=number.name)
    low.defined(i, from_number(low.w, number, low.spaces.of[i.name]))


MAKERS: dict[str, Make] = {
    "getelementptr": _gep,
    "phi": _choice,
    "select": _choice,
    "freeze": _choice,
    "load": _load,
    "inttoptr": _read,
    "store": _access,
    "atomicrmw": _access,
    "cmpxchg": _access,
    "ptrtoint": _number,
    "ptrtoaddr": _number,
    "icmp": _compare,
    "addrspacecast": _cast,
    "insertvalue": _inserted,
    "extractvalue": _extracted,
}
