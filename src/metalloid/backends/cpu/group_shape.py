"""The threadgroup that a launch runs in: its own, or one of ours where no thread can tell.

What the choice asks of a kernel's code is kept on disk, so that a start that finds its code there reads no IR.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from math import prod
from typing import NamedTuple

from metalloid.backends.base import MAX_THREADS, Triple
from metalloid.backends.cpu.kernel_cache import KernelCache

THREADS = 256  # of a threadgroup
LONGEST = 1024  # threads of a row
LEAST = 64
SHARES = 16  # threadgroups at least, so that every processor gets some
GANG = 64  # as in lower/free_shape.py
ROWS = 8  # of a block: rows a power of two apart share few places of the first cache
IDLE = 8  # one of so many threads at the edge of a grid may be idle
EVEN = 16  # rows that are multiples of it are whole registers

# Tall threadgroups, where rows of memory are copied for all threads (transforms/stage_rows.py): their rows. To copy
# takes as long as 10 rows to compute; where threads may not run twice, a row at the edge, which gets no copy, as long
# as 3, and columns there as long as 5. Rows of 32 threads, which read the other matrix twice as often as those of 64,
# take a tenth longer.
HEIGHTS = range(256, 32, -8)
COPY, EDGE, EDGE_ACROSS, NARROW, NARROWEST = 10, 3, 5, 0.1, 32

DIVIDED = (
    4096  # threads where rows are parts of a flat grid (lower/row_gangs.py): few end in the middle of one
)


class Found(NamedTuple):
    """What a kernel's code says of its threadgroups."""

    gang: Triple  # its shape in a grid
    tall: int  # threads of a row of tall threadgroups, where it gains by those; else 0
    twice: bool  # whether a thread may run twice, so that tall threadgroups at an edge may overlap others
    divides: bool  # whether it may divide its index into rows


Look = Callable[[Triple], Found | None]  # None where the shape is the launch's


class GroupShapes:
    """The choice for one kernel; `look` asks its code."""

    def __init__(self, shelf: KernelCache, look: Look) -> None:
        self._shelf, self._look = shelf, look
        self._known: dict[Triple, Found | None] = {}

    def shape(self, grid: Triple, given: Triple, far: bool = False) -> Triple:
        """The threadgroup for a grid, where the launch has asked for `given`; `far`: its memory fits no near cache."""
        key = _key(grid)
        if key not in self._known:
            self._known[key] = self._kept(key)
        if (found := self._known[key]) is None:
            return given
        tall = tall_group(grid, found.tall, found.twice) if found.tall and far else None
        return tall or group(grid, found.gang, DIVIDED if found.divides else THREADS)

    def may_overlap(self, grid: Triple, chosen: Triple) -> bool:
        """Whether a threadgroup of ours at an edge of a grid may begin before it, and run threads a second time."""
        found = self._known.get(_key(grid))
        return found is not None and found.twice and prod(chosen) > MAX_THREADS

    def _kept(self, grid: Triple) -> Found | None:
        key = self._shelf.key("gang, tall rows, twice and divisions", grid)
        known = self._shelf.get(key, "json")
        if known is None:
            known = json.dumps(self._look(grid)).encode()
            self._shelf.put(key, "json", known)
        found = json.loads(known)
        if found is None:
            return None
        (x, y, z), tall, twice, divides = found
        return Found((x, y, z), tall, twice, divides)


def _key(grid: Triple) -> Triple:
    x, y, z = (min(g, GANG) for g in grid)
    return x, y, z


def tall_group(grid: Triple, across: int, twice: bool) -> Triple | None:
    """One of more threads than a launch can ask for, `across` in a row or fewer; None where the grid has too few for
    all processors. `twice`: what is left over at an edge is made one by running some threads again."""
    x, y, z = grid
    fit = [(w, h) for w in {across, NARROWEST} for h in HEIGHTS if (x // w) * (y // h) * z >= SHARES]

    def cost(shape: tuple[int, int]) -> float:
        wide, high = shape
        left = EDGE * (y % high) / y + EDGE_ACROSS * (x % wide) / x
        again = (-y % high) / y + (-x % wide) / x
        return COPY / high + (again if twice else left) + NARROW * (wide < across)

    return (*min(fit, key=cost), 1) if fit else None


def group(grid: Triple, gang: Triple, most: int = THREADS) -> Triple:
    """A threadgroup around a gang: rows as long as they are, or a block of whole gangs; of a line, up to `most`."""
    x, y, z = grid
    if gang[1] == gang[2] == 1:
        if y == z == 1:
            return min(x, max(LEAST, min(most, _power(x // SHARES)))), 1, 1
        row = _row(x)
        rows = _power(min(y, 2 * THREADS // row)) if row % EVEN == 0 else 1
        while rows > 1 and (y // rows) * z < SHARES:
            rows //= 2
        return row, max(1, rows), 1
    across, down, deep = gang
    while 2 * across * down * deep <= THREADS:
        if 2 * down <= ROWS and _fits(y, 2 * down):
            down *= 2
        elif _fits(z, 2 * deep):
            deep *= 2
        else:
            break
    return across, down, deep


def _fits(threads: int, step: int) -> bool:
    """Whether there are enough, and few pieces of that length have idle threads."""
    return threads >= step and -(-threads // step) * step - threads <= threads // IDLE


def _row(x: int) -> int:
    """Threads of a row: all, or a part that divides it evenly."""
    if x <= LONGEST:
        return x
    return next((n for n in range(LONGEST, THREADS - 1, -EVEN) if x % n == 0), THREADS)


def _power(n: int) -> int:
    """The power of two that is no larger; 0 of 0."""
    return 1 << (n.bit_length() - 1) if n > 0 else 0
