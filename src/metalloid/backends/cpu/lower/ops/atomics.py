"""Atomic read-modify-write: one lane after the other, in order.

Where all lanes go to one address and nobody wants the old value, the lanes are folded first; where they add whole
numbers and want it (slots of a list that grows), they add once, and each gets what the lanes before it have added.
"""

from __future__ import annotations

from functools import partial

from metalloid.backends.cpu.lower.access.atomic_guard import atomic_lanes, atomic_scalar
from metalloid.backends.cpu.lower.access.guard import only_where, settle
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address, memory_type, resolve
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.backends.cpu.lower.ops import lanes_again
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
        value = e.scalar(operand) if lone else _folded(e, i, kind)
        act = partial(_once, e, i, place, value, used)
        ref = atomic_scalar(e, i, place, size, True, act, kind if used else "")
        if used:
            e.set(i.name, Val(kind, ref))
        return
    if used and place.offset.uniform and i.predicate == "add" and lowered(operand.type) == kind:
        _counted(e, i, place)
        return
    mask = atomic_lanes(e, i, place, size, True, whole_steps(e, pointer, size))
    settle(e, place.offset, e.get(operand))
    copy = None if used else _copy(e, pointer)
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
        e, copy, lambda start: update(e, i.predicate, address(e, start, offset), kind, value, size), shared
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
