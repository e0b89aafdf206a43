"""Which threads the lanes of a gang are.

A gang runs `width` threads of a threadgroup side by side; lane l of gang j is thread j*width+l,
counted with x fastest. For most threadgroup sizes a position is then a base per gang and a constant pattern.
For the others it is read from a table.
"""

from __future__ import annotations

import math
from functools import cached_property

from metalloid.analysis import lane_shape as S
from metalloid.analysis.lane_shape import UNIFORM, LaneShape
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import FIXED_POSITIONS, VARYING_POSITIONS, short
from metalloid.ir.values import Int
from metalloid.records import dataclass, replace

Triple = tuple[int, int, int]
SIMD, QUAD = 32, 4
TOP = (1 << 32) - 1
MAX_THREADS = 1024


@dataclass(frozen=True)
class PositionPattern:
    """A position: the base is `(j * step // divide) % modulo` (no modulo where 0), plus the pattern.
    `table` says that it has to be looked up."""

    pattern: tuple[int, ...] = ()
    step: int = 0
    divide: int = 1
    modulo: int = 0
    table: bool = False
    limit: int = MAX_THREADS  # values are below it
    row: str = ""  # instead, where gangs are rows: "x", "y", "z" or "index" of row j


@dataclass(frozen=True)
class LaneLayout:
    """How threads become lanes, for one size of threadgroup."""

    width: int
    size: Triple  # of a whole threadgroup
    ragged: bool = False  # fewer threads than that, in the outermost axis
    tables: bool = False  # positions come from a table whatever the size: any threadgroup
    may_wrap32: bool = False  # there are buffers in which an index of 32 bits that has wrapped is inside
    rows: bool = False  # a gang is a row of the threadgroup; lanes beyond the row's end are idle
    slides: bool = False  # with rows: a part of one, from any of its threads on
    short: bool = False  # with slides: only the first lanes run, as many as the gang is told
    first: bool = False  # of all gangs only the first runs the code

    @property
    def count(self) -> int:
        x, y, z = self.size
        return x * y * z

    @property
    def tall(self) -> bool:
        """Whether the threadgroup is one of ours that no launch can ask for. Such may begin anywhere: the last of a row
        where it still has all its threads."""
        return self.count > MAX_THREADS

    @property
    def no_tail(self) -> bool:
        """Whether no lane is ever idle from the start."""
        if self.width == 1:
            return True
        return not (self.rows or self.ragged or self.tables) and self.count % self.width == 0

    @property
    def static_size(self) -> bool:
        """Whether the threadgroup is known to have all its threads."""
        return not (self.ragged or self.tables)

    @property
    def row(self) -> str:
        """The threads of a row, in vector code."""
        return str(self.size[0]) if self.static_size else "%sx"

    @property
    def step(self) -> str:
        """How many threads further the next gang starts, in vector code."""
        return self.row if self.rows else str(self.width)

    @property
    def gangs(self) -> int:
        """How many there are at most."""
        if self.first:
            return 1
        if self.rows:
            return self.size[1] * self.size[2] * (self.size[0] if self.slides else 1)
        return -(-(max(MAX_THREADS, self.count) if self.tables else self.count) // self.width)

    @property
    def single_gang(self) -> bool:
        """Whether a single gang is the whole threadgroup, or all of it that runs the code."""
        return self.gangs == 1 and not self.slides

    @cached_property
    def places(self) -> tuple[PositionPattern, PositionPattern, PositionPattern]:
        """The position in the threadgroup along each axis."""
        w, (x, y, z) = self.width, self.size
        iota = tuple(range(w))
        if self.rows:
            return (
                PositionPattern(iota, 1, limit=x + (w if self.short else 0), row="x")
                if self.slides
                else PositionPattern(iota, limit=w),
                PositionPattern(step=1, limit=y, row="y"),
                PositionPattern(step=1, limit=z, row="z"),
            )
        if self.tables:
            return (PositionPattern(table=True), PositionPattern(table=True), PositionPattern(table=True))
        rounded = self.gangs * w
        if y == z == 1:
            return PositionPattern(iota, w, limit=rounded), PositionPattern(limit=1), PositionPattern(limit=1)
        if x % w == 0:
            return (
                PositionPattern(iota, w, 1, x, limit=x),
                PositionPattern((), w, x, 0 if z == 1 else y, limit=y),
                PositionPattern((), w, x * y, limit=z),
            )
        if w % x == 0:
            rows = w // x
            across = PositionPattern(tuple(n % x for n in iota), limit=x)
            if z == 1 or y % rows == 0:
                down = PositionPattern(
                    tuple(n // x for n in iota), rows, 1, 0 if z == 1 else y, limit=-(-y // rows) * rows
                )
                return across, down, PositionPattern((), w, x * y, limit=z)
            if w % (x * y) == 0:
                down = PositionPattern(tuple(n // x % y for n in iota), limit=y)
                deep = PositionPattern(
                    tuple(n // (x * y) for n in iota), w // (x * y), limit=self.gangs * (w // (x * y))
                )
                return across, down, deep
        return PositionPattern(table=True), PositionPattern(table=True), PositionPattern(table=True)

    def place(self, builtin: str, axis: int) -> PositionPattern | None:
        """The lanes of a position builtin; None where it is uniform."""
        w, iota, all = self.width, tuple(range(self.width)), self.gangs * self.width
        match builtin:
            case "thread_position_in_threadgroup" | "thread_position_in_grid":
                return self.places[axis]
            case "thread_index_in_threadgroup" if self.rows:
                return PositionPattern(iota, 1, limit=all, row="index")
            case _ if self.rows and builtin in VARYING_POSITIONS:
                return PositionPattern(table=True)
            case "thread_index_in_threadgroup":
                return PositionPattern(iota, w, limit=all)
            case "thread_index_in_simdgroup":
                return PositionPattern(tuple(n % SIMD for n in iota), w, 1, SIMD, limit=SIMD)
            case "simdgroup_index_in_threadgroup":
                return PositionPattern(tuple(n // SIMD for n in iota), w, SIMD, limit=-(-all // SIMD))
            case "thread_index_in_quadgroup":
                return PositionPattern(tuple(n % QUAD for n in iota), w, 1, QUAD, limit=QUAD)
            case "quadgroup_index_in_threadgroup":
                return PositionPattern(tuple(n // QUAD for n in iota), w, QUAD, limit=-(-all // QUAD))
        return None

    def looks_up(self, i: Instruction) -> bool:
        """Whether a call is a position that is not computed from the gang's."""
        axis = i.operands[0].value if i.operands and isinstance(i.operands[0], Int) else 0
        place = self.place(short(i.called), axis) if i.opcode == "call" else None
        return place is not None and place.table

    def call(self, i: Instruction) -> object:
        """The shape of a position builtin; NotImplemented for another call."""
        name = short(i.called)
        axis = i.operands[0].value if i.operands and isinstance(i.operands[0], Int) else 0
        place = self.place(name, axis)
        if place is None:
            return self._fixed(name, axis) if name in FIXED_POSITIONS else NotImplemented
        if place.table:
            return None
        align = S.MAX_ALIGN
        if place.step:
            align = max(1, place.step // place.divide)
            if place.modulo:
                align = math.gcd(align, place.modulo)
        whole = place.divide == 1 and place.modulo and place.step % place.modulo == 0
        base = 0 if align == S.MAX_ALIGN or whole else None
        if base == 0 or self.single_gang:  # the only gang is number 0
            base, align = 0, S.MAX_ALIGN
        if not any(place.pattern):
            shape = LaneShape((), align, place.limit - 1, True, base)
        else:
            shape = S.lanes(place.pattern, align, place.limit - 1, base)
        if name == "thread_position_in_grid":
            # Grids end below 2^32, so no thread's position goes round; what idle lanes have nobody looks at.
            found = S.add(shape, LaneShape((), 1 if self.tall else self.size[axis], TOP))
            shape = replace(found, umax=TOP - 1) if found is not None else shape
        return shape

    def _fixed(self, name: str, axis: int) -> LaneShape:
        return LaneShape((), 1, MAX_THREADS) if name in SMALL else UNIFORM


SMALL = frozenset(n for n in FIXED_POSITIONS if "per_threadgroup" in n or "simdgroup" in n)
