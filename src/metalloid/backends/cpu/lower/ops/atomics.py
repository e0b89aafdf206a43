"""Atomic read-modify-write: one lane after the other, in order.

Where all lanes go to one address and nobody wants the old value, the lanes are folded first.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.access.atomic_guard import atomic_lanes, atomic_scalar
from metalloid.backends.cpu.lower.access.mem_ref import address, memory_type, resolve
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.backends.cpu.lower.ops.collective import reduce_all
from metalloid.backends.cpu.lower.ops.lanes_in_memory import Lanes
from metalloid.backends.cpu.lower.ops.memory_orders import order
from metalloid.backends.cpu.lower.ops.owned_atomics import as_row, lanes, numbered, owned, update, whole_steps
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
    tail = order("atomicrmw", pointer, e.out.counts)
    used = bool(e.function.users.get(i.name))
    counted = _table(e, pointer)
    start = counted or place.ptr
    if e.width == 1 or (
        place.offset.uniform and not used and i.predicate in FOLDS and lowered(operand.type) == kind
    ):
        value = e.scalar(operand) if e.width == 1 else _folded(e, i, kind)

        def act() -> str:
            at = address(e, start, place.offset.base or "0")
            if counted or owned(e, pointer, i.predicate):
                return update(e, i.predicate, at, kind, value, size)
            return e.put(f"atomicrmw {i.predicate} ptr {at}, {kind} {value} {tail}, align {size}")

        ref = atomic_scalar(e, i, place, size, True, act, kind)
        if e.width == 1:
            e.set(i.name, Val(kind, ref))
        return
    mask = atomic_lanes(e, i, place, size, True, whole_steps(e, pointer, size))
    plain = bool(counted) or owned(e, pointer, i.predicate)
    if plain and not used and as_row(e, i, place.offset, mask, start, size):
        return
    by_number = numbered(e, mask)
    offsets, values = Lanes(e, place.offset, by_number), Lanes(e, e.get(operand), by_number)
    total = _results(e, kind) if used else ""
    for lane in lanes(e, mask):
        at, one = address(e, start, offsets[lane]), values[lane]
        if plain:
            old = update(e, i.predicate, at, kind, one, size)
        else:
            old = e.put(f"atomicrmw {i.predicate} ptr {at}, {kind} {one} {tail}, align {size}")
        if used:
            _keep(e, total, kind, lane, old)
    if used:
        e.set(i.name, Val(kind, vec=e.put(f"load {e.vt(kind)}, ptr {total}")))


def _table(e: Emitter, pointer: Value) -> str:
    """The table that counts for the buffer of a pointer; "" where it has none."""
    root = e.roots.root(pointer)
    found = e.out.count_tables.get(root.index) if root is not None and root.kind == "buffer" else None
    return e.put(f"getelementptr i8, ptr %tg, i64 {found.offset}") if found is not None else ""


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
