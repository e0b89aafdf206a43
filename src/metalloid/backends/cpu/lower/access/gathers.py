"""Accesses of lanes that lie anywhere: each lane from its own address, or to it."""

from __future__ import annotations

from metalloid.backends.cpu.lower import masked
from metalloid.backends.cpu.lower.access.mem_ref import MemRef
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.ops.owned_atomics import whole_steps
from metalloid.backends.cpu.lower.text import Text
from metalloid.ir.values import Value

_NARROW = {"i8": "i8", "i16": "i16", "half": "i16"}  # and their bits as a number
_NEAR = ("buffer", "threadgroup", "variable", "constant")


def looked_up(e: Emitter, pointer: Value, place: MemRef, mask: str | None, kind: str, align: int) -> str:
    """What the lanes of a mask look up: by indices of 32 bits where they are known to be inside their memory, which has
    less than 4 GiB then. A register has twice as many of those as of addresses."""
    known = place.limit is not None or e.proved
    near = known and e.out.target.gathers and not (e.out.lanes.may_wrap32 or e.out.brief or place.search)
    if near and place.root.kind in _NEAR:
        if kind in _NARROW and (kind == "i8" or align >= 2):
            return _near_narrow(e, place, mask, kind)
        if kind not in _NARROW and align >= WORD and whole_steps(e, pointer, WORD):
            return _near_words(e, place, mask, kind, align)
    return gather(e, place.ptr, e.expand(place.offset), mask, kind, align)


WORD = 4  # bytes


def _near_words(e: Emitter, place: MemRef, mask: str | None, kind: str, align: int) -> str:
    """Offsets are multiples of a word; what lies before the start is counted from the first word that may be read."""
    index, start = e.put(f"trunc {e.vt('i64')} {e.expand(place.offset)} to {e.vt('i32')}"), place.ptr
    if place.moved != "0":
        before = e.put(f"and i64 {place.moved}, -{WORD}")
        index = e.put(f"add {e.vt('i32')} {index}, {e.splat('i32', e.put(f'trunc i64 {before} to i32'))}")
        start = e.put(f"getelementptr i8, ptr {start}, i64 {e.put(f'sub i64 0, {before}')}")
    return masked.gather(e, _words(e, start, index), mask, kind, align)


def _words(e: Emitter, start: str, bytes: str) -> str:
    index = e.put(f"lshr {e.vt('i32')} {bytes}, splat (i32 2)")
    wide = e.put(f"zext nneg {e.vt('i32')} {index} to {e.vt('i64')}")
    return e.put(f"getelementptr i32, ptr {start}, {e.vt('i64')} {wide}")


def _near_narrow(e: Emitter, place: MemRef, mask: str | None, kind: str) -> str:
    vi, offset = e.vt("i32"), e.expand(place.offset)
    first = e.put(f"sub i64 {e.put(f'ptrtoint ptr {place.ptr} to i64')}, {place.moved}")
    more = e.put(f"add i64 {e.put(f'and i64 {first}, 3')}, {place.moved}")
    at = e.put(f"trunc {e.vt('i64')} {offset} to {vi}")
    at = e.put(f"add {vi} {at}, {e.splat('i32', e.put(f'trunc i64 {more} to i32'))}")
    start = e.put(f"inttoptr i64 {e.put(f'and i64 {first}, -4')} to ptr")
    return _cut_out(e, masked.gather(e, _words(e, start, at), mask, "i32", WORD), at, kind)


def _cut_out(e: Text, words: str, at: str, kind: str) -> str:
    """The narrow elements at these places, of the words around them."""
    vi, narrow = e.vt("i32"), _NARROW[kind]
    shift = e.put(f"shl {vi} {e.put(f'and {vi} {at}, splat (i32 3)')}, splat (i32 3)")
    ref = e.put(f"trunc {vi} {e.put(f'lshr {vi} {words}, {shift}')} to {e.vt(narrow)}")
    return e.put(f"bitcast {e.vt(narrow)} {ref} to {e.vt(kind)}") if kind != narrow else ref


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
    return _cut_out(e, got, e.put(f"trunc {vl} {at} to {vi}"), kind)


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
