"""Shuffles and broadcasts that read lanes which do not take part, and matrices without all lanes: who, and whom."""

from __future__ import annotations

from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.ops.collective import SOURCE, lookup, sources_of
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import MATRICES, collective
from metalloid.ir.values import Int

STAY = ("shuffle_up", "shuffle_down")  # past the end they leave lanes as they are, as Metal says
TELL = "mt_check_inactive"


def inactive(e: Emitter, i: Instruction, operation: str) -> None:
    """Write the test that a marker before a SIMD-group operation asks for: operands (site, amount)."""
    number, amount = i.operands
    assert isinstance(number, Int)
    if operation.startswith(MATRICES):
        _whole_group(e, number.value)
        return
    found = collective(operation)
    assert found is not None
    group, what = found.lanes, found.what
    stays = what in STAY
    if stays and e.mask is None:
        return
    if isinstance(amount, Int) and e.mask is None:
        known = [SOURCE[what](lane % group, amount.value, group) for lane in range(e.width)]
        if all(0 <= s < group for s in known):
            return
    vi, vb = e.vt("i32"), e.vt("i1")
    sources = sources_of(e, what, amount, group)
    inside = e.put(f"icmp ult {vi} {sources}, splat (i32 {group})")
    there = inside
    if e.mask is not None:
        start = e.constants("i32", [lane - lane % group for lane in range(e.width)])
        safe = e.put(f"and {vi} {sources}, splat (i32 {group - 1})")
        index = e.put(f"freeze {vi} {e.put(f'add {vi} {safe}, {start}')}")
        flags = e.put(f"zext {vb} {e.mask} to {vi}")
        on = e.put(f"icmp ne {vi} {lookup(e, 'i32', flags, index)}, zeroinitializer")
        there = e.put(f"and {vb} {inside}, {on}")
        if stays:
            outside = e.put(f"xor {vb} {inside}, splat (i1 true)")
            there = e.put(f"or {vb} {there}, {outside}")
    absent = e.put(f"xor {vb} {there}, splat (i1 true)")
    absent = e.put(f"freeze {vb} {e.both(e.mask, absent)}")
    tell, on_label = e.fresh_label("absent"), e.fresh_label("present")
    e.do(f"br i1 {e.any(absent)}, label %{tell}, label %{on_label}, !prof !2")
    e.label(tell)
    e.out.declare(TELL, f"declare void @{TELL}(ptr, i32, i32, i32)")
    for lane in e.lanes_loop(absent):
        read = e.put(f"extractelement {vi} {sources}, i32 {lane}")
        thread = e.put(f"add i32 %first, {lane}")
        e.do(f"call void @{TELL}(ptr %launch, i32 {number.value}, i32 {thread}, i32 {read})")
    e.do(f"br label %{on_label}")
    e.label(on_label)


def _whole_group(e: Emitter, number: int) -> None:
    """A matrix is two elements of each lane: without one of them it is not whole."""
    if e.mask is None:
        return
    vb = e.vt("i1")
    absent = e.put(f"freeze {vb} {e.put(f'xor {vb} {e.mask}, splat (i1 true)')}")
    tell, on_label = e.fresh_label("absent"), e.fresh_label("present")
    e.do(f"br i1 {e.any(absent)}, label %{tell}, label %{on_label}, !prof !2")
    e.label(tell)
    e.out.declare(TELL, f"declare void @{TELL}(ptr, i32, i32, i32)")
    thread = e.put(f"add i32 %first, {e.first(e.mask)}")
    e.do(f"call void @{TELL}(ptr %launch, i32 {number}, i32 {thread}, i32 {e.first(absent)})")
    e.do(f"br label %{on_label}")
    e.label(on_label)
