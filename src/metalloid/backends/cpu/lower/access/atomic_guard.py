"""Atomics, guarded: inside their memory, and at a multiple of their size.

Metal allows no others, and on processors such as aarch64's one at an odd address ends the process. Such a lane stops
the launch (M103), or is left out where the guard is robust; under observation the checker has told it.
"""

from __future__ import annotations

from collections.abc import Callable

from metalloid.backends.cpu.lower.access.guard import (
    checked_mask,
    fault,
    guarded_scalar,
    only_where,
    settle,
    told_unless,
)
from metalloid.backends.cpu.lower.access.mem_ref import MemRef
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.ir import Instruction


def atomic_scalar(
    e: Emitter, i: Instruction, place: MemRef, size: int, write: bool, act: Callable[[], str], kind: str = ""
) -> str:
    """An atomic at one address, which `act` writes."""

    def inside() -> str:
        return guarded_scalar(e, i, place, size, write, act, kind)

    if not e.out.guard or size == 1:
        return inside()
    start = e.put(f"ptrtoint ptr {place.ptr} to i64")
    at = e.put(f"add i64 {start}, {place.offset.base}")
    good = e.put(f"icmp eq i64 {e.put(f'and i64 {at}, {size - 1}')}, 0")
    if e.out.check is not None:
        return only_where(e, good, inside, kind)
    site = e.out.site(i, place.root, size, write, "M103")
    return told_unless(e, good, site, place.check.base or "0", inside, kind)


def atomic_lanes(
    e: Emitter, i: Instruction, place: MemRef, size: int, write: bool, whole: bool = False
) -> str | None:
    """The lanes of an atomic that are carried out, one after the other.

    `whole`: they are elements from the start of their memory, so that is all one has to look at."""
    settle(e, place.check, place.offset)
    mask = checked_mask(e, i, place, size, write)
    if not e.out.guard or size == 1:
        return mask
    if whole and e.out.check is None and not e.out.robust:
        even_start(e, i, place, size, write, mask)
        return mask
    vi, vb = e.vt("i64"), e.vt("i1")
    start = e.put(f"ptrtoint ptr {place.ptr} to i64")
    at = e.put(f"add {vi} {e.expand(place.offset)}, {e.splat('i64', start)}")
    low = e.put(f"and {vi} {at}, splat (i64 {size - 1})")
    good = e.put(f"icmp eq {vi} {low}, zeroinitializer")
    if e.out.check is None:
        bad = e.put(f"xor {vb} {good}, splat (i1 true)")
        bad = e.put(f"freeze {vb} {e.both(mask, bad)}")
        stop, on = e.fresh_label("odd"), e.fresh_label("even")
        e.do(f"br i1 {e.any(bad)}, label %{stop}, label %{on}, !prof !2")
        e.label(stop)
        lane = e.first(bad)
        offset = e.put(f"extractelement {vi} {e.expand(place.check)}, i32 {lane}")
        fault(e, e.out.site(i, place.root, size, write, "M103"), offset, lane)
        e.do(f"br label %{on if e.out.robust else 'stopped'}")
        e.label(on)
    return e.put(f"freeze {vb} {e.both(mask, good)}")


def even_start(e: Emitter, i: Instruction, place: MemRef, size: int, write: bool, mask: str | None) -> None:
    """Stop where memory starts at an odd address; the first lane is told."""
    start = e.put(f"ptrtoint ptr {place.ptr} to i64")
    odd = e.put(f"icmp ne i64 {e.put(f'and i64 {start}, {size - 1}')}, 0")
    stop, on = e.fresh_label("odd"), e.fresh_label("even")
    active = mask if mask is not None else e.mask_ref()
    some = e.put(f"and i1 {odd}, {e.any(active)}")
    e.do(f"br i1 {some}, label %{stop}, label %{on}, !prof !2")
    e.label(stop)
    lane = e.first(active)
    offset = e.put(f"extractelement {e.vt('i64')} {e.expand(place.check)}, i32 {lane}")
    fault(e, e.out.site(i, place.root, size, write, "M103"), offset, lane)
    e.do("br label %stopped")
    e.label(on)
