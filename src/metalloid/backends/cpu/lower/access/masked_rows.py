"""Neighbours under a mask, where the processor has no such instruction.

Lane by lane a row of 16 takes 60 instructions; at the edge of an image, where one lane of a gang is idle, that is the
whole cost of a stencil. A load may read the idle lanes as well where the row lies inside its memory: nobody
looks at what they get. A store must not touch them; but most registers of a row have no idle lane.
"""

from __future__ import annotations

from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower import masked
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address
from metalloid.backends.cpu.lower.emitter import Emitter


def load_row(e: Emitter, place: MemRef, start: str, kind: str, size: int, align: int) -> str:
    """0 in lanes that are off."""
    assert e.mask is not None
    at = address(e, place.ptr, start)
    room = None if e.out.target.masks_memory else _room(e, place)
    if room is None:
        return masked.load(e, at, e.mask, kind, align)
    above = e.put(f"icmp sge i64 {start}, 0")
    end = e.put(f"add i64 {start}, {size * e.width}")
    below = e.put(f"icmp sle i64 {end}, {room}")
    inside = e.put(f"and i1 {above}, {below}")
    row, lanes, join = (e.fresh_label(x) for x in ("row", "lanes", "join"))
    e.do(f"br i1 {inside}, label %{row}, label %{lanes}, !prof !1")
    e.label(row)
    whole = e.put(f"load {e.vt(kind)}, ptr {at}, align {align}")
    zero = e.vt(kind) + " zeroinitializer"
    quick = e.put(f"select {e.vt('i1')} {e.mask}, {e.vt(kind)} {whole}, {zero}")
    e.do(f"br label %{join}")
    e.label(lanes)
    slow = masked.load(e, at, e.mask, kind, align)
    e.do(f"br label %{join}")
    e.label(join)
    return e.put(f"phi {e.vt(kind)} [ {quick}, %{row} ], [ {slow}, %{lanes} ]")


def _room(e: Emitter, place: MemRef) -> str | None:
    """The bytes of the memory that offsets count from; None where that is not known, or somebody watches."""
    if e.out.check is not None or place.search:
        return None
    if place.root.kind == "buffer":
        return e.launch_field(abi.LENGTHS + 8 * place.root.index, "i64")
    return str(e.out.local_sizes[place.root.name]) if place.root.kind == "variable" else None


def store_row(e: Emitter, place: MemRef, start: str, kind: str, size: int, align: int, value: str) -> None:
    assert e.mask is not None
    count = max(4, e.out.target.vector_bytes // size)
    if e.out.target.masks_memory or e.out.check is not None or e.width % count:
        masked.store(e, address(e, place.ptr, start), e.mask, kind, align, value)
        return
    for first in range(0, e.width, count):
        picks = ", ".join(f"i32 {n}" for n in range(first, first + count))
        mask = e.put(f"shufflevector {e.vt('i1')} {e.mask}, {e.vt('i1')} poison, <{count} x i32> <{picks}>")
        part = e.put(f"shufflevector {e.vt(kind)} {value}, {e.vt(kind)} poison, <{count} x i32> <{picks}>")
        bits = e.put(f"bitcast <{count} x i1> {mask} to i{count}")
        full = e.put(f"icmp eq i{count} {bits}, -1")
        row, lanes, join = (e.fresh_label(x) for x in ("row", "lanes", "join"))
        at = address(e, place.ptr, e.put(f"add i64 {start}, {first * size}"))
        e.do(f"br i1 {full}, label %{row}, label %{lanes}")
        e.label(row)
        e.do(f"store <{count} x {kind}> {part}, ptr {at}, align {align}")
        e.do(f"br label %{join}")
        e.label(lanes)
        masked.store(e, at, mask, kind, align, part, count)
        e.do(f"br label %{join}")
        e.label(join)
