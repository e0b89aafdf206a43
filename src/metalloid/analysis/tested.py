"""How large a number is where it is used, as the tests on the way say: `t` behind `if (t < 8)`.

Only what is the same in all launches: comparisons with numbers of the text. `intervals` knows more, of one launch.
"""

from __future__ import annotations

from metalloid.analysis.divergence import Flow
from metalloid.analysis.known_rounds import last_of
from metalloid.analysis.lane_shape import UNKNOWN
from metalloid.analysis.uniformity import Uniformity
from metalloid.ir import Function
from metalloid.ir.values import Int, Local, Value


def between(uniformity: Uniformity, value: Value, block: str) -> tuple[int, int]:
    """The least and the greatest number that a lane which runs a block may have, read as unsigned."""
    return _tested(uniformity, value, block)[0], most(uniformity, value, block)


DEEPEST = 8  # sums in sums; a sum of two that have a summand in common would be gone through for ever


def most(uniformity: Uniformity, value: Value, block: str, depth: int = 0) -> int:
    """No lane that runs a block has a larger number, read as unsigned."""
    if isinstance(value, Int):
        return value.value
    shape = uniformity.shape(value)
    limit = UNKNOWN if shape is None else shape.umax
    i = uniformity.flow.function.definitions[value.name] if isinstance(value, Local) else None
    if i is None:
        return limit
    if depth == DEEPEST:
        return min(limit, _tested(uniformity, value, block)[1])
    if i.opcode == "phi" and (last := last_of(uniformity.flow.function, i)) is not None:
        return min(limit, last)
    if i.opcode in ("zext", "freeze"):
        limit = min(limit, most(uniformity, i.operands[0], block, depth + 1))
    elif i.opcode in ("add", "or"):
        a, b = i.operands
        if isinstance(b, Int) and b.signed < 0 and i.opcode == "add":
            if _tested(uniformity, a, block)[0] >= -b.signed:  # it does not fall below 0
                limit = min(limit, most(uniformity, a, block, depth + 1) + b.signed)
        else:  # a sum that wraps is smaller
            limit = min(limit, sum(most(uniformity, o, block, depth + 1) for o in i.operands))
    return min(limit, _tested(uniformity, value, block)[1])


def _tested(uniformity: Uniformity, value: Value, block: str) -> tuple[int, int]:
    return by_tests(uniformity.flow, value, block)


def by_tests(flow: Flow, value: Value, block: str) -> tuple[int, int]:
    """The least and the greatest number by the comparisons on every way to a block."""
    low, high = 0, UNKNOWN
    while block != flow.graph.root:
        above = flow.dominators.immediate[block]
        if flow.graph.predecessors[block] == (above,):
            least, greatest = by_edge(flow.function, value, above, block)
            low, high = max(low, least), min(high, greatest)
        block = above
    return low, high


def by_edge(function: Function, value: Value, source: str, to: str) -> tuple[int, int]:
    """The same by the comparison that a branch from one block to another rests on."""
    end = function.block[source].terminator
    if len(set(end.labels)) == 2 and to in end.labels:
        condition = end.operands[0]
        test = function.definitions[condition.name] if isinstance(condition, Local) else None
        if test is not None and test.opcode == "icmp" and test.operands[0] == value:
            return _said(test.predicate, test.operands[1], to == end.labels[0])
    return 0, UNKNOWN


def _said(predicate: str, limit: Value, holds: bool) -> tuple[int, int]:
    if not isinstance(limit, Int):
        return 0, UNKNOWN
    n = limit.value
    if (predicate, holds) in (("ult", True), ("uge", False)):
        return 0, max(n - 1, 0)
    if (predicate, holds) in (("ult", False), ("uge", True)):
        return n, UNKNOWN
    if (predicate, holds) in (("ugt", True), ("ule", False)):
        return n + 1, UNKNOWN
    if (predicate, holds) in (("ugt", False), ("ule", True)):
        return 0, n
    if (predicate, holds) in (("eq", True), ("ne", False)):
        return n, n
    return int(n == 0 and predicate in ("eq", "ne")), UNKNOWN
