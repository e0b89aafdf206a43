"""Accesses of blocks that a known range of lanes runs: short vectors without a mask."""

from __future__ import annotations

from metalloid.backends.cpu.lower.access.contiguous import read, write
from metalloid.backends.cpu.lower.access.guard import stop_unless
from metalloid.backends.cpu.lower.access.mem_ref import MemRef
from metalloid.backends.cpu.lower.emitter import Emitter, Val
from metalloid.ir import Instruction


def _start(e: Emitter, i: Instruction, place: MemRef, size: int, write: bool) -> str:
    """Where the first lane's access starts, once all lanes of the range are known to be inside."""
    assert e.range is not None and place.check.base is not None
    first, last = e.range
    pattern = dict(place.check.terms)[""]
    if place.limit is not None:
        low = e.put(f"add i64 {place.check.base}, {pattern[first]}")
        high = e.put(f"add i64 {low}, {pattern[last - 1] - pattern[first]}")
        a, b = e.put(f"icmp ult i64 {low}, {place.limit}"), e.put(f"icmp ult i64 {high}, {place.limit}")
        fine = e.put(f"and i1 {a}, {b}")
        only = tuple(
            pattern[min(max(n, first), last - 1)] for n in range(e.width)
        )  # idle lanes stand for others
        stop_unless(e, fine, i, place, size, write, [Val("i64", place.check.base, (("", only),))])
    return e.put(f"add i64 {place.offset.base}, {pattern[first]}")


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
