"""Barriers, and values that are kept across them."""

from __future__ import annotations

from metalloid.backends.cpu.lower import coroutine
from metalloid.backends.cpu.lower.access.guard import fault
from metalloid.backends.cpu.lower.access.pointers import pointer_from
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.backends.cpu.lower.matrix.chains import slot_number
from metalloid.backends.cpu.lower.output import SlotPlace
from metalloid.ir import Instruction
from metalloid.ir.values import Local, Value


def barrier(e: Emitter, i: Instruction) -> None:
    """Wait for the other gangs. Where there are none there is nobody to wait for. No fence: what stands behind it
    reads what stands before it, as in any program."""
    if e.out.check is not None:
        from metalloid.backends.cpu.lower.shadow import events

        _all_here(e, i)
        events.barrier(e, i)
    elif e.out.suspends:
        coroutine.suspend(e, i)


def _all_here(e: Emitter, i: Instruction) -> None:
    """Under observation every lane has to be at the barrier."""
    if e.width > 1 and e.mask is not None and e.mask != e.entry_mask:
        everybody = e.entry_mask or "splat (i1 true)"
        missing = e.put(f"xor {e.vt('i1')} {e.mask}, {everybody}")
        missing = e.put(f"freeze {e.vt('i1')} {missing}")
        some, report, on = e.any(missing), e.fresh_label("alone"), e.fresh_label("met")
        e.do(f"br i1 {some}, label %{report}, label %{on}, !prof !2")
        e.label(report)
        fault(e, e.out.site(i, None, rule="M204"), "0", e.first(missing))
        e.do("br label %stopped")
        e.label(on)


def _place(e: Emitter, i: Instruction) -> tuple[SlotPlace, str]:
    number = slot_number(i)
    place = e.out.slots[number]
    return place, e.at_start(f"kept{number}", f"getelementptr i8, ptr %kept, i64 {place.at}")


def reload(e: Emitter, i: Instruction) -> None:
    place, at = _place(e, i)
    kind = lowered(i.type)
    if e.width == 1:
        e.set(i.name, Val(kind, e.put(f"load {kind}, ptr {at}")))
    elif place.shape is not None:
        shape = e.shape(i.value)  # its coefficients have other names here
        assert shape is not None
        made = Val(kind, e.put(f"load {kind}, ptr {at}"), shape.terms)
        vec = e.expand(made) if shape.terms and i.name in e.needs else None
        e.set(i.name, Val(kind, made.base, shape.terms, vec))
    elif place.matrix is not None:
        from metalloid.backends.cpu.lower.matrix.elements import kept_element

        e.set(i.name, kept_element(e, place.matrix, kind))
    else:
        e.set(i.name, Val(kind, vec=e.put(f"load {e.vt(kind)}, ptr {at}")))


def spill(e: Emitter, i: Instruction) -> None:
    place, at = _place(e, i)
    value = i.operands[1]
    if place.matrix is not None:
        stored = e.stored.get(value.name) if isinstance(value, Local) else None
        if stored is None or stored[0] != place.matrix:  # else it is there already
            from metalloid.backends.cpu.lower.matrix.elements import keep_element

            keep_element(e, place.matrix, lowered(value.type), e.vector(value))
        return
    root = e.roots.slots.get(slot_number(i))
    # Of the ways that give it different roots, this region may have one only.
    made = pointer_from(e, value, root) if root is not None else e.get(value)
    if e.width == 1 or place.shape is not None:
        assert made.base is not None
        e.do(f"store {made.type} {made.base}, ptr {at}")
    else:
        vector = e.vector(value) if root is None else e.expand(made)
        e.do(f"store {e.vt(made.type)} {vector}, ptr {at}")


def state(e: Emitter, i: Instruction) -> None:
    """Where this gang stopped, and in which iteration: all its lanes, or all that have not returned."""
    here, anyone = _waiting(e, i.operands[0])
    lane = "" if all(e.get(o).uniform for o in i.operands) else e.first(here)
    ones: list[str] = []
    differs = ""
    for operand in i.operands:
        made = e.get(operand)
        if made.uniform:
            assert made.base is not None
            ones.append(made.base)
            continue
        vec = e.vector(operand)
        one = e.put(f"extractelement {e.vt('i32')} {vec}, i32 {lane}")
        ones.append(e.put(f"select i1 {anyone}, i32 {one}, i32 0") if anyone else one)
        apart = e.put(f"icmp ne {e.vt('i32')} {vec}, {e.splat('i32', one)}")
        apart = e.put(f"freeze {e.vt('i1')} {e.both(here, apart)}")
        differs = e.put(f"or {e.vt('i1')} {differs}, {apart}") if differs else apart
    _tell(e, ones)
    if not differs:
        return
    some, report, on = e.any(differs), e.fresh_label("alone"), e.fresh_label("met")
    e.do(f"br i1 {some}, label %{report}, label %{on}, !prof !2")
    e.label(report)
    vec = e.vector(i.operands[0])
    other = e.put(f"extractelement {e.vt('i32')} {vec}, i32 {e.first(differs)}")
    reached = e.put(f"icmp ugt i32 {ones[0]}, {other}")
    barrier_number = e.put(f"select i1 {reached}, i32 {ones[0]}, i32 {other}")
    missing = e.put(f"select i1 {reached}, i32 {e.first(differs)}, i32 {lane}")
    fault(e, e.out.site(i, None, rule="M204"), e.put(f"zext i32 {barrier_number} to i64"), missing)
    e.do("br label %stopped")
    e.label(on)


def _waiting(e: Emitter, number: Value) -> tuple[str | None, str]:
    """The lanes that have to agree, and (where it matters) a flag that says whether there are any.

    Where threads may return before a barrier, those that have not are kept for the regions behind it.
    """
    if e.out.remaining is None:
        return e.entry_mask, ""
    at = e.at_start("remaining", f"getelementptr i8, ptr %kept, i64 {e.out.remaining}")
    kind = f"i{max(8, e.width)}"
    made = e.get(number)
    if made.uniform:
        before = "-1" if e.entry_mask is None else _bits(e, e.entry_mask)
        some = e.put(f"icmp ne i32 {made.base}, 0")
        after = e.put(f"select i1 {some}, {kind} {before}, {kind} 0")
        e.do(f"store {kind} {after}, ptr {at}")
        return e.entry_mask, ""
    left = e.put(f"icmp ne {e.vt('i32')} {e.vector(number)}, zeroinitializer")
    left = e.put(f"freeze {e.vt('i1')} {e.both(e.entry_mask, left)}")
    e.do(f"store {kind} {_bits(e, left)}, ptr {at}")
    return left, e.any(left)


def _bits(e: Emitter, mask: str) -> str:
    """A mask as a number of whole bytes."""
    bits = e.put(f"bitcast {e.vt('i1')} {mask} to i{e.width}")
    return bits if e.width >= 8 else e.put(f"zext i{e.width} {bits} to i8")


def _tell(e: Emitter, values: list[str]) -> None:
    if not e.out.rounds:
        e.do(f"store i32 {values[0]}, ptr %state")
        return
    number, round = (e.put(f"zext i32 {v} to i64") for v in values)
    high = e.put(f"shl i64 {round}, 32")
    e.do(f"store i64 {e.put(f'or i64 {high}, {number}')}, ptr %state")
