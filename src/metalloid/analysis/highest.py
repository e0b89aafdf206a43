"""The largest that a number can be, by how it is made."""

from __future__ import annotations

from collections.abc import Callable

from metalloid.ir import Function, Instruction
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value

MOST = 200  # values that one is made of


def highest(function: Function, value: Value, known: dict[str, int | None] | None = None) -> int | None:
    """The largest that a number can be; None where it may be negative, read with a sign, or is not known."""
    known = {} if known is None else known
    if isinstance(value, Int):
        return value.value if value.signed >= 0 else None
    if not isinstance(value, Local) or not isinstance(value.type, IntType):
        return None
    if value.name not in known and len(known) < MOST:
        known[value.name] = None  # what goes round in a loop is not known
        i = function.definitions.get(value.name)
        rule = _RULES.get(i.opcode) if i is not None else None
        if i is not None and rule is not None:
            found = rule(i, [highest(function, o, known) for o in i.operands])
            known[value.name] = found if found is not None and found < 1 << value.type.bits - 1 else None
    return known.get(value.name)


Sides = list[int | None]


def _mask(i: Instruction, sides: Sides) -> int | None:
    return min((s for s in sides if s is not None), default=None)


def _zext(i: Instruction, sides: Sides) -> int | None:
    kind = i.operands[0].type
    assert isinstance(kind, IntType)
    return sides[0] if sides[0] is not None else (1 << kind.bits) - 1


def _same(i: Instruction, sides: Sides) -> int | None:
    return sides[0]


def _rest(i: Instruction, sides: Sides) -> int | None:
    return sides[1] - 1 if sides[1] and isinstance(i.operands[1], Int) else None


def _shift_right(i: Instruction, sides: Sides) -> int | None:
    by, kind = i.operands[1], i.type
    if not isinstance(by, Int) or not isinstance(kind, IntType) or not 0 < by.value < kind.bits:
        return sides[0]
    return ((1 << kind.bits) - 1 if sides[0] is None else sides[0]) >> by.value


def _quotient(i: Instruction, sides: Sides) -> int | None:
    by, kind = i.operands[1], i.type
    if not isinstance(by, Int) or by.value == 0 or not isinstance(kind, IntType):
        return None
    return ((1 << kind.bits) - 1 if sides[0] is None else sides[0]) // by.value


def _sum(i: Instruction, sides: Sides) -> int | None:
    """Below the type's own limit nothing has wrapped, which `highest` looks at."""
    a, b = sides
    return None if a is None or b is None else a + b


def _product(i: Instruction, sides: Sides) -> int | None:
    a, b = sides
    return None if a is None or b is None else a * b


_RULES: dict[str, Callable[[Instruction, Sides], int | None]] = {
    "and": _mask,
    "zext": _zext,
    "sext": _same,
    "urem": _rest,
    "lshr": _shift_right,
    "udiv": _quotient,
    "add": _sum,
    "mul": _product,
}
