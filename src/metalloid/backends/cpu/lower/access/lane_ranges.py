"""Accesses of blocks that a known range of lanes runs, without a mask: short vectors, or elements at constant steps."""

from __future__ import annotations

from metalloid.backends.cpu.lower.access.contiguous import read, write
from metalloid.backends.cpu.lower.access.guard import stop_unless
from metalloid.backends.cpu.lower.access.mem_ref import MemRef
from metalloid.backends.cpu.lower.access.patterns import load_some, store_pieces
from metalloid.backends.cpu.lower.access.plan import AccessPlan
from metalloid.backends.cpu.lower.access.transpose import pick
from metalloid.backends.cpu.lower.emitter import Emitter, Val
from metalloid.ir import Instruction


def _inside(e: Emitter, i: Instruction, place: MemRef, size: int, write: bool) -> int:
    """How far from the base the first lane's access starts, once all lanes of the range are known to be inside."""
    assert e.range is not None and place.check.base is not None
    first, last = e.range
    pattern = dict(place.check.terms)[""]
    if place.limit is not None:
        least, most = min(pattern[first:last]), max(pattern[first:last])
        low = e.put(f"add i64 {place.check.base}, {least}")
        high = e.put(f"add i64 {low}, {most - least}")
        a, b = e.put(f"icmp ult i64 {low}, {place.limit}"), e.put(f"icmp ult i64 {high}, {place.limit}")
        fine = e.put(f"and i1 {a}, {b}")
        only = tuple(
            pattern[min(first + n, last - 1)] for n in range(e.width)
        )  # lanes of the range, and the last again
        stop_unless(e, fine, i, place, size, write, [Val("i64", place.check.base, (("", only),))], first)
    return pattern[first]


def _start(e: Emitter, i: Instruction, place: MemRef, size: int, write: bool) -> str:
    return e.put(f"add i64 {place.offset.base}, {_inside(e, i, place, size, write)}")


def range_load(e: Emitter, i: Instruction, place: MemRef, kind: str, size: int, align: int) -> str:
    assert e.range is not None
    first, last = e.range
    start, count = _start(e, i, place, size, False), last - first
    part = read(e, place, start, count, kind, size, align)
    picks = ", ".join(f"i32 {n - first if first <= n < last else 'poison'}" for n in range(e.width))
    return e.put(
        f"shufflevector <{count} x {kind}> {part}, <{count} x {kind}> poison, <{e.width} x i32> <{picks}>"
    )


def range_store(
    e: Emitter, i: Instruction, place: MemRef, kind: str, size: int, align: int, value: str
) -> None:
    assert e.range is not None
    first, last = e.range
    start = _start(e, i, place, size, True)
    picks = ", ".join(f"i32 {n}" for n in range(first, last))
    part = e.put(f"shufflevector {e.vt(kind)} {value}, {e.vt(kind)} poison, <{last - first} x i32> <{picks}>")
    write(e, place, start, part, last - first, kind, size, align)


def steps_load(
    e: Emitter, i: Instruction, place: MemRef, plan: AccessPlan, kind: str, size: int, align: int
) -> str:
    """Lanes at constant distances, a register of them at a time."""
    assert e.range is not None
    first, last = e.range
    _inside(e, i, place, size, False)
    total, at = "poison", first
    for part, count in load_some(e, place, plan.spots[first:last], (kind, size), align):
        picks = ", ".join(f"i32 {n - at if at <= n < at + count else 'poison'}" for n in range(e.width))
        wide = e.put(
            f"shufflevector <{count} x {kind}> {part}, <{count} x {kind}> poison, <{e.width} x i32> <{picks}>"
        )
        if total != "poison":
            both = ", ".join(f"i32 {n + e.width if at <= n < at + count else n}" for n in range(e.width))
            wide = e.put(
                f"shufflevector {e.vt(kind)} {total}, {e.vt(kind)} {wide}, <{e.width} x i32> <{both}>"
            )
        total, at = wide, at + count
    return total


def steps_store(
    e: Emitter, i: Instruction, place: MemRef, plan: AccessPlan, kind: str, size: int, align: int, value: str
) -> None:
    assert e.range is not None
    first, last = e.range
    _inside(e, i, place, size, True)
    part = pick(e, kind, value, e.width, list(range(first, last)))
    store_pieces(e, place, plan.spots[first:last], kind, size, align, part)
