"""Read the instructions that touch memory or make addresses."""

from __future__ import annotations

from collections.abc import Callable

from metalloid.ir.module import Instruction
from metalloid.ir.opcodes import ORDERINGS
from metalloid.ir.read_values import ValueReader
from metalloid.ir.types import I1, I32, VOID, PointerType, StructType, pointer_shape
from metalloid.ir.values import Int, Value


def _access_flags(r: ValueReader) -> tuple[tuple[str, ...], bool]:
    atomic = r.accept("atomic")
    flags = tuple(word for word in ("weak", "volatile") if r.accept(word))
    return flags, atomic


def _scope(r: ValueReader) -> str:
    if not r.accept("syncscope"):
        return ""
    return r.balanced()[2:-2]


def _ordering(r: ValueReader) -> str:
    if r.peek not in ORDERINGS:
        r.fail("expected a memory ordering")
    return r.next()


def _align(r: ValueReader) -> int:
    if not r.accept(","):
        return 0
    r.expect("align")
    return r.number()


def _load(r: ValueReader, opcode: str) -> Instruction:
    flags, atomic = _access_flags(r)
    type = r.type()
    r.expect(",")
    pointer = r.typed()
    scope, ordering = (_scope(r), _ordering(r)) if atomic else ("", "")
    return Instruction(opcode, type, (pointer,), flags=flags, align=_align(r), ordering=ordering, scope=scope)


def _store(r: ValueReader, opcode: str) -> Instruction:
    flags, atomic = _access_flags(r)
    value = r.typed()
    r.expect(",")
    pointer = r.typed()
    scope, ordering = (_scope(r), _ordering(r)) if atomic else ("", "")
    return Instruction(
        opcode, VOID, (value, pointer), flags=flags, align=_align(r), ordering=ordering, scope=scope
    )


def _atomicrmw(r: ValueReader, opcode: str) -> Instruction:
    flags, _ = _access_flags(r)
    operation = r.next()
    pointer = r.typed()
    r.expect(",")
    value = r.typed()
    scope, ordering = _scope(r), _ordering(r)
    return Instruction(
        opcode,
        value.type,
        (pointer, value),
        flags=flags,
        predicate=operation,
        align=_align(r),
        ordering=ordering,
        scope=scope,
    )


def _cmpxchg(r: ValueReader, opcode: str) -> Instruction:
    flags, _ = _access_flags(r)
    pointer = r.typed()
    r.expect(",")
    expected = r.typed()
    r.expect(",")
    new = r.typed()
    scope, success, failure = _scope(r), _ordering(r), _ordering(r)
    return Instruction(
        opcode,
        StructType((new.type, I1)),
        (pointer, expected, new),
        flags=flags,
        align=_align(r),
        ordering=success,
        failure_ordering=failure,
        scope=scope,
    )


def _fence(r: ValueReader, opcode: str) -> Instruction:
    scope = _scope(r)
    return Instruction(opcode, VOID, ordering=_ordering(r), scope=scope)


def _alloca(r: ValueReader, opcode: str) -> Instruction:
    element = r.type()
    count: tuple[Value, ...] = ()
    align = space = 0
    while r.accept(","):
        if r.accept("align"):
            align = r.number()
        elif r.accept("addrspace"):
            space = int(r.balanced()[1:-1])
        else:
            count = (r.typed(),)
    return Instruction(opcode, PointerType(space), count or (Int(I32, 1),), element=element, align=align)


def _getelementptr(r: ValueReader, opcode: str) -> Instruction:
    flags = r.flags()
    element = r.type()
    r.expect(",")
    operands = r.list()
    type = pointer_shape(operands[0].type, tuple(o.type for o in operands[1:]))
    return Instruction(opcode, type, operands, flags=flags, element=element)


MEMORY: dict[str, Callable[[ValueReader, str], Instruction]] = {
    "load": _load,
    "store": _store,
    "atomicrmw": _atomicrmw,
    "cmpxchg": _cmpxchg,
    "fence": _fence,
    "alloca": _alloca,
    "getelementptr": _getelementptr,
}
