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
        rule = _RULES.get(_operation(i)) if i is not None else None
        if i is not None and rule is not None:
            found = rule(i, [highest(function, o, known) for o in i.operands])
            if rule is _larger and found is not None:
                found = _cut_off(function, i, known)
            known[value.name] = found if found is not None and found < 1 << value.type.bits - 1 else None
    return known.get(value.name)


def _operation(i: Instruction) -> str:
    """The opcode, or which of LLVM's functions is called."""
    return ".".join(i.called.split(".")[:2]) if i.opcode == "call" else i.opcode


def _cut_off(function: Function, larger: Instruction, known: dict[str, int | None]) -> int | None:
    """The larger of a number and one that is not negative: the first may be cut off above, as in max(0, min(x, 63))."""
    tops = []
    for side in larger.operands:
        i = function.definitions.get(side.name) if isinstance(side, Local) else None
        if i is not None and _operation(i) == "llvm.smin":
            tops.append(_mask(i, [highest(function, o, known) for o in i.operands]))
        else:
            tops.append(highest(function, side, known))
    return None if None in tops else max(t for t in tops if t is not None)


Sides = list[int | None]


def _mask(i: Instruction, sides: Sides) -> int | None:
    return min((s for s in sides if s is not None), default=None)


def _smaller(i: Instruction, sides: Sides) -> int | None:
    """With signs: a side that is not known may be negative."""
    return None if None in sides else _mask(i, sides)


def _larger(i: Instruction, sides: Sides) -> int | None:
    """With signs: of one side that is not negative and another, which `_cut_off` looks at."""
    return max((s for s in sides if s is not None), default=None)


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
    "llvm.umin": _mask,
    "llvm.smin": _smaller,
    "llvm.smax": _larger,
}
