"""Shifts and integer divisions as Metal defines them, whatever their right side.

The same guards that the front end puts around those of a source (`operators.h`): the amount of a shift modulo the
width; a division by 0 is 0, and one that does not fit is the dividend. LLVM would take the code around them for never
reached. Those that say nothing once it is done are taken out again (`divisions.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from metalloid.ir.module import Function, Instruction
from metalloid.ir.types import I1, IntType
from metalloid.ir.values import Int, Local, Value
from metalloid.records import replace

_SHIFTS = frozenset(("shl", "lshr", "ashr"))
_SIGNED = frozenset(("sdiv", "srem"))
_UNSIGNED = frozenset(("udiv", "urem"))


def guarded(i: Instruction, fresh: Callable[[], str]) -> Iterator[Instruction]:
    """The instruction, with what has to stand around it."""
    if i.opcode in _SHIFTS:
        yield from _shift(i, fresh)
    elif i.opcode in _SIGNED | _UNSIGNED and not _usual(i):
        yield from _division(i, fresh)
    else:
        yield i


def guarded_divisions(function: Function) -> Function:
    """The function with guards around its divisions, for LLVM to see once more."""
    if not any(i.opcode in _SIGNED | _UNSIGNED for i in function.instructions()):
        return function
    names = (name for n in count() if (name := f"mt.guard.{n}") not in function.definitions)

    def code(i: Instruction) -> Iterator[Instruction]:
        yield from guarded(i, lambda: next(names)) if i.opcode in _SIGNED | _UNSIGNED else (i,)

    return function.with_blocks(
        tuple(
            replace(b, instructions=tuple(made for i in b.instructions for made in code(i)))
            for b in function.blocks
        )
    )


def _shift(i: Instruction, fresh: Callable[[], str]) -> Iterator[Instruction]:
    assert isinstance(i.type, IntType)
    amount, mask = i.operands[1], i.type.bits - 1
    if i.type.bits & mask or (isinstance(amount, Int) and amount.value <= mask):
        yield i  # in range; or of a width that no text has, made by a compiler that knew the range
        return
    inside: Value = Int(i.type, amount.value & mask) if isinstance(amount, Int) else Local(fresh(), i.type)
    if isinstance(inside, Local):
        operands = (amount, Int(i.type, mask))
        yield Instruction("and", i.type, operands, name=inside.name, metadata=i.metadata)
    yield replace(i, operands=(i.operands[0], inside), flags=())


def _usual(i: Instruction) -> bool:
    """A divisor that is known, and neither 0 nor -1."""
    divisor = i.operands[1]
    if not isinstance(divisor, Int) or not divisor.value:
        return False
    return i.opcode in _UNSIGNED or divisor.signed != -1


def _division(i: Instruction, fresh: Callable[[], str]) -> Iterator[Instruction]:
    type = i.type
    assert isinstance(type, IntType)
    dividend, divisor = i.operands

    def made(opcode: str, *operands: Value, **more: object) -> Instruction:
        one = Instruction(opcode, type, operands, name=fresh(), metadata=i.metadata)
        return replace(one, **more)  # type: ignore[arg-type]

    if i.opcode in _SIGNED:
        more = made("add", divisor, Int(type, 1))
        yield more
        special = made("icmp", more.value, Int(type, 2), type=I1, predicate="ult")
    else:
        special = made("icmp", divisor, Int(type, 0), type=I1, predicate="eq")
    safe = made("select", special.value, Int(type, 1), divisor)
    yield from (special, safe)
    if i.opcode.endswith("rem"):
        yield replace(i, operands=(dividend, safe.value), flags=())
        return
    quotient = made(i.opcode, dividend, safe.value)
    other: Value = Int(type, 0)
    yield quotient
    if i.opcode in _SIGNED:
        product = made("mul", dividend, divisor)
        other = product.value
        yield product
    yield Instruction(
        "select", type, (special.value, other, quotient.value), name=i.name, metadata=i.metadata
    )
