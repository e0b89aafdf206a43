"""Stores of neighbouring elements by the same lanes: the parts of a float4, a thread's row of a tile.

The reverse of `groups`: the vectors are turned round into one short vector per lane and stored lane by lane, where
element by element would take a scatter each. Elements that were loaded as such rows are passed on as they are.
"""

from __future__ import annotations

from collections.abc import Callable

from metalloid.analysis.intervals import is_proved
from metalloid.backends.cpu.lower.access import masked_vectors
from metalloid.backends.cpu.lower.access.guard import access_slowly, either, stop_unless
from metalloid.backends.cpu.lower.access.lane_rows import (
    Members,
    beyond,
    end_to_end,
    free_bounds,
    inside_mask,
    lane_offset,
    moved,
    per_register,
    reach_inside,
    settle_rows,
    worth,
)
from metalloid.backends.cpu.lower.access.load_groups import (
    MAX_BYTES,
    MAX_COPIED,
    MAX_FREE,
    cast_of,
    is_copied,
    space_of,
)
from metalloid.backends.cpu.lower.access.mem_ref import (
    MemRef,
    address,
    alignment,
    memory_type,
    resolve,
    shifted,
)
from metalloid.backends.cpu.lower.access.patterns import address_of
from metalloid.backends.cpu.lower.access.plan import Spot, registers, spots
from metalloid.backends.cpu.lower.access.transpose import pick
from metalloid.backends.cpu.lower.access.words import scattered, store_word
from metalloid.backends.cpu.lower.emitter import Emitter, lowered
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.gep import constant_base
from metalloid.ir.intrinsics import effect
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import FloatType, IntType
from metalloid.ir.values import Local, Value
from metalloid.records import dataclass

RUN = 4  # lanes, at least, whose rows lie end to end: fewer are stored lane by lane


@dataclass(frozen=True)
class StoreGroup:
    """Stores at `base` + `offset`, the offsets one element apart."""

    base: Value
    stores: Members


@dataclass(frozen=True)
class Found:
    """The groups of a block: by the place of the last store of each; and the places of all others."""

    groups: dict[int, StoreGroup]
    others: frozenset[int]


_Member = tuple[int, int, Instruction]  # offset, place in the block, store


def find(function: Function, block: Block, layout: DataLayout, apart: Callable[[Value], bool]) -> Found:
    """Stores that may be written together with the last of them: nothing between them looks at that memory. Pointers
    that are `apart` go to none."""
    opened: dict[tuple[Value, str], list[_Member]] = {}
    groups: dict[int, StoreGroup] = {}
    others: set[int] = set()

    def close(space: int | None, but: tuple[Value, str] | None = None) -> None:
        for key in [k for k in opened if k != but and (space is None or space_of(k[0]) == space)]:
            for members in _sequences(function, opened.pop(key), layout):
                last = max(place for _, place, _ in members)
                groups[last] = StoreGroup(key[0], tuple((offset, i) for offset, _, i in members))
                others.update(place for _, place, _ in members if place != last)

    for n, i in enumerate(block.body):
        if i.opcode in ("load", "store") and apart(i.operands[-1]):
            continue
        if i.opcode == "store" and not i.ordering:
            value, pointer = i.operands
            base, offset = constant_base(function, pointer, layout)
            key = (base, str(value.type))
            close(space_of(base), key)
            if isinstance(base, Local) and isinstance(value.type, FloatType | IntType):
                if any(offset == had for had, _, _ in opened.get(key, ())):
                    close(space_of(base))
                opened.setdefault(key, []).append((offset, n, i))
        elif i.opcode == "load" and not i.ordering:
            close(space_of(i.operands[0]))
        elif effect(i):
            close(None)
    close(None)
    return Found(groups, frozenset(others))


def _sequences(function: Function, members: list[_Member], layout: DataLayout) -> list[list[_Member]]:
    """Runs of two stores and more, one element apart."""
    size = layout.store_size(members[0][2].operands[0].type)
    values = [i.operands[0] for _, _, i in members]
    copied = all(_is_copy(function, v) for v in values)
    most = MAX_COPIED if copied else MAX_BYTES
    made: list[list[_Member]] = []
    for member in sorted(members, key=lambda m: m[0]):
        last = made[-1] if made else []
        if last and member[0] == last[-1][0] + size and len(last) * size < most:
            last.append(member)
        else:
            made.append([member])
    return [m for m in made if len(m) > 1]


