"""Which lane holds which element of a matrix, and the guard of matrices that are accessed row by row."""

from __future__ import annotations

from metalloid.backends.cpu.lower.access import fault_reports
from metalloid.backends.cpu.lower.access.guard import search
from metalloid.backends.cpu.lower.access.mem_ref import MemRef
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.ir import Instruction
from metalloid.ir.values import Int

ROWS = [(lane >> 4 & 1) * 4 + (lane >> 1 & 3) for lane in range(32)]
COLUMNS = [(lane >> 3 & 1) * 4 + (lane & 1) * 2 for lane in range(32)]
HOLDER = {(ROWS[lane], COLUMNS[lane] + n): (lane, n) for lane in range(32) for n in (0, 1)}
FARTHEST = 1 << 40  # elements from one row to the next


def stop_outside(e: Emitter, i: Instruction, place: MemRef, size: int, write: bool) -> None:
    """All 64 elements are accessed: where one is outside, that is reported, and the end."""
    if place.limit is None:
        return
    stride, transpose = e.scalar(i.operands[1]), i.operands[2]
    assert isinstance(transpose, Int)
    fine = _corners(e, place, stride, size, write)
    good, bad = e.fresh_label("in"), e.fresh_label("out")
    e.do(f"br i1 {fine}, label %{good}, label %{bad}, !prof !1")
    e.label(bad)
    name = _helper(e, place.search, size, bool(transpose.value))
    limit = size if place.search else place.limit
    found = e.put(
        f"call i1 @{name}(i64 {place.check.base}, i64 {stride}, i64 {limit}, ptr %launch, "
        f"i32 {e.out.site(i, place.root, size, write)}, i32 %first, i32 %gx, i32 %gy, i32 %gz)"
    )
    e.do(f"br i1 {found}, label %stopped, label %{good}")
    e.label(good)


def _corners(e: Emitter, place: MemRef, stride: str, size: int, write: bool) -> str:
    """Whether all elements are inside; the two far corners suffice."""
    last = e.put(f"mul i64 {stride}, {7 * size}")
    negative = e.put(f"icmp slt i64 {last}, 0")
    low = e.put(f"select i1 {negative}, i64 {last}, i64 0")
    high = e.put(f"select i1 {negative}, i64 0, i64 {last}")
    start = e.put(f"add i64 {place.check.base}, {low}")
    end = e.put(f"add i64 {e.put(f'add i64 {place.check.base}, {high}')}, {7 * size}")
    apart = e.put(f"add i64 {stride}, {FARTHEST}")
    between = e.put(f"icmp ult i64 {apart}, {2 * FARTHEST}")  # else the other rows may be anywhere
    if place.search:
        length = e.put(f"add i64 {e.put(f'sub i64 {end}, {start}')}, {size}")
        found = e.put(f"icmp eq i32 {search(e, start, length, write)}, 0")
        return e.put(f"and i1 {found}, {between}")
    a, b = e.put(f"icmp ult i64 {start}, {place.limit}"), e.put(f"icmp ult i64 {end}, {place.limit}")
    return e.put(f"and i1 {e.put(f'and i1 {a}, {b}')}, {between}")


def _helper(e: Emitter, search: bool, size: int, turned: bool) -> str:
    """A function that looks at the elements of each lane, and tells whether one was outside."""
    name = f"report.matrix.{int(search)}.{size}.{int(turned)}"
    if name in e.out.helpers:
        return name
    look, vi = fault_reports.helper(e, search), e.vt("i64")
    rest = "ptr %launch, i32 %site, i32 %first, i32 %gx, i32 %gy, i32 %gz"
    lines = [f"define internal i1 @{name}(i64 %base, i64 %stride, i64 %limit, {rest}) noinline cold {{"]
    for value in ("base", "stride"):
        lines += [
            f"  %{value}.0 = insertelement {vi} poison, i64 %{value}, i64 0",
            f"  %{value}.v = shufflevector {vi} %{value}.0, {vi} poison, <{e.width} x i32> zeroinitializer",
        ]
    for n in (0, 1):
        columns = [column + n for column in COLUMNS]
        outer, inner = (columns, ROWS) if turned else (ROWS, columns)
        lines += [
            f"  %far{n} = mul {vi} %stride.v, {e.constants('i64', [size * x for x in outer])}",
            f"  %row{n} = add {vi} %base.v, %far{n}",
            f"  %at{n} = add {vi} %row{n}, {e.constants('i64', [size * x for x in inner])}",
            f"  %found{n} = call i1 @{look}({vi} %at{n}, i64 %limit, {rest})",
        ]
    lines += ["  %found = or i1 %found0, %found1", "  ret i1 %found", "}"]
    e.out.helpers[name] = "\n".join(lines)
    return name
