"""The plan of an access: how the addresses of its lanes lie, and how few loads reach them. Nothing is written here.

One plan per access: loads, stores, rows of several elements a lane, prefetches and the checker's shadow all read it.
A lane's elements start at a spot: a distance from the base that is the same in all lanes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from metalloid.analysis.lane_shape import Terms
from metalloid.backends.cpu.lower.access.mem_ref import MemRef
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.records import dataclass

Part = tuple[tuple[str, int], ...]  # coefficient -> its multiple


class Spot(NamedTuple):
    """Bytes from the base: multiples of coefficients, and a constant."""

    part: Part
    offset: int

    def beyond(self, bytes: int) -> Spot:
        return Spot(self.part, self.offset + bytes)


class Piece(NamedTuple):
    """Elements side by side, which one load or store moves."""

    start: Spot
    length: int


class Sparse(NamedTuple):
    """Single elements of one part, too far from each other for pieces: a gather."""

    elements: tuple[Spot, ...]


class Lie(Enum):
    """How the addresses of the lanes lie."""

    ONE = "all lanes at one address"
    RANGE = "side by side, in a known range of lanes: a short vector"
    STEPS = "at constant distances, in a known range of lanes: as a pattern, and no other lane"
    ROW = "side by side: a vector, masked where lanes are idle"
    SOME_STEPS = "at equal distances of a few elements, some lanes idle: vectors of all that lies between"
    SOME_RUNS = "in rows, or rows of lanes at one address, some lanes idle: a masked vector for each"
    PATTERN = "at known distances: register by register"
    FREE = "anywhere: gather and scatter"


@dataclass(frozen=True)
class AccessPlan:
    """How the lanes lie, and each lane's spot where that is known."""

    lie: Lie
    spots: tuple[Spot, ...] = ()


FEW = 2  # registers of lanes: as many loads one by one are no slower than a gather
MAX_STEP = 8  # elements from lane to lane: more vectors with gaps take as long as a scatter
MAX_BETWEEN = 4  # the same of loads under a mask
ROW = 16  # bytes that a load brings for one lane as well as for many
LEAST_RUN = 4  # lanes of a run under a mask
DENSE = 2  # times as many elements as are wanted, at most, are read in one piece
MAX_PARTS = 32  # spots of more coefficients: a gather takes fewer instructions


def access_plan(e: Emitter, place: MemRef, size: int, write: bool) -> AccessPlan:
    """The plan of an access in the current block."""
    offset, bounded = place.offset, place.limit is not None
    if offset.uniform:
        return AccessPlan(Lie.ONE)
    if offset.base is None or e.out.continue_after_fault:
        return AccessPlan(Lie.FREE)
    found = spots(offset.terms, e.width)
    lie = Lie.FREE
    if bounded and (place.search or place.check.base is None):
        pass  # each lane's bounds have to be looked at
    elif is_row(found, size):
        same = place.check.terms == offset.terms
        if e.range is not None and same and not (e.out.robust and bounded):
            lie = Lie.RANGE
        elif e.mask is None or not bounded or same or place.check.uniform:
            lie = Lie.ROW
    elif e.range is not None and _in_steps(e, found[slice(*e.range)], size, write):
        constant = place.check.terms == offset.terms and all(not c for c, _ in offset.terms)
        if constant and not (e.out.robust and bounded):
            lie = Lie.STEPS
    elif e.mask is not None and not write and _near(e, found, size):
        lie = Lie.SOME_STEPS
    elif e.mask is not None and _in_runs(e, found, size, write):
        lie = Lie.SOME_RUNS
    elif (
        e.mask is None
        and not e.out.brief
        and len({s.part for s in found}) <= MAX_PARTS
        and not (write and not storable(found, size) and not _in_steps(e, found, size, write))
    ):
        lie = Lie.PATTERN
    return AccessPlan(lie, found)


def _near(e: Emitter, found: Sequence[Spot], size: int) -> bool:
    """Whether a masked vector of all between the lanes is quicker than a gather."""
    return e.out.target.masks_memory and not e.out.brief and 0 < abs(step_of(found, size)) <= MAX_BETWEEN


