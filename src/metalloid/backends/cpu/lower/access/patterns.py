"""Loads and stores of lanes at known distances, as their plan has them.

A register's lanes get their elements from few vectors, which are put together by shuffles; many registers of one vector
often need the same. Where each lane has a row of its own, rows are read whole and turned round into columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalloid.backends.cpu.lower import masked
from metalloid.backends.cpu.lower.access.block_licm import in_place
from metalloid.backends.cpu.lower.access.contiguous import concat, owned_by_one, read, write
from metalloid.backends.cpu.lower.access.masked_rows import load_row, store_row
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address
from metalloid.backends.cpu.lower.access.plan import (
    AccessPlan,
    Lie,
    Piece,
    Sparse,
    Spot,
    gaps,
    pieces,
    reads,
    registers,
)
from metalloid.backends.cpu.lower.access.transpose import pick, turned
from metalloid.backends.cpu.lower.emitter import Emitter

Element = tuple[str, int]  # the type that is moved, and its bytes


def offset_of(e: Emitter, place: MemRef, spot: Spot) -> str:
    """A spot's distance from the place's pointer."""
    assert place.offset.base is not None
    total = place.offset.base
    for coefficient, multiple in spot.part:
        part = e.put(f"mul i64 {e.coefficient(coefficient, 'i64')}, {multiple}")
        total = e.put(f"add i64 {total}, {part}")
    return e.put(f"add i64 {total}, {spot.offset}") if spot.offset else total


def address_of(e: Emitter, place: MemRef, spot: Spot) -> str:
    return address(e, place.ptr, offset_of(e, place, spot))


# ---- loads ----------------------------------------------------------------------------------------------------------


def planned_load(e: Emitter, place: MemRef, plan: AccessPlan, kind: str, size: int, align: int) -> str:
    """One element for each lane: all at once, or under the mask where they lie side by side."""
    if plan.lie is not Lie.ROW:
        # Narrow numbers count as four bytes, as wide as most will be when used.
        return load_columns(e, place, plan.spots, 1, (kind, size), align, max(size, 4))[1][0]
    start = offset_of(e, place, plan.spots[0])
    if e.mask is None:
        return read(e, in_place(e, place), start, e.width, kind, size, align)
    return load_row(e, place, start, kind, size, align)


def load_columns(
    e: Emitter, place: MemRef, found: Sequence[Spot], n: int, element: Element, align: int, counted: int
) -> tuple[list[list[str]], list[str]]:
    """`n` elements from each lane's spot on. For each register the rows of its lanes, where they were read as such;
    and the columns over all lanes. A register holds elements of `counted` bytes."""
    count = min(e.width, max(1, e.out.target.vector_bytes // counted))
    made: dict[tuple[Spot, ...], tuple[list[str], list[str]]] = {}
    by_register = []
    for spots in registers(found, count):
        if spots not in made:
            made[spots] = _register(e, place, spots, n, element, align)
        by_register.append(made[spots])
    columns = [concat(e, element[0], [c[k] for _, c in by_register], count) for k in range(n)]
    return [rows for rows, _ in by_register], columns


def _register(
    e: Emitter, place: MemRef, spots: tuple[Spot, ...], n: int, element: Element, align: int
) -> tuple[list[str], list[str]]:
    """The rows, where there are such, and the n columns of one register's lanes."""
    kind, size = element
    distinct = list(dict.fromkeys(spots))
    loads = reads(distinct, n, size, not e.out.target.gathers and owned_by_one(e, place))
    if loads is None:
        rows = [e.put(f"load <{n} x {kind}>, ptr {address_of(e, place, s)}, align {align}") for s in distinct]
        columns, index = turned(e, kind, rows, n), [distinct.index(s) for s in spots]
        if len(distinct) < len(spots):
            columns = [pick(e, kind, column, len(distinct), index) for column in columns]
        return [rows[x] for x in index], columns
    if n == 1 and all(isinstance(x, Piece) and x.length == 1 for x in loads):
        return [], [_inserted(e, place, distinct, spots, kind, align)]
    if n == 1 and loads == [Piece(spots[0], len(spots))] == pieces(spots, 1, size):
        place = in_place(e, place)
    vectors = [_load(e, place, load, element, align) for load in loads]
    if n > 1 and sum(length for _, length, _ in vectors) == len({s for _, _, own in vectors for s in own}):
        vectors = [_joined(e, kind, vectors)]  # those that overlap are not put side by side
    return [], [_picked(e, kind, vectors, [s.beyond(k * size) for s in spots]) for k in range(n)]


