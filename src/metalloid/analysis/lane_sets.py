"""Which lanes run a block: all, a known range of them, or any.

A block runs under the mask of its head, and a head that one branch leads to has the lanes that come to the branch and
take that side. Where a comparison is known for each lane (`t < 32` with t the lane), so are they. That is a lattice:
all lanes at the top, ranges by inclusion, below them sets that are not known. Those of a gang at the end of a
threadgroup are known only where code is made for one size.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from metalloid.analysis.lane_numbers import lane_numbers, numbers_of
from metalloid.analysis.uniformity import Uniformity
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value
from metalloid.records import dataclass


@dataclass(frozen=True)
class LaneSet:
    """Lanes from `first` to before `last`; `known` says whether exactly those run."""

    known: bool
    first: int = 0
    last: int = 0

    def __and__(self, other: LaneSet) -> LaneSet:
        """The lanes of both; not known where one is not, or where none is left."""
        first, last = max(self.first, other.first), min(self.last, other.last)
        return LaneSet(True, first, last) if self.known and other.known and first < last else ANY

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The first, and one past the last, where they are known."""
        return (self.first, self.last) if self.known else None


ANY = LaneSet(False)


def every(width: int) -> LaneSet:
    return LaneSet(True, 0, width)


def lanes_of(u: Uniformity, width: int, block: str, mask_head: Mapping[str, str], entry: LaneSet) -> LaneSet:
    """The lanes that run a block, where `entry` are those that run the first.

    `mask_head` is the divergence's own, or what holds in a copy for full masks.
    """
    flow, found = u.flow, entry
    while (head := mask_head[block]) != flow.graph.root:
        sources = flow.graph.predecessors[head]
        if len(sources) != 1:
            return ANY
        (block,) = sources
        found &= taken(u, width, block, head)
    return found


def taken(u: Uniformity, width: int, source: str, target: str) -> LaneSet:
    """The lanes that go from a block to one that it leads to, of those that run it."""
    end = u.flow.function.block[source].terminator
    if end.opcode != "br" or len(set(end.labels)) != 2:
        return ANY if end.opcode != "br" else every(width)
    wanted = end.labels[0] == target
    lanes = _each(u, width, end.operands[0]) or (_first_gang(u, width, end.operands[0]) if wanted else None)
    on = [n for n, flag in enumerate(lanes or ()) if flag == wanted]
    return LaneSet(True, on[0], on[-1] + 1) if on and on[-1] - on[0] + 1 == len(on) else ANY


def running(u: Uniformity, block: str, entry: frozenset[int]) -> tuple[frozenset[int], bool]:
    """The lanes that may run a block, a range or not, where `entry` are those that run the first; and whether all of
    them do whenever one does."""
    flow, found, exact, mask_head = u.flow, entry, True, u.divergence.mask_head
    while (head := mask_head[block]) != flow.graph.root:
        sources = flow.graph.predecessors[head]
        if len(sources) != 1:
            block, exact = flow.dominators.immediate[head], False
            continue
        (block,) = sources
        end = flow.function.block[block].terminator
        if end.opcode != "br" or len(set(end.labels)) != 2:
            exact = exact and end.opcode == "br"
            continue
        flags = lane_numbers(u, end.operands[0])
        if flags is None:
            exact = False
        else:
            wanted = end.labels[0] == head
            found = frozenset(n for n in found if bool(flags[n]) == wanted)
    return found, exact


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def _each(u: Uniformity, width: int, condition: Value) -> tuple[bool, ...] | None:
    """A comparison of numbers that are known for each lane."""
    i = u.flow.function.definitions.get(condition.name) if isinstance(condition, Local) else None
    if i is None or i.opcode != "icmp" or not isinstance(i.operands[0].type, IntType):
        return None
    left, right = (
        numbers_of(u.shape(o), width, i.operands[0].type.bits, i.predicate[0] == "s") for o in i.operands
    )
    if left is None or right is None:
        return None
    compare = _COMPARE[i.predicate if i.predicate in _COMPARE else i.predicate[1:]]
    return tuple(compare(a, b) for a, b in zip(left, right, strict=True))


def _first_gang(u: Uniformity, width: int, condition: Value) -> tuple[bool, ...] | None:
    """The lanes of `t < 8` in any gang that has some: threads count up from gang to gang, so it is the first gang's."""
    i = u.flow.function.definitions.get(condition.name) if isinstance(condition, Local) else None
    if i is None or i.opcode != "icmp" or i.predicate != "ult" or not isinstance(i.operands[1], Int):
        return None
    shape, limit = u.shape(i.operands[0]), i.operands[1].value
    counts = shape is not None and shape.exact and shape.pattern == tuple(range(width))
    if not counts or shape is None or shape.align % width or limit > width:
        return None
    return tuple(n < limit for n in range(width))
