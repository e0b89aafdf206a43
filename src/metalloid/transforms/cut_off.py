"""Indices that are cut off at the ends of a row, or go on at the other end: a[clamp(x + 1, 0, width - 1)],
a[x == 0 ? width - 1 : x - 1].

Whoever knows that no lane of a gang is cut off reads neighbours; else each lane reads where its own index leads. What
is found here is written by `one_row.py`, which has both kinds of code. A clamp is one or two of the calls below, or a
choice by a comparison; what is cut off is a number that counts up from lane to lane, perhaps moved by another that is
the same for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from metalloid.analysis.lane_shape import LaneShape
from metalloid.analysis.uniformity import Uniformity
from metalloid.ir import Function, Instruction
from metalloid.ir.types import I32
from metalloid.ir.values import Int, Local, Value
from metalloid.records import dataclass

_LOWEST, _HIGHEST = Int(I32, 1 << 31), Int(I32, (1 << 31) - 1)
CLAMPS = {  # which end a call cuts off; of numbers without a sign, the upper half is cut off by neither
    "llvm.smax.i32": "low",
    "llvm.umax.i32": "low",
    "llvm.smin.i32": "high",
    "llvm.umin.i32": "high",
}
_NONE, _ONE = Int(I32, 0), Int(I32, 1)
_MOVES = ("add", "sub")
_PLAIN = frozenset("add sub mul shl and or xor zext sext trunc icmp".split())
MOST = 16  # clamps
DEEP = 4  # of one in another


@dataclass(frozen=True)
class Limits:
    """Between what a number lies where nothing is cut off."""

    low: Value
    high: Value
    below: bool = False  # and not at the upper end itself
    positive: tuple[Value, ...] = ()  # as signed numbers they must not be negative


@dataclass(frozen=True)
class Clamp:
    """An instruction, what it gives where nothing is cut off, and the number whose limits say so."""

    name: str
    whole: Value
    number: Value
    limits: Limits


def may_cut(function: Function, i: Instruction) -> bool:
    """Whether an instruction looks like a clamp, whatever the lanes are."""
    return i.called in CLAMPS or _comparison(function, i) is not None


def clamp_of(known: Uniformity, i: Instruction, deep: int = DEEP) -> Clamp | None:
    if known.shape(i.value) is not None or not deep:
        return None
    if i.opcode == "select":
        return _choice(known, i, deep - 1)
    end = CLAMPS.get(i.called)
    if end is None:
        return None
    for number, limit in (i.operands, i.operands[::-1]):
        if _is_one(known, limit) and _counts(known, number, deep - 1):
            unsigned = i.called.startswith("llvm.u")
            if end == "low":
                return Clamp(i.name, number, number, Limits(limit, _HIGHEST, positive=(limit,) * unsigned))
            return Clamp(i.name, number, number, Limits(_NONE if unsigned else _LOWEST, limit))
    return None


def _is_one(known: Uniformity, value: Value) -> bool:
    shape = known.shape(value)
    return shape is not None and shape.uniform


def _comparison(function: Function, i: Instruction) -> Instruction | None:
    """The comparison of whole numbers that chooses one of two, as indices are."""
    if i.opcode != "select" or i.type != I32:
        return None
    by = _made(function, i.operands[0])
    return by if by is not None and by.opcode == "icmp" and by.operands[0].type == I32 else None


def _choice(known: Uniformity, i: Instruction, deep: int) -> Clamp | None:
    """`x == 0 ? width - 1 : x - 1`: one side goes on counting, and the other is for the ends."""
    by = _comparison(known.flow.function, i)
    if by is None:
        return None
    left, right = by.operands
    if _is_one(known, right) and _counts(known, left, deep):
        number, limit, predicate = left, right, by.predicate
    elif _is_one(known, left) and _counts(known, right, deep):
        number, limit, predicate = right, left, _SWAPPED.get(by.predicate, by.predicate)
    else:
        return None
    both = ("yes", i.operands[1]), ("no", i.operands[2])
    sides = {name: side for name, side in both if _counts(known, side, deep)}
    if len(sides) > 1:  # the number itself, where it is one of them; or where it is not at the end
        sides = {name: side for name, side in sides.items() if side == number or predicate in _APART[name]}
    if len(sides) != 1:
        return None
    ((name, side),) = sides.items()
    limits = _limits(predicate if name == "yes" else _OPPOSITE[predicate], limit)
    return Clamp(i.name, side, number, limits) if limits is not None else None


def _signed_or_not(pairs: dict[str, str]) -> dict[str, str]:
    return {f"{sign}{a}": f"{sign}{b}" for sign in "us" for a, b in pairs.items()}


_SWAPPED = _signed_or_not({"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"})
_OPPOSITE = {"eq": "ne", "ne": "eq", **_signed_or_not({"lt": "ge", "ge": "lt", "gt": "le", "le": "gt"})}
_APART = {"yes": ("ne",), "no": ("eq",)}


def _limits(predicate: str, limit: Value) -> Limits | None:
    """Where a number that counts up surely is, for a comparison with a limit to hold."""
    unsigned = predicate.startswith("u")
    match predicate[-2:]:
        case "ne":  # most gangs are far above 0, or below another limit
            return Limits(_ONE, _HIGHEST) if limit == _NONE else Limits(_LOWEST, limit, True, (limit,))
        case "lt":
            return Limits(_NONE if unsigned else _LOWEST, limit, True, (limit,))
        case "le":
            return Limits(_NONE if unsigned else _LOWEST, limit, positive=(limit,) * unsigned)
        case "ge":
            return Limits(limit, _HIGHEST, positive=(limit,) * unsigned)
        case "gt" if isinstance(limit, Int) and limit.signed in range(_HIGHEST.value):
            return Limits(Int(I32, limit.value + 1), _HIGHEST)
    return None


def _counts(known: Uniformity, number: Value, deep: int) -> bool:
    """Whether a number counts up from lane to lane, once nothing cuts it off."""
    shape = known.shape(number)
    if shape is not None:
        return not shape.uniform and is_count(shape)
    i = _made(known.flow.function, number)
    if i is None:
        return False
    if i.opcode in _MOVES:
        left, right = i.operands
        if _is_one(known, right):
            return _counts(known, left, deep)
        return i.opcode == "add" and _is_one(known, left) and _counts(known, right, deep)
    return clamp_of(known, i, deep) is not None


def is_count(number: LaneShape | None) -> bool:
    """Whether lanes have a base and a pattern that is not negative, without going round: what rows are found of."""
    pattern = number.pattern if number is not None and number.exact else None
    return pattern is not None and min(pattern) >= 0


def _made(function: Function, value: Value) -> Instruction | None:
    return function.definitions.get(value.name) if isinstance(value, Local) else None


def hoisted(function: Function, block: str, at: int, wanted: Iterable[Value]) -> list[Instruction] | None:
    """What is to be done before an instruction of a block for these values to be there, in order; None where that takes
    more than arithmetic."""
    late = {i.name: i for i in function.block[block].instructions[at:] if i.name}
    needed: set[str] = set()
    work = list(wanted)
    while work:
        value = work.pop()
        if not isinstance(value, Local) or value.name not in late or value.name in needed:
            continue
        i = late[value.name]
        if i.opcode not in _PLAIN and not may_cut(function, i):
            return None
        needed.add(i.name)
        work += i.operands
    return [i for i in late.values() if i.name in needed]


def uncut(
    function: Function, clamps: Mapping[str, Clamp], value: Value, code: dict[str, Instruction]
) -> Value:
    """A value as it is where nothing is cut off; `code` gets the steps that are not there yet, by their names."""
    i = _made(function, value)
    if i is None:
        return value
    if i.name in clamps:
        return uncut(function, clamps, clamps[i.name].whole, code)
    if i.opcode not in _MOVES:
        return value
    operands = tuple([uncut(function, clamps, o, code) for o in i.operands])
    if operands == i.operands:
        return value
    made = Instruction(i.opcode, i.type, operands, f"{i.name}.uncut", metadata=i.debug_only)
    code[made.name] = made
    return made.value