Vector = tuple[str, int, dict[Spot, int]]  # a vector, its length, and which element it has where


def _load(e: Emitter, place: MemRef, load: Piece | Sparse, element: Element, align: int) -> Vector:
    kind, size = element
    if isinstance(load, Sparse):
        return _gathered(e, place, load, kind, align)
    start, length = load
    vector = e.put(f"load <{length} x {kind}>, ptr {address_of(e, place, start)}, align {align}")
    return vector, length, {start.beyond(k * size): k for k in range(length)}


def _gathered(e: Emitter, place: MemRef, load: Sparse, kind: str, align: int) -> Vector:
    first, count = load.elements[0], len(load.elements)
    width = 1 << (count - 1).bit_length()
    offsets = [s.offset - first.offset for s in load.elements] + [0] * (width - count)
    base = address_of(e, place, first)
    pointers = e.put(f"getelementptr i8, ptr {base}, <{width} x i64> {e.constants('i64', offsets)}")
    where = {s: k for k, s in enumerate(load.elements)}
    return masked.gather(e, pointers, None, kind, align, width), width, where


def _inserted(
    e: Emitter, place: MemRef, distinct: list[Spot], spots: Sequence[Spot], kind: str, align: int
) -> str:
    """One load for each spot, straight into its lane."""
    total, count = "poison", len(distinct)
    for n, spot in enumerate(distinct):
        one = e.put(f"load {kind}, ptr {address_of(e, place, spot)}, align {align}")
        total = e.put(f"insertelement <{count} x {kind}> {total}, {kind} {one}, i64 {n}")
    return total if count == len(spots) else pick(e, kind, total, count, [distinct.index(s) for s in spots])


def _joined(e: Emitter, kind: str, vectors: list[Vector]) -> Vector:
    """Vectors side by side."""
    if len(vectors) == 1:
        return vectors[0]
    where: dict[Spot, int] = {}
    for _, length, own in vectors:
        first = len(where)
        where |= {spot: first + k for spot, k in own.items()}
        assert length == len(own)
    return _picked(e, kind, vectors, list(where)), len(where), where


def _picked(e: Emitter, kind: str, vectors: list[Vector], wanted: Sequence[Spot]) -> str:
    """The elements that stand at these spots, as one vector."""
    w = len(wanted)
    ready: list[tuple[str, list[bool]]] = []
    for ref, count, where in vectors:
        picks = [where.get(spot) for spot in wanted]
        if w == count and picks == list(range(w)):
            return ref
        text = ", ".join(f"i32 {'poison' if p is None else p}" for p in picks)
        vector = f"<{count} x {kind}>"
        wide = e.put(f"shufflevector {vector} {ref}, {vector} poison, <{w} x i32> <{text}>")
        ready.append((wide, [p is not None for p in picks]))
    while len(ready) > 1:
        pairs = [_blended(e, kind, a, b) for a, b in zip(ready[::2], ready[1::2], strict=False)]
        ready = pairs + ready[len(ready) & ~1 :]
    return ready[0][0]