def _spots(e: Emitter, group: StoreGroup, kind: str, size: int) -> tuple[Spot, ...] | None:
    """Where each lane's row begins, nothing where lanes lie anywhere; None where one by one is better."""
    shape, root = e.shape(group.base), e.roots.root(group.base)
    if e.out.continue_after_fault or e.out.brief:
        return None
    if e.width == 1 or kind != lowered(group.stores[0][1].operands[0].type):
        return None
    if root is None or root.kind in ("private", "unknown"):
        return None
    n = len(group.stores)
    if e.mask is not None and end_to_end(e, group.base, n * size):
        return spots(shape.terms, e.width) if shape is not None else None
    if e.mask is not None:
        return () if shape is None and store_word(e, n, size) is not None and not e.out.robust else None
    if shape is None:
        short = n * size < 8 and store_word(e, n, size) is None
        return None if short or e.width > MAX_FREE else ()
    found = spots(shape.terms, e.width)
    fine = (len(set(r)) == len(r) and worth(r, n * size) for r in registers(found, per_register(e, size)))
    return found if all(fine) else None


def store_group(e: Emitter, group: StoreGroup) -> bool:
    """Write all stores of a group; False where one by one is better."""
    first, n = group.stores[0][1], len(group.stores)
    kind, size = memory_type(first.operands[0].type)
    found, count = _spots(e, group, kind, size), per_register(e, size)
    if found is None:
        return False
    e.proved = all(is_proved(i) for _, i in group.stores)
    place = resolve(e, group.base, size)
    if place.search:
        return False
    align = min(alignment(i, size) for _, i in group.stores)
    low = group.stores[0][0]
    values = [i.operands[0] for _, i in group.stores]
    if e.mask is not None and found:
        if place.offset.base is None:
            return False
        _some_rows(e, group, place, kind, size, align)
        return True
    rows = [] if e.mask is not None else _loaded(e, values)
    vectors = [] if rows else [e.vector(v) for v in values]
    mask = None if e.mask is None else inside_mask(e, place, group.stores, size, True)
    fine = _all_inside(e, group, place, found) if e.mask is None else ""

    def write() -> list[str]:
        offsets = "" if found else e.expand(place.offset)
        word = None if found or rows else store_word(e, n, size)
        if word is not None:
            whole = interleaved(e, kind, vectors, 0, e.width)
            scattered(e, place.ptr, beyond(e, offsets, low), mask, word, whole, kind, n, align)
            return []
        for first in range(0, e.width, count):
            runs = _runs(found[first : first + count], n * size)
            if not rows and 0 < RUN * len(runs) <= count:
                whole, lane = interleaved(e, kind, vectors, first, count), 0
                for run in runs:
                    some = list(range(lane * n, (lane + len(run)) * n))
                    part = whole if len(run) == count else pick(e, kind, whole, count * n, some)
                    at = address_of(e, place, run[0].beyond(low))
                    e.do(f"store <{len(some)} x {kind}> {part}, ptr {at}, align {align}")
                    lane += len(run)
                continue
            each = rows[first : first + count] if rows else _turned(e, kind, vectors, first, count)
            for lane, row in enumerate(each, first):
                if found:
                    at = address_of(e, place, found[lane].beyond(low))
                else:
                    at = address(e, place.ptr, lane_offset(e, offsets, lane, low))
                e.do(f"store <{n} x {kind}> {row}, ptr {at}, align {align}")
        return []

    if fine and e.out.robust:
        either(e, fine, kind, write, lambda: _one_by_one(e, group, place, kind, size, align))
        return True
    if fine:
        places = [shifted(e, place.check, offset, (0,) * e.width) for offset, _ in group.stores]
        stop_unless(e, fine, first, place, size, True, places)
    write()
    return True


