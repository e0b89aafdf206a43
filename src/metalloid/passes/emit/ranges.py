"""Accesses of blocks that a known range of lanes runs: short vectors without a mask."""

from __future__ import annotations

from metalloid.ir import Instruction
from metalloid.passes.emit.core import Emitter
from metalloid.passes.emit.guard import access_slowly
from metalloid.passes.emit.patterns import contiguous
from metalloid.passes.emit.places import Place, address


def by_range(e: Emitter, place: Place, size: int) -> bool:
    """Whether the lanes that run are known and their addresses lie side by side."""
    return (
        e.range is not None
        and contiguous(place.offset.terms, size)
        and place.check is place.offset
        and not place.search
    )


def _range_check(
    e: Emitter, i: Instruction, place: Place, size: int, write: bool
) -> tuple[str, tuple[str, str]] | None:
    """Where the first lane's access starts; and the labels of the access and of what follows it."""
    assert e.range is not None and place.check.base is not None
    first, last = e.range
    pattern = dict(place.check.terms)[""]
    start = e.put(f"add i64 {place.check.base}, {pattern[first]}")
    good, bad, join = (e.fresh_label(x) for x in ("in", "out", "join"))
    if place.limit is not None:
        end = e.put(f"add i64 {start}, {pattern[last - 1] - pattern[first]}")
        a, b = e.put(f"icmp ult i64 {start}, {place.limit}"), e.put(f"icmp ult i64 {end}, {place.limit}")
        e.do(f"br i1 {e.put(f'and i1 {a}, {b}')}, label %{good}, label %{bad}, !prof !1")
        e.label(bad)
    return start, (good, join)


def range_load(e: Emitter, i: Instruction, place: Place, kind: str, size: int, align: int) -> str:
    assert e.range is not None
    first, last = e.range
    found = _range_check(e, i, place, size, False)
    assert found is not None
    start, (good, join) = found
    slow = ""
    if place.limit is not None:
        slow = access_slowly(e, place, e.out.site(i, place.root, size), kind, align, None)
        text = ", ".join(f"i32 {n}" for n in range(first, last))
        slow = e.put(
            f"shufflevector {e.vt(kind)} {slow}, {e.vt(kind)} poison, <{last - first} x i32> <{text}>"
        )
        bad = next(line[:-1] for line in reversed(e.lines) if line.endswith(":"))
        e.do(f"br label %{join}")
        e.label(good)
    count = last - first
    part = e.put(f"load <{count} x {kind}>, ptr {address(e, place.ptr, start)}, align {align}")
    if place.limit is not None:
        e.do(f"br label %{join}")
        e.label(join)
        part = e.put(f"phi <{count} x {kind}> [ {part}, %{good} ], [ {slow}, %{bad} ]")
    picks = ", ".join(f"i32 {n - first if first <= n < last else 'poison'}" for n in range(e.width))
    return e.put(
        f"shufflevector <{count} x {kind}> {part}, <{count} x {kind}> poison, <{e.width} x i32> <{picks}>"
    )


def range_store(
    e: Emitter, i: Instruction, place: Place, kind: str, size: int, align: int, value: str
) -> None:
    assert e.range is not None
    first, last = e.range
    found = _range_check(e, i, place, size, True)
    assert found is not None
    start, (good, join) = found
    if place.limit is not None:
        access_slowly(e, place, e.out.site(i, place.root, size, True), kind, align, value)
        e.do(f"br label %{join}")
        e.label(good)
    picks = ", ".join(f"i32 {n}" for n in range(first, last))
    part = e.put(f"shufflevector {e.vt(kind)} {value}, {e.vt(kind)} poison, <{last - first} x i32> <{picks}>")
    e.do(f"store <{last - first} x {kind}> {part}, ptr {address(e, place.ptr, start)}, align {align}")
    if place.limit is not None:
        e.do(f"br label %{join}")
        e.label(join)
