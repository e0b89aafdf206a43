"""Indices whose computation never goes round 2^32: sums and products of numbers that are not negative and stay small.

Lanes of `row * n + column` are a base and multiples of n. Where the index of 32 bits cannot wrap in any thread, the
base cannot either (it is made of the same sums and products of smaller numbers), and address and index are the same
for all lanes. Nothing has to be watched for wrapping then, and what is proved of the index is proved of the address.
"""

from __future__ import annotations

from metalloid.analysis.intervals import strided as S
from metalloid.analysis.intervals.branch_facts import Context
from metalloid.analysis.intervals.evaluate import Evaluator
from metalloid.analysis.intervals.strided import Span
from metalloid.analysis.intervals.values import bits_of
from metalloid.analysis.rests import rest_of
from metalloid.ir import Function, Instruction
from metalloid.ir.intrinsics import is_ours
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value

STEP = 1 << 16  # that a counter may be counted up by behind its last round
LIMIT = (1 << 31) - STEP
MOST = 100  # sums that one index is made of
# Operations that hand on the base of their operands, or make sums and products of them.
SUMMED = frozenset({"add", "mul", "shl", "or", "freeze", "phi", "select"})
Known = dict[tuple[str, str], Span | None]


def is_no_wrap(e: Evaluator, i: Instruction, block: str) -> bool:
    """Whether a widened index is what its sums and products are without any wrapping."""
    if i.opcode not in ("zext", "sext") or i.operands[0].type != IntType(32):
        return False
    if not _grows(e.function, i.operands[0], {}):
        return False
    return _true(e, i.operands[0], e.contexts.block(block), frozenset(), {}) is not None


# Operations that make no less of a lane's value than of the base's, and of no base a negative number.
GROWING = frozenset(
    {"add", "mul", "shl", "lshr", "udiv", "urem", "and", "or", "zext", "phi", "freeze", "select"}
)


def _parts(i: Instruction) -> tuple[Value, ...]:
    """What a number is made of."""
    return i.operands[1:] if i.opcode == "select" else i.operands


def _grows(function: Function, value: Value, seen: dict[str, bool]) -> bool:
    """Whether a number is made without taking anything away: in `lane - 5` the base is negative, though no thread
    that gets there has a negative number."""
    if isinstance(value, Int):
        return value.value < LIMIT
    if not isinstance(value, Local):
        return False
    if value.name not in seen:
        seen[value.name] = True  # a loop's phi, as long as nothing else speaks against it
        i = function.definitions[value.name]
        fine = i.opcode == "load" or is_ours(i.called)
        made = rest_of(function, i)
        if made is not None and made.opcode == "udiv":  # no less than 0, whatever is divided
            fine = all(_grows(function, o, seen) for o in made.operands)
        elif i.opcode in GROWING:
            fine = all(_grows(function, o, seen) for o in _parts(i))
        seen[value.name] = fine
    return seen[value.name]


def _true(e: Evaluator, value: Value, context: Context, seen: frozenset[str], known: Known) -> Span | None:
    """What a number is, computed without wrapping; None where that cannot be told. What lanes have as a base is summed
    up by phis and behind `freeze` and `or` as well, so nothing may wrap there either, however far up."""
    i = e.function.definitions[value.name] if isinstance(value, Local) else None
    found = e.value(value, context)
    if found is None:
        return S.number(0)  # nobody gets here
    found = S.unsigned(found, bits_of(value.type))
    if i is None or i.opcode not in SUMMED or i.name in seen:
        return found if found.hi < LIMIT else None
    key = (i.name, context.key)
    if key in known:
        return known[key]
    known[key] = None
    if len(known) > MOST:
        return None
    if i.opcode == "phi":
        home, seen = e.function.home[i.name], seen | {i.name}
        parts = [_true(e, v, e.contexts.edge(b, home), seen, known) for v, b in i.cases]
    else:
        parts = [_true(e, o, context, seen, known) for o in _parts(i)]
    if all(part is not None for part in parts):
        known[key] = _summed(i, [part for part in parts if part is not None], found)
    return known[key]


def _summed(i: Instruction, parts: list[Span], found: Span) -> Span | None:
    """A number that is made of these, which have not wrapped, if it has not either."""
    if i.opcode not in ("add", "mul", "shl"):
        return found if found.hi < LIMIT else None
    a, b = parts
    if i.opcode == "shl":
        if b.hi >= 31:
            return None
        b = Span(1 << b.lo, 1 << b.hi)
    low, high = (a.lo + b.lo, a.hi + b.hi) if i.opcode == "add" else (a.lo * b.lo, a.hi * b.hi)
    return S.make(low, high) if high < LIMIT else None
