"""Accesses of lanes that lie anywhere: each lane from its own address, or to it."""

from __future__ import annotations

from metalloid.backends.cpu.lower import masked
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.text import Text


def gather(e: Text, ptr: str, offsets: str, mask: str | None, kind: str, align: int) -> str:
    """Each lane from its own address. Narrow elements come out of the aligned word around them where the processor
    gathers: it gathers words, and LLVM would go lane by lane. A word never crosses into another page."""
    if e.out.target.gathers and (kind == "i8" or (kind in ("i16", "half") and align >= 2)):
        return _gather_narrow(e, ptr, offsets, mask, kind)
    return masked.gather(e, addresses(e, ptr, offsets), mask, kind, align)


def _gather_narrow(e: Text, ptr: str, offsets: str, mask: str | None, kind: str) -> str:
    vl, vi = e.vt("i64"), e.vt("i32")
    start = "0" if ptr == "null" else e.put(f"ptrtoint ptr {ptr} to i64")
    at = e.put(f"add {vl} {offsets}, {e.splat('i64', start)}")
    words = e.put(f"and {vl} {at}, splat (i64 -4)")
    got = gather(e, "null", words, mask, "i32", 4)
    inside = e.put(f"trunc {vl} {at} to {vi}")
    shift = e.put(f"shl {vi} {e.put(f'and {vi} {inside}, splat (i32 3)')}, splat (i32 3)")
    moved = e.put(f"lshr {vi} {got}, {shift}")
    narrow = "i8" if kind == "i8" else "i16"
    ref = e.put(f"trunc {vi} {moved} to {e.vt(narrow)}")
    return e.put(f"bitcast {e.vt('i16')} {ref} to {e.vt('half')}") if kind == "half" else ref


def addresses(e: Text, ptr: str, offsets: str) -> str:
    if ptr == "null":
        return e.put(f"inttoptr {e.vt('i64')} {offsets} to {e.vt('ptr')}")
    return e.put(f"getelementptr i8, ptr {ptr}, {e.vt('i64')} {offsets}")


def scatter(e: Emitter, ptr: str, offsets: str, mask: str | None, kind: str, align: int, value: str) -> None:
    """Each lane to its own address, in order; narrow elements in a function of their own, for its size."""
    at = addresses(e, ptr, offsets)
    if kind in ("i8", "i16", "half") and (mask is None or e.out.target.scatters):
        w, vk, m = e.width, e.vt(kind), mask or masked.ALL
        name = masked.declared(e, "scatter", kind, w)
        helper = f"scatter.{kind}.{align}"
        e.out.helpers.setdefault(
            helper,
            f"define internal void @{helper}({vk} %value, <{w} x ptr> %at, <{w} x i1> %mask) noinline nounwind {{\n"
            f"  call void @{name}({vk} %value, <{w} x ptr> align {align} %at, <{w} x i1> %mask)\n  ret void\n}}\n",
        )
        e.do(f"call void @{helper}({vk} {value}, <{w} x ptr> {at}, <{w} x i1> {m})")
        return
    masked.scatter(e, at, mask, kind, align, value)
