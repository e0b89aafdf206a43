"""Rows of elements, one for each lane: how far from each other they lie, and whether they are inside their memory."""

from __future__ import annotations

from metalloid.backends.cpu.lower.access.contiguous import concat
from metalloid.backends.cpu.lower.access.guard import bounds, checked_mask, inside, settle
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address, shifted
from metalloid.backends.cpu.lower.access.plan import Spot, apart, is_row, spots
from metalloid.backends.cpu.lower.access.transpose import turned
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.ir import Instruction
from metalloid.ir.values import Value
from metalloid.records import replace

Members = tuple[
    tuple[int, Instruction], ...
]  # the accesses to an element of each row, by their distance from the base


def end_to_end(e: Emitter, base: Value, reach: int) -> bool:
    """Whether lanes of which some are idle have rows end to end, and one masked vector reaches all of them."""
    shape = e.shape(base)
    if shape is None or not e.out.target.masks_memory or e.range is not None:
        return False
    exact = shape.exact or not any(c for c, _ in shape.terms)
    return exact and is_row(spots(shape.terms, e.width), reach)


def reach_inside(e: Emitter, place: MemRef, limit: str, members: Members) -> str:
    """Whether the rows of all lanes are inside, idle ones too."""
    start, span = bounds(e, place.check)
    begin = e.put(f"add i64 {start}, {members[0][0]}")
    return inside(e, begin, e.put(f"add i64 {span}, {members[-1][0] - members[0][0]}"), limit)


def settle_rows(e: Emitter, place: MemRef, members: Members) -> None:
    """What a copy for lanes that are outside asks for, before the ways part."""
    settle(e, *(moved(e, place, offset).check for offset, _ in members))


def beyond(e: Emitter, offsets: str, low: int) -> str:
    return e.put(f"add {e.vt('i64')} {offsets}, splat (i64 {low})") if low else offsets


def free_bounds(e: Emitter, place: MemRef, offsets: list[int]) -> str:
    """Whether the rows of all lanes are inside; "" where nobody has to ask."""
    if place.limit is None:
        return ""
    return e.put(f"xor i1 {e.any(_outside(e, place, place.limit, offsets))}, true")


def _outside(e: Emitter, place: MemRef, limit: str, offsets: list[int]) -> str:
    """The lanes whose rows are not inside."""
    begin = beyond(e, e.expand(place.check), offsets[0])
    less = e.put(f"sub i64 {limit}, {offsets[-1] - offsets[0]}")
    none = e.put(f"icmp slt i64 {less}, 0")
    room = e.put(f"select i1 {none}, i64 0, i64 {less}")
    return e.put(f"icmp uge {e.vt('i64')} {begin}, {e.splat('i64', room)}")


def inside_mask(e: Emitter, place: MemRef, members: Members, size: int, write: bool) -> str | None:
    """The mask less the lanes whose rows are not inside, of which the first element outside is reported."""
    if place.limit is None:
        return e.mask
    outside = _outside(e, place, place.limit, [offset for offset, _ in members])
    bad = e.put(f"freeze {e.vt('i1')} {e.both(e.mask, outside)}")
    places = [moved(e, place, offset) for offset, _ in members]
    settle(e, *(at.check for at in places))
    report, after = e.fresh_label("out"), e.fresh_label("after")
    e.do(f"br i1 {e.any(bad)}, label %{report}, label %{after}, !prof !2")
    e.label(report)
    for (_, i), at in zip(members, places, strict=True):
        checked_mask(e, i, at, size, write)
    e.do(f"br label %{after}")
    e.label(after)
    return e.both(e.mask, e.put(f"xor {e.vt('i1')} {outside}, splat (i1 true)"))


def moved(e: Emitter, place: MemRef, offset: int) -> MemRef:
    """A member of a group, by its distance from the base."""
    still = (0,) * e.width
    check, at = shifted(e, place.check, offset, still), shifted(e, place.offset, offset, still)
    return replace(place, check=check, offset=at)


def rows_of_lanes(
    e: Emitter, ptr: str, offsets: str, low: int, n: int, element: tuple[str, int], align: int
) -> tuple[list[list[str]], list[str]]:
    """A row of n elements from each lane's own offset, register by register; and the columns over all lanes."""
    (kind, size), by_lane, columns = element, list[list[str]](), [list[str]() for _ in range(n)]
    count = per_register(e, size)
    for start in range(0, e.width, count):
        rows = []
        for lane in range(start, start + count):
            at = address(e, ptr, lane_offset(e, offsets, lane, low))
            rows.append(e.put(f"load <{n} x {kind}>, ptr {at}, align {align}"))
        by_lane.append(rows)
        for column, ref in zip(columns, turned(e, kind, rows, n), strict=True):
            column.append(ref)
    return by_lane, [concat(e, kind, column, count) for column in columns]


def borrowed(e: Emitter, offsets: str) -> str:
    """Offsets of which idle lanes have that of the first lane that runs."""
    assert e.mask is not None
    one = e.put(f"extractelement {e.vt('i64')} {offsets}, i32 {e.first(e.mask)}")
    return e.put(
        f"select {e.vt('i1')} {e.mask}, {e.vt('i64')} {offsets}, {e.vt('i64')} {e.splat('i64', one)}"
    )


def lane_offset(e: Emitter, offsets: str, lane: int, low: int) -> str:
    one = e.put(f"extractelement {e.vt('i64')} {offsets}, i64 {lane}")
    return e.put(f"add i64 {one}, {low}") if low else one


def per_register(e: Emitter, size: int) -> int:
    """Lanes whose elements fill a register."""
    return min(e.width, max(1, e.out.target.vector_bytes // size))


def worth(register: tuple[Spot, ...], reach: int) -> bool:
    """Whether the rows of a register's lanes do not overlap, and there are enough of them."""
    count = len(set(register))
    return count >= 4 and count & (count - 1) == 0 and apart(register, reach)
