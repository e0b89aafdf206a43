"""The cold part of a guard: which lane is outside, and a report about the first one."""

from __future__ import annotations

from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower.emitter import Emitter


def helper(e: Emitter, search: bool) -> str:
    """A function that tells whether a lane is outside: past a limit, or (`search`) in no buffer with so many bytes."""
    name = "report.nowhere" if search else "report.outside"
    if name not in e.out.helpers:
        e.out.helpers[name] = _nowhere(e, name) if search else _outside(e, name)
    return name


# A call that is never made must not cost the loop it stands in: a function of C may change most registers, so LLVM kept
# what lives across it on the stack, and loaded it in every round (rows of CSR: 0.79 to 0.92 of plain C).
KEEPS = "preserve_mostcc"


def one(e: Emitter) -> str:
    """A function that tells of an access outside, and keeps the registers of whoever calls it."""
    name = "report.one"
    parameters = "ptr %launch, i32 %site, i64 %o, i32 %index, i32 %gx, i32 %gy, i32 %gz"
    if name not in e.out.helpers:
        e.out.helpers[name] = (
            f"define internal {KEEPS} void @{name}({parameters}) noinline cold {{\n"
            f"  call void @{e.out.fault()}({parameters})\n"
            "  ret void\n}\n"
        )
    return name


def _head(e: Emitter, name: str) -> str:
    return (
        f"define internal i1 @{name}({e.vt('i64')} %check, i64 %limit, ptr %launch, i32 %site, i32 %first, i32 %gx, "
        f"i32 %gy, i32 %gz) noinline cold {{\n"
    )


def _told(e: Emitter, lane: str) -> str:
    return (
        f"  %index = add i32 %first, {lane}\n"
        f"  call void @{e.out.fault()}(ptr %launch, i32 %site, i64 %o, i32 %index, i32 %gx, i32 %gy, i32 %gz)\n"
    )


def _outside(e: Emitter, name: str) -> str:
    w, vi, vb = e.width, e.vt("i64"), e.vt("i1")
    e.out.declare(f"llvm.cttz.i{w}", f"declare i{w} @llvm.cttz.i{w}(i{w}, i1)")
    lane = "%n" if w == 32 else "%lane"
    resize = "" if w == 32 else f"  %lane = {'trunc' if w > 32 else 'zext'} i{w} %n to i32\n"
    return (
        f"{_head(e, name)}"
        f"  %l0 = insertelement {vi} poison, i64 %limit, i64 0\n"
        f"  %l = shufflevector {vi} %l0, {vi} poison, <{w} x i32> zeroinitializer\n"
        f"  %outside = icmp uge {vi} %check, %l\n"
        f"  %bits = bitcast {vb} %outside to i{w}\n"
        f"  %some = icmp ne i{w} %bits, 0\n"
        f"  br i1 %some, label %report, label %done\n"
        f"report:\n"
        f"  %n = call i{w} @llvm.cttz.i{w}(i{w} %bits, i1 true)\n{resize}"
        f"  %o = extractelement {vi} %check, i32 {lane}\n"
        f"{_told(e, lane)}"
        f"  br label %done\n"
        f"done:\n  ret i1 %some\n}}\n"
    )


def _nowhere(e: Emitter, name: str) -> str:
    e.out.declare(abi.OUTSIDE, f"declare i32 @{abi.OUTSIDE}(ptr, i64, i64, i32)")
    return (
        f"{_head(e, name)}"
        f"start:\n  br label %look\n"
        f"look:\n"
        f"  %lane = phi i32 [ 0, %start ], [ %next, %on ]\n"
        f"  %o = extractelement {e.vt('i64')} %check, i32 %lane\n"
        f"  %outside = call i32 @{abi.OUTSIDE}(ptr %launch, i64 %o, i64 %limit, i32 0)\n"
        f"  %some = icmp ne i32 %outside, 0\n"
        f"  br i1 %some, label %report, label %on\n"
        f"on:\n"
        f"  %next = add i32 %lane, 1\n"
        f"  %more = icmp ult i32 %next, {e.width}\n"
        f"  br i1 %more, label %look, label %done\n"
        f"report:\n{_told(e, '%lane')}"
        f"  br label %done\n"
        f"done:\n"
        f"  %found = phi i1 [ true, %report ], [ false, %on ]\n"
        f"  ret i1 %found\n}}\n"
    )
