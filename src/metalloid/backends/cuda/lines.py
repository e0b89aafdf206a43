"""Matrices whose rows or columns are lines of 16 bytes in threadgroup memory: `ldmatrix` loads up to four at once.

Each lane tells where one line begins, and gets what tensor cores want of it. That lines are whole must be known
before: from the address of `simdgroup_load`, or from the addresses at which lanes load their elements one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from metalloid.backends.cuda.banks import Order
from metalloid.backends.cuda.lanes import Lanes
from metalloid.backends.cuda.other_lanes import Elements, OtherLanes, writes
from metalloid.backends.cuda.tiles import Pair
from metalloid.ir import Function, Instruction
from metalloid.ir.intrinsics import MATRIX_LOADS, MATRIX_PRODUCT
from metalloid.ir.values import Int, Local

LINE = 16  # bytes


@dataclass(frozen=True)
class Start:
    """Where lanes find the lines of matrices: they begin at constant distances from there."""

    pointer: Local
    stride: int  # bytes from line to line; 0 where lanes' own addresses say
    down: bool  # lines are columns
    apart: (
        int  # bytes from a lane's first element to its second; of a tile with an order, from `pointer` to it
    )
    order: Order | None = None  # of the lines of a tile, where they have one (banks.py)


@dataclass(frozen=True)
class Lined:
    """A matrix in lines, for one side of products."""

    role: str
    pair: Pair
    start: Start
    offset: int
    block: str
    at: int  # the place of the first instruction that loads it
    first: str  # the name of that

    @property
    def turned(self) -> bool:
        """Whether what a lane wants next to each other lies in different lines: rows for the left side, columns for
        the right one."""
        return self.start.down == (self.role == "rows")


@dataclass(frozen=True)
class Load:
    """One instruction."""

    of: tuple[Lined, ...]

    @property
    def first(self) -> str:
        return self.of[0].first


def loads(
    function: Function,
    memory: OtherLanes,
    lanes: Lanes,
    wanted: Iterable[tuple[str, Pair]],
    orders: Mapping[str, Order],
) -> Iterator[Load]:
    """Those of the wanted operands that are lines, as few instructions as they take."""
    known = _Known(function, memory, lanes, orders)
    found = [one for role, pair in wanted if (one := known.lined(role, pair)) is not None]
    left = sorted(found, key=lambda m: m.at)
    while left:
        group = [one for one in left if known.together(left[0], one)]
        size = next(n for n in (4, 2, 1) if n <= len(group))
        yield Load(tuple(group[:size]))
        left = [one for one in left if one not in group[:size]]


class _Known:
    def __init__(
        self, function: Function, memory: OtherLanes, lanes: Lanes, orders: Mapping[str, Order]
    ) -> None:
        self._function, self._memory, self._lanes, self._orders = function, memory, lanes, orders
        self._places: dict[str, dict[str, int]] = {}
        self._writes: dict[str, list[int]] = {}

    def lined(self, role: str, pair: Pair) -> Lined | None:
        if (load := self._memory.matrix(pair)) is not None:
            return self._whole(role, pair, load)
        if (elements := self._memory.elements(pair)) is not None:
            return self._by_elements(role, pair, elements)
        return None

    def together(self, first: Lined, other: Lined) -> bool:
        """Whether a matrix can be loaded where another one is: memory is the same there, and its place is known."""
        if first.block != other.block or first.turned != other.turned:
            return False
        place = self._place(other.block).get(other.start.pointer.name, -1)
        return place < first.at and self._changes(first) == self._changes(other)

    def _changes(self, of: Lined) -> int:
        """How many instructions of a block change memory before a matrix is loaded."""
        if of.block not in self._writes:
            body = self._function.block[of.block].instructions
            self._writes[of.block] = [n for n, i in enumerate(body) if writes(i) and not _harmless(i)]
        return sum(n < of.at for n in self._writes[of.block])

    def _place(self, block: str) -> dict[str, int]:
        if block not in self._places:
            body = self._function.block[block].instructions
            self._places[block] = {i.name: n for n, i in enumerate(body) if i.name}
        return self._places[block]

    def _whole(self, role: str, pair: Pair, load: Instruction) -> Lined | None:
        pointer, stride, turned = load.operands[:3]
        constant = isinstance(stride, Int) and isinstance(turned, Int)
        if not load.called.endswith("_threadgroup") or not constant or not isinstance(pointer, Local):
            return None
        assert isinstance(stride, Int) and isinstance(turned, Int)
        place = self._lanes.of(pointer)
        step = 2 * stride.signed
        if place is None or not place.same or place.align % LINE or step % LINE or step <= 0:
            return None
        base, offset = self._memory.address(pointer)
        if (order := self._orders.get(load.name)) is not None:
            start = Start(base, step, bool(turned.value), offset.signed, order)
            return self._at(role, pair, load.name, start, 0)
        return self._at(role, pair, load.name, Start(base, step, bool(turned.value), 0), offset.signed)

    def _by_elements(self, role: str, pair: Pair, found: Elements) -> Lined | None:
        place = self._lanes.of(found.base)
        if place is None or place.align % LINE:
            return None
        one, two = (o.signed for o in found.offsets)

        def at(r: int, c: int) -> int:
            return place.own[holder(r, c)] + (two if c % 2 else one)

        for down in (False, True):
            line = [at(0, n) if down else at(n, 0) for n in range(8)]
            whole = all(
                at(r, c) == (line[c] + 2 * r if down else line[r] + 2 * c) for r in range(8) for c in range(8)
            )
            if whole and not any(start % LINE for start in line):
                start = Start(found.base, 0, down, two - one)
                return self._at(role, pair, self._memory.first(pair), start, one)
        return None

    def _at(self, role: str, pair: Pair, first: str, start: Start, offset: int) -> Lined:
        block = self._function.home[first]
        return Lined(role, pair, start, offset, block, self._place(block)[first], first)


def _harmless(i: Instruction) -> bool:
    return i.called == MATRIX_PRODUCT or i.called.startswith(MATRIX_LOADS)


def holder(r: int, c: int) -> int:
    """The lane that has an element in Metal's order."""
    return (r >> 2) << 4 | (c >> 2) << 3 | (r & 3) << 1 | (c >> 1 & 1)
