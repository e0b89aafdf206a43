"""Guards: an access outside its memory is reported, and not carried out.

Guarded, a vector access whose first or last lane falls outside goes to a cold copy that looks at each lane: the good
ones are carried out, the first bad one is reported. A masked tail gets there without a report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metalloid.analysis.shape_transfer import FAR
from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower.access import fault_reports
from metalloid.backends.cpu.lower.access.mem_ref import MemRef
from metalloid.backends.cpu.lower.emitter import Emitter, Val
from metalloid.ir import Instruction


def fault(e: Emitter, site: int, offset: str, lane: str) -> None:
    """Report; the launch stops at the next poll, or goes on where the guard is robust."""
    index = e.put(f"add i32 %first, {lane}") if lane != "0" else "%first"
    e.do(
        f"call {fault_reports.KEEPS} void @{fault_reports.one(e)}(ptr %launch, i32 {site}, i64 {offset}, "
        f"i32 {index}, i32 %gx, i32 %gy, i32 %gz)"
    )


def guarded_scalar(
    e: Emitter, i: Instruction, place: MemRef, size: int, write: bool, act: Callable[[], str], kind: str = ""
) -> str:
    """An access at one address, which `act` writes; its result is of this kind. Outside, a report, and the end;
    in a careful run (and, after the report, a robust one) nothing is done, and the result is zero."""
    if place.limit is None:
        return act()
    offset = place.check.base
    assert offset is not None
    if place.search:
        fine = e.put(f"icmp eq i32 {search(e, offset, size, write)}, 0")
    else:
        fine = e.put(f"icmp ult i64 {offset}, {place.limit}")
    if e.out.continue_after_fault:
        return only_where(e, fine, act, kind)
    return told_unless(e, fine, e.out.site(i, place.root, size, write), offset, act, kind)


def told_unless(e: Emitter, fine: str, site: int, offset: str, act: Callable[[], str], kind: str) -> str:
    """Carried out where it is fine; else a report."""

    def report() -> None:
        fault(e, site, offset, e.first(e.mask) if e.width > 1 else "0")

    if e.out.robust:
        return only_where(e, fine, act, kind, report)
    good, bad = e.fresh_label("in"), e.fresh_label("out")
    e.do(f"br i1 {fine}, label %{good}, label %{bad}, !prof !1")
    e.label(bad)
    report()
    e.do("br label %stopped")
    e.label(good)
    return act()


def only_where(
    e: Emitter, fine: str, act: Callable[[], str], kind: str, otherwise: Callable[[], None] | None = None
) -> str:
    """Carried out where it is fine; else the result is zero."""
    good, after = e.fresh_label("in"), e.fresh_label("after")
    bad = e.fresh_label("out") if otherwise is not None else after
    result = e.alloca(kind, "result") if kind else ""
    if kind:
        e.do(f"store {kind} {'0' if kind[0] == 'i' else 'zeroinitializer'}, ptr {result}")
    weights = ", !prof !1" if otherwise is not None else ""
    e.do(f"br i1 {fine}, label %{good}, label %{bad}{weights}")
    if otherwise is not None:
        e.label(bad)
        otherwise()
        e.do(f"br label %{after}")
    e.label(good)
    made = act()
    if kind:
        e.do(f"store {kind} {made}, ptr {result}")
    e.do(f"br label %{after}")
    e.label(after)
    return e.put(f"load {kind}, ptr {result}") if kind else ""


def settle(e: Emitter, *values: Val) -> None:
    """Get the coefficients of values here: what a branch gets first is not there behind it."""
    for name in dict.fromkeys(c for val in values for c, _ in val.terms if c):
        e.coefficient(name, "i64")


def stop_unless(
    e: Emitter,
    fine: str,
    i: Instruction,
    place: MemRef,
    size: int,
    write: bool,
    places: list[Val],
    start: int = 0,
) -> None:
    """All lanes access; where one is outside it is reported, and that is the end. `places` are what to look at, from
    the lane `start` on."""
    settle(e, *places)
    good, bad = e.fresh_label("in"), e.fresh_label("out")
    e.do(f"br i1 {fine}, label %{good}, label %{bad}, !prof !1")
    e.label(bad)
    name = fault_reports.helper(e, False)
    site = e.out.site(i, place.root, size, write)
    found, first = "false", e.put(f"add i32 %first, {start}") if start else "%first"
    for check in places:
        one = e.put(
            f"call i1 @{name}({e.vt('i64')} {e.expand(check)}, i64 {place.limit}, ptr %launch, i32 {site}, "
            f"i32 {first}, i32 %gx, i32 %gy, i32 %gz)"
        )
        found = e.put(f"or i1 {found}, {one}")
    e.do(
        f"br i1 {found}, label %stopped, label %{good}"
    )  # bounds of several patterns together may be too wide
    e.label(good)


def either(
    e: Emitter, fine: str, kind: str, quick: Callable[[], list[str]], slow: Callable[[], list[str]]
) -> list[str]:
    """The results of the quick copy where it is fine, else of the slow one; neither makes blocks of its own."""
    good, bad, join = (e.fresh_label(x) for x in ("in", "out", "join"))
    e.do(f"br i1 {fine}, label %{good}, label %{bad}, !prof !1")
    e.label(bad)
    told = slow()
    e.do(f"br label %{join}")
    e.label(good)
    made = quick()
    e.do(f"br label %{join}")
    e.label(join)
    return [
        e.put(f"phi {e.vt(kind)} [ {a}, %{good} ], [ {b}, %{bad} ]") for a, b in zip(made, told, strict=True)
    ]


def search(e: Emitter, address: str, size: int | str, write: bool) -> str:
    e.out.declare(abi.OUTSIDE, f"declare i32 @{abi.OUTSIDE}(ptr, i64, i64, i32)")
    return e.put(f"call i32 @{abi.OUTSIDE}(ptr %launch, i64 {address}, i64 {size}, i32 {int(write)})")


def checked_mask(e: Emitter, i: Instruction, place: MemRef, size: int, write: bool) -> str | None:
    """The mask less the lanes that are outside, which are reported."""
    if place.limit is None:
        return e.mask
    offsets = e.expand(place.check)
    if place.search:
        total = e.alloca(e.vt("i8"), "inside")
        e.do(f"store {e.vt('i8')} zeroinitializer, ptr {total}")
        for lane in e.lanes_loop(e.mask):
            at = e.put(f"extractelement {e.vt('i64')} {offsets}, i32 {lane}")
            outside = search(e, at, size, write)
            flag = e.put(f"trunc i32 {e.put(f'xor i32 {outside}, 1')} to i8")
            e.do(f"store i8 {flag}, ptr {e.put(f'getelementptr i8, ptr {total}, i32 {lane}')}")
        flags = e.put(f"load {e.vt('i8')}, ptr {total}")
        inside = e.put(f"icmp ne {e.vt('i8')} {flags}, zeroinitializer")
    else:
        inside = e.put(f"icmp ult {e.vt('i64')} {offsets}, {e.splat('i64', place.limit)}")
    good = e.both(e.mask, inside)
    if e.out.continue_after_fault:
        return e.put(f"freeze {e.vt('i1')} {good}")
    missing = e.put(f"xor {e.vt('i1')} {inside}, splat (i1 true)")
    bad = e.both(e.mask, missing)
    bad = e.put(f"freeze {e.vt('i1')} {bad}")
    some, report, after = e.any(bad), e.fresh_label("out"), e.fresh_label("after")
    e.do(f"br i1 {some}, label %{report}, label %{after}, !prof !2")
    e.label(report)
    site = e.out.site(i, place.root, size, write)
    lane = e.first(bad)
    fault(e, site, e.put(f"extractelement {e.vt('i64')} {offsets}, i32 {lane}"), lane)
    e.do(f"br label %{after}")
    e.label(after)
    return good


def bounds(e: Emitter, val: Val) -> tuple[str, str]:
    """The lowest offset of all lanes, and how far above it the highest is; or a little wider than that."""
    assert val.base is not None
    low, span = val.base, "0"
    for coefficient, pattern in val.terms:
        if coefficient:
            scalar = e.coefficient(coefficient, "i64")
            a, b = e.put(f"mul i64 {scalar}, {min(pattern)}"), e.put(f"mul i64 {scalar}, {max(pattern)}")
            less = e.put(f"icmp slt i64 {a}, {b}")
            least = e.put(f"select i1 {less}, i64 {a}, i64 {b}")
            most = e.put(f"select i1 {less}, i64 {b}, i64 {a}")
            part = _unless_far(e, coefficient, scalar, pattern, e.put(f"sub i64 {most}, {least}"))
        else:
            least, part = str(min(pattern)), str(max(pattern) - min(pattern))
        low = e.put(f"add i64 {low}, {least}") if least != "0" else low
        span = part if span == "0" else e.put(f"add i64 {span}, {part}")
    return low, span


def _unless_far(e: Emitter, coefficient: str, scalar: str, pattern: Sequence[int], span: str) -> str:
    """How far lanes are apart. Where products may go round 2^64, those of the first and the last lane say nothing of
    the others: then it is farther than any memory is long."""
    if e.get(e.function.definitions[coefficient].value).type != "i64":
        return span
    most = FAR // max(map(abs, pattern))
    near = e.put(f"icmp ult i64 {e.put(f'add i64 {scalar}, {most}')}, {2 * most}")
    return e.put(f"select i1 {near}, i64 {span}, i64 {4 * FAR}")


def inside(e: Emitter, low: str, span: str, limit: str) -> str:
    """Whether both ends are below the limit: one comparison, the rest is the same in every round of a loop."""
    if span == "0":
        return e.put(f"icmp ult i64 {low}, {limit}")
    less = e.put(f"sub i64 {limit}, {span}")
    none = e.put(f"icmp slt i64 {less}, 0")
    room = e.put(f"select i1 {none}, i64 0, i64 {less}")
    return e.put(f"icmp ult i64 {low}, {room}")


def spans(e: Emitter, place: MemRef) -> str:
    """Whether all lanes are inside, idle ones too."""
    assert place.limit is not None
    return inside(e, *bounds(e, place.check), place.limit)


def part_ways(e: Emitter, place: MemRef, fine: str, good: str, bad: str) -> None:
    """To the quick copy where all lanes are inside, or where those from the first to the last set lane are;
    else to the cold one, which begins here."""
    if place.check.uniform:
        e.do(f"br i1 {fine}, label %{good}, label %{bad}, !prof !1")
        e.label(bad)
        return
    edge = e.fresh_label("edge")
    e.do(f"br i1 {fine}, label %{good}, label %{edge}, !prof !1")
    e.label(edge)
    pattern = dict(place.check.terms)[""]
    ends = []
    for lane in (e.first(e.mask), e.last(e.mask)):
        wide = e.put(f"sext i32 {lane} to i64")
        step = e.put(f"mul i64 {wide}, {pattern[1] - pattern[0]}")
        at = e.put(f"add i64 {e.put(f'add i64 {place.check.base}, {pattern[0]}')}, {step}")
        ends.append(e.put(f"icmp ult i64 {at}, {place.limit}"))
    both = e.put(f"and i1 {ends[0]}, {ends[1]}")
    e.do(f"br i1 {both}, label %{good}, label %{bad}, !prof !1")
    e.label(bad)


def access_slowly(e: Emitter, place: MemRef, site: int, kind: str, align: int, value: str | None) -> str:
    """The cold copy: a helper that checks, reports and accesses lane by lane."""
    name = _slow_helper(e, kind, align, value is not None)
    check, offset = e.expand(place.check), e.expand(place.offset)
    arguments = (
        f"ptr {place.ptr}, {e.vt('i64')} {check}, {e.vt('i64')} {offset}, {e.vt('i1')} {e.mask_ref()}, "
        f"i64 {place.limit}, ptr %launch, i32 {site}, i32 %first, i32 %gx, i32 %gy, i32 %gz"
    )
    if value is None:
        return e.put(f"call {e.vt(kind)} @{name}({arguments})")
    e.do(f"call void @{name}({arguments}, {e.vt(kind)} {value})")
    return ""


def _slow_helper(e: Emitter, kind: str, align: int, write: bool) -> str:
    name = f"slow.{'store' if write else 'load'}.{kind}.{align}"
    if name in e.out.helpers:
        return name
    w, vk, vi, vb = e.width, e.vt(kind), e.vt("i64"), e.vt("i1")
    suffix = {"float": "f32", "half": "f16", "double": "f64"}.get(kind, kind)
    e.out.declare(f"llvm.cttz.i{w}", f"declare i{w} @llvm.cttz.i{w}(i{w}, i1)")
    lane = "%n" if w == 32 else "%lane"
    resize = "" if w == 32 else f"  %lane = {'trunc' if w > 32 else 'zext'} i{w} %n to i32\n"
    if write:
        act = (
            f"  call void @llvm.masked.scatter.v{w}{suffix}.v{w}p0({vk} %value, <{w} x ptr> align {align} %at, "
            f"{vb} %good)\n  ret void\n"
        )
        e.out.declare(
            f"llvm.masked.scatter.v{w}{suffix}.v{w}p0",
            f"declare void @llvm.masked.scatter.v{w}{suffix}.v{w}p0({vk}, <{w} x ptr>, {vb})",
        )
    else:
        act = (
            f"  %r = call {vk} @llvm.masked.gather.v{w}{suffix}.v{w}p0(<{w} x ptr> align {align} %at, {vb} %good, "
            f"{vk} zeroinitializer)\n  ret {vk} %r\n"
        )
        e.out.declare(
            f"llvm.masked.gather.v{w}{suffix}.v{w}p0",
            f"declare {vk} @llvm.masked.gather.v{w}{suffix}.v{w}p0(<{w} x ptr>, {vb}, {vk})",
        )
    e.out.helpers[name] = (
        f"define internal {'void' if write else vk} @{name}(ptr %base, {vi} %check, {vi} %offset, {vb} %mask, "
        f"i64 %limit, ptr %launch, i32 %site, i32 %first, i32 %gx, i32 %gy, i32 %gz"
        f"{f', {vk} %value' if write else ''}) noinline cold {{\n"
        f"  %l0 = insertelement {vi} poison, i64 %limit, i64 0\n"
        f"  %l = shufflevector {vi} %l0, {vi} poison, <{w} x i32> zeroinitializer\n"
        f"  %inside = icmp ult {vi} %check, %l\n"
        f"  %good = select {vb} %mask, {vb} %inside, {vb} zeroinitializer\n"
        f"  %outside = xor {vb} %inside, splat (i1 true)\n"
        f"  %bad = select {vb} %mask, {vb} %outside, {vb} zeroinitializer\n"
        f"  %bits = bitcast {vb} %bad to i{w}\n"
        f"  %some = icmp ne i{w} %bits, 0\n"
        f"  br i1 %some, label %report, label %access\n"
        f"report:\n"
        f"  %n = call i{w} @llvm.cttz.i{w}(i{w} %bits, i1 true)\n{resize}"
        f"  %o = extractelement {vi} %check, i32 {lane}\n"
        f"  %index = add i32 %first, {lane}\n"
        f"  call void @{e.out.fault()}(ptr %launch, i32 %site, i64 %o, i32 %index, i32 %gx, i32 %gy, i32 %gz)\n"
        f"  br label %access\n"
        f"access:\n"
        f"  %at = getelementptr i8, ptr %base, {vi} %offset\n{act}}}\n"
    )
    return name