def _blended(
    e: Emitter, kind: str, a: tuple[str, list[bool]], b: tuple[str, list[bool]]
) -> tuple[str, list[bool]]:
    """Each element from the vector that has it."""
    w = len(a[1])
    sources = [str(x) if a[1][x] else (str(w + x) if b[1][x] else "poison") for x in range(w)]
    text = ", ".join(f"i32 {p}" for p in sources)
    both = e.put(f"shufflevector <{w} x {kind}> {a[0]}, <{w} x {kind}> {b[0]}, <{w} x i32> <{text}>")
    return both, [x or y for x, y in zip(a[1], b[1], strict=True)]


# ---- stores ---------------------------------------------------------------------------------------------------------


def planned_store(
    e: Emitter, place: MemRef, plan: AccessPlan, kind: str, size: int, align: int, value: str
) -> None:
    """Every lane's element to its spot: one vector, or a few pieces."""
    if plan.lie is not Lie.ROW:
        store_pieces(e, place, plan.spots, kind, size, align, value)
        return
    start = offset_of(e, place, plan.spots[0])
    whole = min(e.streamed, size * e.width)
    if e.mask is not None:
        store_row(e, place, start, kind, size, align, value)
    elif whole and place.multiple % whole == 0:
        at = address(e, place.ptr, start)
        e.do(f"store {e.vt(kind)} {value}, ptr {at}, align {whole}, !nontemporal !3")
    else:
        write(e, place, start, value, e.width, kind, size, align)


def load_some(
    e: Emitter, place: MemRef, found: Sequence[Spot], element: Element, align: int
) -> list[tuple[str, int]]:
    """One element from each spot: vectors of a register's lanes or fewer, and their lengths."""
    count = max(1, e.out.target.vector_bytes // max(element[1], 4))
    parts = registers(found, count)
    return [(_register(e, place, spots, 1, element, align)[1][0], len(spots)) for spots in parts]


def _store_with_gaps(
    e: Emitter, place: MemRef, spots: Sequence[Spot], step: int, kind: str, size: int, align: int, value: str
) -> None:
    """Every `step`-th element of vectors, all of which but those are left alone."""
    length = max(1, e.out.target.vector_bytes // size)
    for first in range(0, (len(spots) - 1) * step + 1, length):
        lanes = [n // step if n % step == 0 else -1 for n in range(first, first + length)]
        lanes = [lane if lane < len(spots) else -1 for lane in lanes]
        if max(lanes) >= 0:
            picks = ", ".join(f"i32 {lane}" if lane >= 0 else "i32 poison" for lane in lanes)
            mask = ", ".join(f"i1 {int(lane >= 0)}" for lane in lanes)
            whole = f"<{len(spots)} x {kind}>"
            put = e.put(f"shufflevector {whole} {value}, {whole} poison, <{length} x i32> <{picks}>")
            at = address_of(e, place, spots[0].beyond(first * size))
            masked.store(e, at, f"<{mask}>", kind, align, put, length)


def store_pieces(
    e: Emitter, place: MemRef, spots: Sequence[Spot], kind: str, size: int, align: int, value: str
) -> None:
    """A vector's elements to their spots. All in order first: LLVM takes short pieces with gaps apart element by
    element."""
    if step := gaps(e, spots, size):
        _store_with_gaps(e, place, spots, step, kind, size, align, value)
        return
    lanes = {spot: n for n, spot in enumerate(spots)}
    made = pieces(spots, 1, size)
    order = [lanes[start.beyond(k * size)] for start, length in made for k in range(length)]
    if order != list(range(len(spots))):
        value = pick(e, kind, value, len(spots), order)
    first, vector = 0, f"<{len(order)} x {kind}>"
    for start, length in made:
        at = address_of(e, place, start)
        if length == 1:
            one = e.put(f"extractelement {vector} {value}, i64 {first}")
            e.do(f"store {kind} {one}, ptr {at}, align {align}")
        else:
            part = pick(e, kind, value, len(order), list(range(first, first + length)))
            e.do(f"store <{length} x {kind}> {part}, ptr {at}, align {align}")
        first += length
