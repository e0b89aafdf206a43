"""Indices that are cut off at the ends of a row: a[clamp(x + 1, 0, width - 1)].

Whoever knows that no lane of a gang is cut off reads neighbours; else each lane reads where its own index leads. What
is found here is written by `one_row.py`, which has both kinds of code. A clamp is one or two of the calls below; what
is cut off is a number that counts up from lane to lane, perhaps moved by another that is the same for all.
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
_MOVES = ("add", "sub")
_PLAIN = frozenset("add sub mul shl and or xor zext sext trunc".split())
MOST = 16  # calls


@dataclass(frozen=True)
class Clamp:
    """A call, the number that it cuts off, and what it must lie between for nothing to be."""

    name: str
    number: Value
    low: Value
    high: Value
    limits: tuple[Value, ...] = ()  # without a sign: as signed numbers they must not be negative


def clamp_of(known: Uniformity, i: Instruction) -> Clamp | None:
    end = CLAMPS.get(i.called)
    if end is None or known.shape(i.value) is not None:
        return None
    for number, limit in (i.operands, i.operands[::-1]):
        shape = known.shape(limit)
        if shape is not None and shape.uniform and _counts(known, number):
            unsigned = i.called.startswith("llvm.u")
            if end == "low":
                return Clamp(i.name, number, limit, _HIGHEST, (limit,) if unsigned else ())
            return Clamp(i.name, number, Int(I32, 0) if unsigned else _LOWEST, limit)
    return None


def _counts(known: Uniformity, number: Value) -> bool:
    """Whether a number counts up from lane to lane, once nothing cuts it off."""
    shape = known.shape(number)
    if shape is not None:
        return not shape.uniform and is_count(shape)
    i = _made(known.flow.function, number)
    if i is None:
        return False
    if i.opcode in _MOVES:
        left, right = (known.shape(o) for o in i.operands)
        if right is not None and right.uniform:
            return _counts(known, i.operands[0])
        return i.opcode == "add" and left is not None and left.uniform and _counts(known, i.operands[1])
    return clamp_of(known, i) is not None


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
        if i.opcode not in _PLAIN and i.called not in CLAMPS:
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
        return uncut(function, clamps, clamps[i.name].number, code)
    if i.opcode not in _MOVES:
        return value
    operands = tuple([uncut(function, clamps, o, code) for o in i.operands])
    if operands == i.operands:
        return value
    made = Instruction(i.opcode, i.type, operands, f"{i.name}.uncut", metadata=i.debug_only)
    code[made.name] = made
    return made.value
