"""Which sides of branches no thread of a launch takes.

`if (x < w && y < h)` is no branch where the launch's grid is w by h: its other side can go.
"""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.analysis.intervals.branch_facts import Context, facts, refine
from metalloid.analysis.intervals.evaluate import Evaluator
from metalloid.analysis.intervals.values import bits_of
from metalloid.ir.flags import logic, truth
from metalloid.ir.values import Local, Value

Edge = tuple[str, str]


def dead_edges(e: Evaluator, block: str) -> Iterator[Edge]:
    end = e.function.block[block].terminator
    if end.opcode != "br" or len(set(end.labels)) != 2:
        return
    there = e.contexts.block(block)
    for holds, target in zip((True, False), end.labels, strict=True):
        if impossible(e, end.operands[0], holds, there):
            yield block, target


def impossible(e: Evaluator, condition: Value, holds: bool, there: Context) -> bool:
    """Whether a condition can never be true (or, where not `holds`, false)."""
    if (known := truth(condition)) is not None:
        return known is not holds
    if not isinstance(condition, Local):
        return False
    i = e.function.definitions[condition.name]
    if i.opcode == "freeze":
        return impossible(e, i.operands[0], holds, there)
    if i.opcode == "xor" and truth(i.operands[1]):
        return impossible(e, i.operands[0], not holds, there)
    if (parts := logic(i)) is not None:
        every, sides = parts
        test = any if every is holds else all
        return test(impossible(e, side, holds, there) for side in sides)
    return i.opcode == "icmp" and any(
        _refuted(e, f.predicate, f.value, f.other, there) for f in facts(e.function, condition, holds)
    )


def _refuted(e: Evaluator, predicate: str, value: Value, other: Value, there: Context) -> bool:
    mine, yours = e.value(value, there), e.value(other, there)
    if mine is None or yours is None:
        return False  # nobody comes to the branch itself: the way to it is what goes
    return refine(mine, predicate, yours, bits_of(value.type), bits_of(other.type)) is None