def _some_rows(e: Emitter, group: StoreGroup, place: MemRef, kind: str, size: int, align: int) -> None:
    """Rows that lie end to end, of some lanes: one masked vector."""
    at, n = e.put(f"add i64 {place.offset.base}, {group.stores[0][0]}"), len(group.stores)
    vectors = [e.vector(i.operands[0]) for _, i in group.stores]

    def write() -> list[str]:
        whole = interleaved(e, kind, vectors, 0, e.width)
        masked_vectors.store(e, address(e, place.ptr, at), whole, n, kind, size, align)
        return []

    if place.limit is None:
        write()
        return
    settle_rows(e, place, group.stores)
    fine = reach_inside(e, place, place.limit, group.stores)
    either(e, fine, kind, write, lambda: _one_by_one(e, group, place, kind, size, align))


def _runs(found: tuple[Spot, ...], reach: int) -> list[list[Spot]]:
    """Lanes whose rows lie end to end, as those of a row of threads; none where nobody knows."""
    runs: list[list[Spot]] = []
    for spot in found:
        if runs and spot == runs[-1][-1].beyond(reach):
            runs[-1].append(spot)
        else:
            runs.append([spot])
    return runs


def _all_inside(e: Emitter, group: StoreGroup, place: MemRef, found: tuple[Spot, ...]) -> str:
    """Whether the rows of all lanes are inside; "" where nobody has to ask."""
    if not found:
        return free_bounds(e, place, [offset for offset, _ in group.stores])
    return reach_inside(e, place, place.limit, group.stores) if place.limit is not None else ""


def _one_by_one(e: Emitter, group: StoreGroup, place: MemRef, kind: str, size: int, align: int) -> list[str]:
    for offset, i in group.stores:
        site, value = e.out.site(i, place.root, size, True), e.vector(i.operands[0])
        access_slowly(e, moved(e, place, offset), site, kind, align, value)
    return []


def _is_copy(function: Function, value: Value) -> bool:
    cast = cast_of(function, value)
    source = cast.operands[0] if cast is not None else value
    return isinstance(source, Local) and is_copied(function, function.definitions[source.name])


def _loaded(e: Emitter, values: list[Value]) -> list[str]:
    """The rows of all lanes, where the values are those of one group of loads, or casts of them."""
    casts = [cast_of(e.function, v) for v in values]
    inner = [v if c is None else c.operands[0] for v, c in zip(values, casts, strict=True)]
    parts = e.rows.get(tuple(v.name if isinstance(v, Local) else "" for v in inner), [])
    rows = [row for part in parts for row in part]
    if not rows or not any(casts):
        return rows
    if not all(casts):
        return []
    have, want = (f"<{len(values)} x {v.type}>" for v in (inner[0], values[0]))
    opcode = "fptrunc" if str(values[0].type) == "half" else "fpext"
    return [e.put(f"{opcode} {have} {row} to {want}") for row in rows]


def _turned(e: Emitter, kind: str, vectors: list[str], start: int, count: int) -> list[str]:
    """For each lane of a chunk a short vector of its elements."""
    n = len(vectors)
    whole = interleaved(e, kind, vectors, start, count)
    return [pick(e, kind, whole, count * n, list(range(lane * n, lane * n + n))) for lane in range(count)]


def interleaved(e: Emitter, kind: str, vectors: list[str], start: int, count: int) -> str:
    """The elements of all lanes of a chunk, lane by lane: neighbours are interleaved until rows are whole."""
    n = len(vectors)
    parts = [pick(e, kind, v, e.width, list(range(start, start + count))) for v in vectors]
    whole = 1 << (n - 1).bit_length()
    parts += ["poison"] * (whole - n)
    width = 1  # elements of each lane that lie side by side already
    while len(parts) > 1:
        length = count * width
        index = [
            f"i32 {lane * width + x + side * length}"
            for lane in range(count)
            for side in (0, 1)
            for x in range(width)
        ]
        parts = [
            e.put(
                f"shufflevector <{length} x {kind}> {a}, <{length} x {kind}> {b},"
                f" <{2 * length} x i32> <{', '.join(index)}>"
            )
            for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
        width *= 2
    if n == whole:
        return parts[0]
    return pick(
        e, kind, parts[0], count * whole, [lane * whole + x for lane in range(count) for x in range(n)]
    )
