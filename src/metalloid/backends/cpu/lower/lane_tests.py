"""One scalar test for what a comparison says of all lanes.

`x > 0 && x < w - 1` is a vector comparison, and on many processors a long way from there to a branch. Where
lanes count up from a base, the lowest and the highest of them speak for all: two scalar comparisons. The test may fail
though every lane passes; then the lanes are looked at.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.ir import Instruction
from metalloid.ir.flags import logic, truth
from metalloid.ir.types import IntType
from metalloid.ir.values import Local, Value
from metalloid.records import dataclass

_OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


@dataclass(frozen=True)
class Ends:
    """The lowest and the highest lane, in 64 bits, and a flag that none between them has wrapped round."""

    low: str
    high: str
    fits: str = ""  # "": lanes are equal


def all_lanes(e: Emitter, condition: Value, wanted: bool) -> str | None:
    """A flag that is true only where every lane has the condition (or, where not wanted, none has); None: no test."""
    if (known := truth(condition)) is not None:
        return "true" if known is wanted else "false"
    if not isinstance(condition, Local) or condition.name not in e.function.definitions:
        return None
    i = e.function.definitions[condition.name]
    shape = e.shape(condition)
    here = any(other is i for other in e.function.block[e.block].instructions)
    if here and i.opcode == "icmp":
        return _compared(e, i, wanted)
    if here and i.opcode == "freeze":
        return all_lanes(e, i.operands[0], wanted)
    if here and i.opcode == "xor" and truth(i.operands[1]):
        return all_lanes(e, i.operands[0], not wanted)
    # What a condition of another block was made from is not known here: only what is used here was kept.
    parts = logic(i) if here else None
    if parts is None:
        if shape is None or shape.terms:
            return None
        flag = e.scalar(condition)
        return flag if wanted else e.put(f"xor i1 {flag}, true")
    every, sides = parts
    tests = [all_lanes(e, side, wanted) for side in sides]
    if every is wanted:
        return None if None in tests else e.put(f"and i1 {tests[0]}, {tests[1]}")
    either = [t for t in tests if t is not None]
    return e.put(f"or i1 {either[0]}, {either[1]}") if len(either) == 2 else either[0] if either else None


def _compared(e: Emitter, i: Instruction, wanted: bool) -> str | None:
    kind = i.operands[0].type
    if not isinstance(kind, IntType) or kind.bits > 32:
        return None
    left, right = (_ends(e, side, kind, i.predicate[0] == "s") for side in i.operands)
    if left is None or right is None:
        return None
    word = i.predicate if i.predicate in ("eq", "ne") else i.predicate[1:]
    word = word if wanted else _OPPOSITE[word]
    if word in ("gt", "ge"):
        word, left, right = _MIRRORED[word], right, left
    if word in ("lt", "le"):
        # A lane of the left that wraps makes `high` too large for any number on the right.
        return _fitting(e, e.put(f"icmp s{word} i64 {left.high}, {right.low}"), right)
    if word == "ne":
        below, above = (e.put(f"icmp slt i64 {a.high}, {b.low}") for a, b in ((left, right), (right, left)))
        return _fitting(e, e.put(f"or i1 {below}, {above}"), left, right)
    if left.fits or right.fits:
        return None
    return e.put(f"icmp eq i64 {left.low}, {right.low}")


def _fitting(e: Emitter, flag: str, *sides: Ends) -> str:
    for side in sides:
        if side.fits:
            flag = e.put(f"and i1 {flag}, {side.fits}")
    return flag


def _ends(e: Emitter, value: Value, kind: IntType, signed: bool) -> Ends | None:
    """The ends of a number that counts up from a base."""
    shape = e.shape(value)
    if shape is None or (shape.terms and (shape.pattern is None or not shape.exact)):
        return None
    base = e.get(value).base
    if base is None:
        return None
    first = e.put(f"{'sext' if signed else 'zext'} {kind} {base} to i64")
    if shape.pattern is None:
        return Ends(first, first)
    if min(shape.pattern) < 0:
        return None
    low = e.put(f"add i64 {first}, {min(shape.pattern)}")
    high = e.put(f"add i64 {first}, {max(shape.pattern)}")
    return Ends(low, high, e.put(f"icmp slt i64 {high}, {1 << kind.bits - signed}"))
