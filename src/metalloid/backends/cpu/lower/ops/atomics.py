"""Atomic read-modify-write: one lane after the other, in order.

Where all lanes go to one address and nobody wants the old value, the lanes are folded first; where they add whole
numbers and want it (slots of a list that grows), they add once, and each gets what the lanes before it have added.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from metalloid.backends.cpu.lower.access.atomic_guard import atomic_lanes, atomic_scalar, even_start
from metalloid.backends.cpu.lower.access.guard import fault, only_where, settle
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address, memory_type, resolve
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.backends.cpu.lower.ops import lanes_again
from metalloid.backends.cpu.lower.ops.carried_sums import adding
from metalloid.backends.cpu.lower.ops.collective import reduce_all, scan
from metalloid.backends.cpu.lower.ops.lanes_in_memory import Lanes
from metalloid.backends.cpu.lower.ops.memory_orders import order
from metalloid.backends.cpu.lower.ops.own_copies import either
from metalloid.backends.cpu.lower.ops.owned_atomics import (
    CHOSEN,
    MOST_LANES,
    as_row,
    lanes,
    numbered,
    owned,
    update,
    whole_steps,
)
from metalloid.backends.cpu.own_copy import OwnCopy
from metalloid.ir import Instruction
from metalloid.ir.types import FloatType, IntType, StructType
from metalloid.ir.values import Value

FOLDS = {
    "add": "sum",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "umin": "min",
    "umax": "max",
    "min": "min",
    "max": "max",
    "fadd": "sum",
}


def atomic_rmw(e: Emitter, i: Instruction) -> None:
    pointer, operand = i.operands
    kind, size = memory_type(operand.type)
    place = resolve(e, pointer, size)
    used = bool(e.function.users.get(i.name))
    lone = e.width == 1
    if lone or (
        place.offset.uniform and lowered(operand.type) == kind and (i.predicate in FOLDS and not used)
    ):
        sums = None if used else e.out.carried.of(e.function, e.roots, i)
        if sums is not None:
            act = adding(e, i, place, sums)
        else:
            value = e.scalar(operand) if lone else _folded(e, i, kind)
            act = partial(_once, e, i, place, value, used)
        ref = atomic_scalar(e, i, place, size, True, act, kind if used else "")
        if used:
            e.set(i.name, Val(kind, ref))
        return
    if used and place.offset.uniform and i.predicate == "add" and lowered(operand.type) == kind:
        _counted(e, i, place)
        return
    copy = None if used else _copy(e, pointer)
    if copy is not None and (one := _examined_one_by_one(e, i, place, size)) is not None:
        either(e, copy, one, lambda: _with_locks(e, i, place, size))
        return
    mask = atomic_lanes(e, i, place, size, True, whole_steps(e, pointer, size))
    settle(e, place.offset, e.get(operand))
    if copy is not None:
        values = Val(kind, vec=e.vector(operand))
        either(
            e,
            copy,
            lambda start: _plain_lanes(e, i, start, place, values, mask, size),
            lambda: _lanes_in_turn(e, i, place, values, mask, ""),
        )
    elif owned(e, pointer, i.predicate) and not used:
        _plain_lanes(e, i, place.ptr, place, e.get(operand), mask, size)
    else:
        total = _results(e, kind) if used else ""
        _lanes_in_turn(e, i, place, e.get(operand), mask, total)
        if used:
            e.set(i.name, Val(kind, vec=e.put(f"load {e.vt(kind)}, ptr {total}")))


def _examined_one_by_one(
    e: Emitter, i: Instruction, place: MemRef, size: int
) -> Callable[[str], None] | None:
    """Code for lanes that each look up where they go, see whether that is inside, and add, as plain C would: out[at[i]]
    += x. None where they had better be looked at together."""
    pointer, operand = i.operands
    if (
        place.limit is None
        or e.mask is not None
        or not numbered(e, None)
        or not whole_steps(e, pointer, size)
    ):
        return None
    if e.out.robust or e.out.brief or e.out.continue_after_fault or e.out.check is not None:
        return None
    places = lanes_again.offsets(e, i, examined=True)
    if places is None or places.step < 1 or places.step & (places.step - 1):
        return None
    settle(e, place.check, place.offset, e.get(operand))
    e.expand(place.check), e.expand(place.offset), e.vector(operand)  # both ways find them here
    numbers = lanes_again.again(e, operand, i) or Lanes(e, e.get(operand), True)
    site, kind = e.out.site(i, place.root, size, True), memory_type(operand.type)[0]
    low, room = _room(e, places, place)

    def act(start: str) -> None:
        even_start(e, i, place, size, True, None)
        outside, done = e.fresh_label("out"), e.fresh_label("done")
        found: list[tuple[str, str]] = []
        for lane in map(str, range(e.width)):
            here, on = e.fresh_label("lane"), e.fresh_label("in")
            e.do(f"br label %{here}")
            e.label(here)
            number = places.number(lane)
            fine = e.put(f"icmp ult i64 {e.put(f'add i64 {number}, {low}')}, {room}")
            e.do(f"br i1 {fine}, label %{on}, label %{outside}, !prof !1")
            found.append((number, here))
            e.label(on)
            update(e, i.predicate, address(e, start, places.of(number)), kind, numbers[lane], size)
        e.do(f"br label %{done}")
        e.label(outside)
        number = e.put("phi i64 " + ", ".join(f"[ {number}, %{here} ]" for number, here in found))
        lane = e.put("phi i32 " + ", ".join(f"[ {n}, %{here} ]" for n, (_, here) in enumerate(found)))
        fault(e, site, e.put(f"add i64 {places.of(number)}, {place.moved}"), lane)
        e.do("br label %stopped")
        e.label(done)

    return act


def _room(e: Emitter, places: lanes_again.Offsets, place: MemRef) -> tuple[str, str]:
    """What is added to an index, and how many there are then that lead inside: counted in elements, each lane has one
    comparison."""
    start, shift = e.put(f"add i64 {places.base}, {place.moved}"), places.step.bit_length() - 1
    low = e.put(f"ashr i64 {start}, {shift}")
    end = e.put(f"add i64 {e.put(f'sub i64 {place.limit}, {start}')}, {places.step - 1}")
    count = e.put(f"add i64 {e.put(f'ashr i64 {end}, {shift}')}, {low}")
    none = e.put(f"icmp slt i64 {count}, 0")
    return low, e.put(f"select i1 {none}, i64 0, i64 {count}")


def _with_locks(e: Emitter, i: Instruction, place: MemRef, size: int) -> None:
    mask = atomic_lanes(e, i, place, size, True, True)
    _lanes_in_turn(
        e, i, place, Val(memory_type(i.operands[1].type)[0], vec=e.vector(i.operands[1])), mask, ""
    )


def _once(e: Emitter, i: Instruction, place: MemRef, value: str, used: bool) -> str:
    """One operation at one address."""
    pointer, operand = i.operands
    kind, size = memory_type(operand.type)
    offset, copy = place.offset.base or "0", None if used else _copy(e, pointer)

    def shared() -> str:
        return _locked(e, i, address(e, place.ptr, offset), kind, value, size, used)

    if owned(e, pointer, i.predicate):
        return update(e, i.predicate, address(e, place.ptr, offset), kind, value, size)
    if copy is None:
        return shared()
    either(
        *(
            e,
            copy,
            lambda start: update(e, i.predicate, address(e, start, offset), kind, value, size),
            shared,
        ),
        one=True,
    )
    return ""


def _counted(e: Emitter, i: Instruction, place: MemRef) -> None:
    """All lanes add to one address: once, and the old value of a lane has what the lanes before it add."""
    kind, size = memory_type(i.operands[1].type)
    added = e.vector(i.operands[1])
    before = scan(e, "sum", kind, "i", added, e.width, True)
    act = partial(_once, e, i, place, reduce_all(e, "sum", kind, "i", added), True)
    old = e.splat(kind, atomic_scalar(e, i, place, size, True, act, kind))
    e.set(i.name, Val(kind, vec=e.put(f"add {e.vt(kind)} {old}, {before}")))


def _locked(e: Emitter, i: Instruction, at: str, kind: str, value: str, size: int, used: bool) -> str:
    """One operation that others see whole. A least or a greatest number that nobody asks for mostly stays what it is:
    to look takes a tenth of the time."""
    tail = order("atomicrmw", i.operands[0], e.out.counts)

    def act() -> str:
        return e.put(f"atomicrmw {i.predicate} ptr {at}, {kind} {value} {tail}, align {size}")

    if used or i.predicate not in CHOSEN:
        return act()
    old = e.put(f"load atomic {kind}, ptr {at} monotonic, align {size}")
    better = e.put(f"icmp {CHOSEN[i.predicate]} {kind} {value}, {old}")
    return only_where(e, better, lambda: act() and "", "")


def _plain_lanes(
    e: Emitter, i: Instruction, start: str, place: MemRef, values: Val, mask: str | None, size: int
) -> str:
    """Lanes that nobody else sees: as a row, or each in turn."""
    if as_row(e, i, place.offset, mask, start, size):
        return ""
    if mask is None or e.mask is not None or e.width > MOST_LANES or e.out.brief:
        _in_order(e, i, start, place, values, mask, size)
        return ""
    every, some, done = (e.fresh_label(x) for x in ("every", "some", "done"))
    bits = e.put(f"bitcast {e.vt('i1')} {mask} to i{e.width}")
    e.do(f"br i1 {e.put(f'icmp eq i{e.width} {bits}, -1')}, label %{every}, label %{some}, !prof !1")
    e.label(every)
    _in_order(e, i, start, place, values, None, size)
    e.do(f"br label %{done}")
    e.label(some)
    _in_order(e, i, start, place, values, mask, size)
    e.do(f"br label %{done}")
    e.label(done)
    return ""


def _in_order(
    e: Emitter, i: Instruction, start: str, place: MemRef, values: Val, mask: str | None, size: int
) -> None:
    kind, by_number = values.type, numbered(e, mask)
    places = (lanes_again.offsets(e, i) if by_number else None) or Lanes(e, place.offset, by_number)
    numbers = (lanes_again.again(e, i.operands[1], i) if by_number else None) or Lanes(e, values, by_number)
    for lane in lanes(e, mask):
        update(e, i.predicate, address(e, start, places[lane]), kind, numbers[lane], size)


def _lanes_in_turn(
    e: Emitter, i: Instruction, place: MemRef, values: Val, mask: str | None, total: str
) -> None:
    """Lanes in turn; their old values go to `total`, if there is one. Beside a lock, a loop costs nothing."""
    kind, size = memory_type(i.operands[1].type)
    pointer, used = i.operands[0], bool(total)
    plain = owned(e, pointer, i.predicate)
    by_number = plain and numbered(e, mask)
    offsets, numbers = Lanes(e, place.offset, by_number), Lanes(e, values, by_number)
    for lane in lanes(e, mask) if by_number else e.lanes_loop(mask):
        at, one = address(e, place.ptr, offsets[lane]), numbers[lane]
        old = (
            update(e, i.predicate, at, kind, one, size) if plain else _locked(e, i, at, kind, one, size, used)
        )
        if used:
            _keep(e, total, kind, lane, old)


def _copy(e: Emitter, pointer: Value) -> OwnCopy | None:
    """The copy that threads may have of the buffer of a pointer."""
    root = e.roots.root(pointer)
    return e.out.own_copies.get(root.index) if root is not None and root.kind == "buffer" else None


def _folded(e: Emitter, i: Instruction, kind: str) -> str:
    first, end = e.range or (0, e.width)
    if end - first == 1:
        return e.put(f"extractelement {e.vt(kind)} {e.vector(i.operands[1])}, i64 {first}")
    what = FOLDS[i.predicate]
    sign = "u" if i.predicate.startswith("u") else "i"
    return reduce_all(
        e, what, kind, sign if not isinstance(i.type, FloatType) else "f", e.vector(i.operands[1])
    )


def _results(e: Emitter, kind: str) -> str:
    total = e.alloca(e.vt(kind), "old")
    e.do(f"store {e.vt(kind)} zeroinitializer, ptr {total}")
    return total


def _keep(e: Emitter, total: str, kind: str, lane: str, value: str) -> None:
    at = e.put(f"getelementptr {kind}, ptr {total}, i32 {lane}")
    e.do(f"store {kind} {value}, ptr {at}")


def cmpxchg(e: Emitter, i: Instruction) -> None:
    pointer, expected, new = i.operands
    assert isinstance(i.type, StructType) and isinstance(new.type, IntType)
    kind, size = memory_type(new.type)
    place = resolve(e, pointer, size)
    pair, tail = f"{{ {kind}, i1 }}", order("cmpxchg", pointer)
    if e.width == 1:
        a, b = e.scalar(expected), e.scalar(new)

        def act() -> str:
            at = address(e, place.ptr, place.offset.base or "0")
            both = e.put(f"cmpxchg ptr {at}, {kind} {a}, {kind} {b} {tail}, align {size}")
            old = e.put(f"extractvalue {pair} {both}, 0")
            won = e.put(f"zext i1 {e.put(f'extractvalue {pair} {both}, 1')} to i64")
            wide = e.put(f"zext {kind} {old} to i128")
            high = e.put(f"shl i128 {e.put(f'zext i64 {won} to i128')}, 64")
            return e.put(f"or i128 {wide}, {high}")

        both = atomic_scalar(e, i, place, size, True, act, "i128")
        e.set(f"{i.name}#0", Val(kind, e.put(f"trunc i128 {both} to {kind}")))
        e.set(f"{i.name}#1", Val("i1", e.put(f"trunc i128 {e.put(f'lshr i128 {both}, 64')} to i1")))
        return
    mask = atomic_lanes(e, i, place, size, True)
    offsets, wants, news = (Lanes(e, v, False) for v in (place.offset, e.get(expected), e.get(new)))
    olds, wins = _results(e, kind), _results(e, "i8")
    for lane in e.lanes_loop(mask):
        at, a, b = address(e, place.ptr, offsets[lane]), wants[lane], news[lane]
        both = e.put(f"cmpxchg ptr {at}, {kind} {a}, {kind} {b} {tail}, align {size}")
        _keep(e, olds, kind, lane, e.put(f"extractvalue {pair} {both}, 0"))
        _keep(e, wins, "i8", lane, e.put(f"zext i1 {e.put(f'extractvalue {pair} {both}, 1')} to i8"))
    e.set(f"{i.name}#0", Val(kind, vec=e.put(f"load {e.vt(kind)}, ptr {olds}")))
    flags = e.put(f"load {e.vt('i8')}, ptr {wins}")
    e.set(f"{i.name}#1", Val("i1", vec=e.put(f"icmp ne {e.vt('i8')} {flags}, zeroinitializer")))