def _in_runs(e: Emitter, found: Sequence[Spot], size: int, write: bool) -> bool:
    target = e.out.target
    if not target.masks_memory or e.out.brief or e.range is not None or (size < 4 and not target.mask_bits):
        return False
    length = run_of(found, size)
    return length >= max(LEAST_RUN, target.lanes32 // 2) and not (write and found[0] == found[1])


def run_of(found: Sequence[Spot], size: int) -> int:
    """The lanes of a run, where all lanes lie in runs as long: side by side, or all at one address; else 0."""
    step = found[1].offset - found[0].offset
    if step not in (0, size) or found[1].part != found[0].part:
        return 0
    follows = [b == a.beyond(step) for a, b in itertools.pairwise(found)]
    length = follows.index(False) + 1 if False in follows else len(found)
    whole = length & (length - 1) == 0
    return length if whole and all(f == bool(n % length) for n, f in enumerate(follows, 1)) else 0


def step_of(found: Sequence[Spot], size: int) -> int:
    """The elements from lane to lane, where that is the same for all; else 0."""
    if len(found) < 2 or any(s.part != found[0].part for s in found):
        return 0
    step = found[1].offset - found[0].offset
    even = step % size == 0 and all(b.offset - a.offset == step for a, b in itertools.pairwise(found))
    return step // size if even else 0


def _in_steps(e: Emitter, found: Sequence[Spot], size: int, write: bool) -> bool:
    """Whether lanes go one by one, at constant distances: where nobody gathers or scatters, which takes as long for one
    lane as for all of a register, or they are few; or by vectors with gaps. Stores must not meet."""
    target = e.out.target
    if e.out.brief or any(s.part for s in found):
        return False
    if gaps(e, found, size):
        return True
    if (target.gathers or target.scatters) and len(found) > FEW * target.lanes32:
        return False
    return not write or (len(set(found)) == len(found) and apart(found, size))


def gaps(e: Emitter, found: Sequence[Spot], size: int) -> int:
    """The elements from lane to lane, where lanes are many, at equal distances of a few elements, and the processor
    stores vectors with gaps; else 0."""
    target = e.out.target
    if not target.scatters or size < 2 or len(found) <= FEW * target.lanes32:
        return 0
    step = step_of(found, size)
    return step if 1 < step <= MAX_STEP else 0


# ---- where the lanes go ---------------------------------------------------------------------------------------------


def spots(terms: Terms, width: int) -> tuple[Spot, ...]:
    """Each lane's spot."""
    symbolic = [(c, p) for c, p in terms if c]
    plain = dict(terms).get("", (0,) * width)
    return tuple(Spot(tuple((c, p[n]) for c, p in symbolic if p[n]), plain[n]) for n in range(width))


def registers(found: Sequence[Spot], count: int) -> list[tuple[Spot, ...]]:
    """The spots, register by register."""
    return [tuple(found[n : n + count]) for n in range(0, len(found), count)]


def is_row(found: Sequence[Spot], size: int) -> bool:
    """Whether the lanes lie side by side, in order, at constants."""
    start = found[0].offset
    return all(not s.part and s.offset == start + n * size for n, s in enumerate(found))


def contiguous(terms: Terms, width: int, size: int) -> bool:
    """The same of a value's terms; a uniform value is no row."""
    return bool(terms) and is_row(spots(terms, width), size)


def apart(found: Iterable[Spot], reach: int) -> bool:
    """Whether no two different spots are less than `reach` bytes apart, as far as one can tell."""
    order = sorted(set(found))
    return all(a.part != b.part or b.offset - a.offset >= reach for a, b in itertools.pairwise(order))


# ---- which loads and stores reach them ------------------------------------------------------------------------------


def pieces(found: Iterable[Spot], n: int, size: int) -> list[Piece]:
    """`n` elements from each spot on; what lies end to end is one piece."""
    made: list[Piece] = []
    for spot in sorted(found):
        last = made[-1] if made else None
        if last is not None and last.start.beyond(last.length * size) == spot:
            made[-1] = Piece(last.start, last.length + n)
        else:
            made.append(Piece(spot, n))
    return made


def reads(distinct: Sequence[Spot], n: int, size: int, stored: bool = False) -> list[Piece | Sparse] | None:
    """The loads for `n` elements from each of a register's spots on; None: a row for each spot, turned round.
    `stored`: what was stored element by element is read so."""
    if n > 1:
        ends = pieces(distinct, n, size)
        return [*ends] if len(ends) == 1 or len(ends) * 4 <= len(distinct) else with_gaps(distinct, n, size)
    parts = dict.fromkeys(s.part for s in distinct)
    runs = [sorted(s for s in distinct if s.part == part) for part in parts]
    return [load for run in runs for load in _elements(run, size, stored)]


def with_gaps(distinct: Sequence[Spot], n: int, size: int) -> list[Piece | Sparse] | None:
    """Two vectors over rows that leave little out between them, as those of three of four; they overlap, so that
    nothing is read behind the last row. None where too much is left out, or rows fill a register's parts by
    themselves."""
    run = sorted(distinct)
    first, reach = run[0], run[-1].offset - run[0].offset
    alike = all(s.part == first.part and (s.offset - first.offset) % size == 0 for s in run)
    span = reach // size + n
    if not alike or n * size >= ROW or span > DENSE * n * len(run):
        return None
    half = 1 << (span - 1).bit_length() - 1
    return [Piece(first, half), Piece(first.beyond((span - half) * size), half)]


def _elements(run: list[Spot], size: int, stored: bool) -> Sequence[Piece | Sparse]:
    """Loads for single elements of one part: a vector with gaps, a few without, one for each, or a gather."""
    first, span = run[0], (run[-1].offset - run[0].offset) // size + 1
    single = [Piece(s, 1) for s in run]
    if len(run) == 1 or any((s.offset - first.offset) % size for s in run):
        return single
    if stored and span > len(run):
        return single
    if span <= 2 * len(run) or span <= 16 or (span <= 4 * len(run) and size * span <= 512):
        return [Piece(first, span)]
    ends = pieces(run, 1, size)
    if len(ends) * 4 <= len(run):
        return ends
    return single if len(run) <= 8 else [Sparse(tuple(run))]


def storable(found: Sequence[Spot], size: int) -> bool:
    """Whether the lanes fall into few pieces, no two at one address."""
    if len(set(found)) < len(found):
        return False
    firsts = {s.part: s.offset for s in found}
    if any((s.offset - firsts[s.part]) % size for s in found):
        return False
    count = len(pieces(found, 1, size))
    return count * 4 <= len(found) or count <= 4
