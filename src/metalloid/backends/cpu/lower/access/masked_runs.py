"""Loads and stores of several rows of lanes, or of numbers that rows of lanes share, where some lanes are idle: blocks
of threads at the edge of a grid.

Each row is one masked vector; as lanes that lie anywhere, it would be a gather or a scatter, sixteen times as long.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower import masked
from metalloid.backends.cpu.lower.access.contiguous import concat
from metalloid.backends.cpu.lower.access.mem_ref import MemRef
from metalloid.backends.cpu.lower.access.patterns import address_of
from metalloid.backends.cpu.lower.access.plan import AccessPlan, run_of
from metalloid.backends.cpu.lower.emitter import Emitter


def load_runs(
    e: Emitter, place: MemRef, plan: AccessPlan, mask: str, kind: str, size: int, align: int
) -> str:
    """0 in lanes that are off."""
    length, made = run_of(plan.spots, size), []
    for first in range(0, e.width, length):
        start, second = plan.spots[first], plan.spots[first + 1]
        at, there = address_of(e, place, start), _part(e, mask, first, length)
        if second == start:
            one = e.put(f"call i1 @{_any(e, length)}(<{length} x i1> {there})")
            there = e.put(f"insertelement <{length} x i1> zeroinitializer, i1 {one}, i64 0")
        row = masked.load(e, at, there, kind, align, length)
        if second == start:
            vector = f"<{length} x {kind}>"
            row = e.put(f"shufflevector {vector} {row}, {vector} poison, <{length} x i32> zeroinitializer")
        made.append(row)
    return concat(e, kind, made, length)


def store_runs(
    e: Emitter, place: MemRef, plan: AccessPlan, mask: str, kind: str, size: int, align: int, value: str
) -> None:
    """In the order of the lanes: where rows meet, the last one's numbers stay."""
    length = run_of(plan.spots, size)
    for first in range(0, e.width, length):
        picks = ", ".join(f"i32 {n}" for n in range(first, first + length))
        vector = e.vt(kind)
        row = e.put(f"shufflevector {vector} {value}, {vector} poison, <{length} x i32> <{picks}>")
        at = address_of(e, place, plan.spots[first])
        masked.store(e, at, _part(e, mask, first, length), kind, align, row, length)


def _part(e: Emitter, mask: str, first: int, length: int) -> str:
    picks = ", ".join(f"i32 {n}" for n in range(first, first + length))
    return e.put(f"shufflevector {e.vt('i1')} {mask}, {e.vt('i1')} poison, <{length} x i32> <{picks}>")


def _any(e: Emitter, length: int) -> str:
    name = f"llvm.vector.reduce.or.v{length}i1"
    e.out.declare(name, f"declare i1 @{name}(<{length} x i1>)")
    return name
