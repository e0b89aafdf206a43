"""Barriers, and values that are kept across them."""

from __future__ import annotations

from metalloid.ir import Instruction
from metalloid.ir.values import Int
from metalloid.passes.emit.core import Emitter, SlotPlace, Val, lowered
from metalloid.passes.emit.guard import fault


def barrier(e: Emitter, i: Instruction) -> None:
    """One instance is the whole threadgroup: nobody to wait for, but all lanes must be here."""
    if e.out.guard and e.width > 1 and e.mask is not None and e.mask != e.entry_mask:
        everybody = e.entry_mask or "splat (i1 true)"
        missing = e.put(f"xor {e.vt('i1')} {e.mask}, {everybody}")
        missing = e.put(f"freeze {e.vt('i1')} {missing}")
        some, report, on = e.any(missing), e.fresh_label("alone"), e.fresh_label("met")
        e.do(f"br i1 {some}, label %{report}, label %{on}, !prof !2")
        e.label(report)
        fault(e, e.out.site(i, None, rule="M204"), "0", e.first(missing))
        e.do("br label %stopped")
        e.label(on)
    e.do('fence syncscope("singlethread") seq_cst')


def _place(e: Emitter, i: Instruction) -> tuple[SlotPlace, str]:
    number = i.operands[0]
    assert isinstance(number, Int)
    place = e.out.slots[number.value]
    return place, e.at_start(f"kept{number.value}", f"getelementptr i8, ptr %kept, i64 {place.at}")


def reload(e: Emitter, i: Instruction) -> None:
    place, at = _place(e, i)
    kind = lowered(i.type)
    if e.width == 1:
        e.set(i.name, Val(kind, e.put(f"load {kind}, ptr {at}")))
    elif place.shape is not None:
        e.set(i.name, Val(kind, e.put(f"load {kind}, ptr {at}"), place.shape.terms))
    else:
        e.set(i.name, Val(kind, vec=e.put(f"load {e.vt(kind)}, ptr {at}")))


def spill(e: Emitter, i: Instruction) -> None:
    place, at = _place(e, i)
    value = i.operands[1]
    made = e.get(value)
    if e.width == 1 or place.shape is not None:
        assert made.base is not None
        e.do(f"store {made.type} {made.base}, ptr {at}")
    else:
        e.do(f"store {e.vt(made.type)} {e.vector(value)}, ptr {at}")


def state(e: Emitter, i: Instruction) -> None:
    """Where this instance stopped; all its lanes must have stopped there."""
    made = e.get(i.operands[0])
    if made.uniform:
        e.do(f"store i32 {made.base}, ptr %state")
        return
    vec = e.vector(i.operands[0])
    lane = e.first(e.entry_mask)
    one = e.put(f"extractelement {e.vt('i32')} {vec}, i32 {lane}")
    differs = e.put(f"icmp ne {e.vt('i32')} {vec}, {e.splat('i32', one)}")
    differs = e.put(f"freeze {e.vt('i1')} {e.both(e.entry_mask, differs)}")
    some, report, on = e.any(differs), e.fresh_label("alone"), e.fresh_label("met")
    e.do(f"store i32 {one}, ptr %state")
    e.do(f"br i1 {some}, label %{report}, label %{on}, !prof !2")
    e.label(report)
    other = e.put(f"extractelement {e.vt('i32')} {vec}, i32 {e.first(differs)}")
    reached = e.put(f"icmp ugt i32 {one}, {other}")
    barrier_number = e.put(f"select i1 {reached}, i32 {one}, i32 {other}")
    missing = e.put(f"select i1 {reached}, i32 {e.first(differs)}, i32 {lane}")
    fault(e, e.out.site(i, None, rule="M204"), e.put(f"zext i32 {barrier_number} to i64"), missing)
    e.do("br label %stopped")
    e.label(on)
