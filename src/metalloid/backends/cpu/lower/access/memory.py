"""Loads and stores: resolve the place, make the plan, guard it, write it down.

`plan.Lie` lists how the addresses of lanes may lie; each has its own way to be loaded and stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from metalloid.analysis.intervals import is_fixed
from metalloid.backends.cpu import abi
from metalloid.backends.cpu.lower.access import called, held, prefetch, scopes
from metalloid.backends.cpu.lower.access.atomic_guard import atomic_lanes, atomic_scalar
from metalloid.backends.cpu.lower.access.gathers import looked_up, scatter
from metalloid.backends.cpu.lower.access.guard import (
    access_slowly,
    checked_mask,
    guarded_scalar,
    part_ways,
    settle,
    spans,
    stop_unless,
)
from metalloid.backends.cpu.lower.access.lane_ranges import range_load, range_store, steps_load, steps_store
from metalloid.backends.cpu.lower.access.lookups import look_up, lookup
from metalloid.backends.cpu.lower.access.masked_runs import load_runs, store_runs
from metalloid.backends.cpu.lower.access.masked_steps import load_steps
from metalloid.backends.cpu.lower.access.mem_ref import (
    MemRef,
    address,
    alignment,
    from_memory,
    memory_type,
    resolve,
    to_memory,
)
from metalloid.backends.cpu.lower.access.patterns import planned_load, planned_store
from metalloid.backends.cpu.lower.access.plan import AccessPlan, Lie, access_plan
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.backends.cpu.lower.ops.lanes_in_memory import Lanes
from metalloid.backends.cpu.lower.ops.memory_orders import order
from metalloid.backends.cpu.lower.ops.owned_atomics import owned, whole_steps
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import BUFFER
from metalloid.ir.types import PointerType
from metalloid.ir.values import Local, Value


def load(e: Emitter, i: Instruction) -> None:
    if held.is_held(e, i.operands[0]):
        held.load(e, i)
        return
    kind, size = memory_type(i.type)
    i = _as_plain(e, i, i.operands[0], size)
    place = resolve(e, i.operands[0], size)
    align = alignment(i, size)
    atomic, tail = (" atomic", f" {order('load', i.operands[0])}") if i.ordering else ("", "")
    plan = access_plan(e, place, size, False)
    if plan.lie is Lie.ONE:
        fixed = ", !invariant.load !0" if is_fixed(i) and e.proved else ""
        assert place.offset.base is not None
        if fixed and size == 4 and _is_start(e, i.operands[0]) and place.root.kind == "buffer":
            e.readable(abi.BUFFERS + 8 * place.root.index, kind, align)
        apart = "" if atomic or fixed else scopes.told(e, place)

        def read() -> str:
            at = address(e, place.ptr, place.offset.base or "0")
            said = f"align {size if atomic else align}{fixed or apart}"
            return e.put(f"load{atomic} {kind}, ptr {at}{tail}, {said}", "ld")

        guarded = atomic_scalar if i.ordering else guarded_scalar
        ref = guarded(e, i, place, size, False, read, kind)
        e.set(i.name, Val(lowered(i.type), base=from_memory(e, i.type, kind, ref, False)))
        return
    read_lanes = _lane_by_lane if i.ordering else _vector_load
    ref = read_lanes(e, i, place, plan, kind, size, align)
    e.set(i.name, Val(lowered(i.type), vec=from_memory(e, i.type, kind, ref, True)))
    if not i.ordering:
        prefetch.ask(e, i, place, plan)


def _as_plain(e: Emitter, i: Instruction, pointer: Value, size: int) -> Instruction:
    """Threadgroup memory belongs to one processor: an atomic load or store of it is like any other, where every lane is
    at a multiple of its size. Not in coroutines, where another gang may run between two loads of a loop."""
    if not i.ordering or e.out.suspends or not owned(e, pointer, "xchg") or not whole_steps(e, pointer, size):
        return i
    return replace(i, ordering="")


def _is_start(e: Emitter, pointer: Value) -> bool:
    """Whether a pointer is where a buffer begins: of a number that the launch has its own copy of, so much is there."""
    return isinstance(pointer, Local) and e.function.definitions[pointer.name].called == BUFFER


def _lane_by_lane(
    e: Emitter, i: Instruction, place: MemRef, _: AccessPlan, kind: str, size: int, align: int
) -> str:
    mask = atomic_lanes(e, i, place, size, False)
    offsets = Lanes(e, place.offset, False)
    total, tail = e.alloca(e.vt(kind), "atomic"), order("load", i.operands[0])
    e.do(f"store {e.vt(kind)} zeroinitializer, ptr {total}")
    for lane in e.lanes_loop(mask):
        at = address(e, place.ptr, offsets[lane])
        one = e.put(f"load atomic {kind}, ptr {at} {tail}, align {size}")
        where_to = e.put(f"getelementptr {kind}, ptr {total}, i32 {lane}")
        e.do(f"store {kind} {one}, ptr {where_to}")
    return e.put(f"load {e.vt(kind)}, ptr {total}")


def store(e: Emitter, i: Instruction) -> None:
    if held.is_held(e, i.operands[1]):
        held.store(e, i)
        return
    value, pointer = i.operands
    value_type = value.type
    kind, size = memory_type(value_type)
    i = _as_plain(e, i, pointer, size)
    place = resolve(e, pointer, size)
    align = alignment(i, size)
    if isinstance(value_type, PointerType):
        from metalloid.backends.cpu.lower.access.pointers import absolute

        vector = not e.get(value).uniform
        made = Val("i64", vec=absolute(e, value, True)) if vector else Val("i64", absolute(e, value, False))
    else:
        made = e.get(value)
    plan = access_plan(e, place, size, True)
    if plan.lie is Lie.ONE:
        ref = (
            made.base
            if made.uniform
            else e.put(
                f"extractelement {e.vt(made.type)} {e.vector(value) if made.vec is None else made.vec},"
                f" i32 {e.last(e.mask)}"
            )
        )
        assert ref is not None
        ref = to_memory(e, value_type, kind, ref, False)
        atomic, tail = (" atomic", f" {order('store', pointer)}") if i.ordering else ("", "")
        apart = "" if atomic else scopes.told(e, place)

        def write() -> str:
            at = address(e, place.ptr, place.offset.base or "0")
            e.do(f"store{atomic} {kind} {ref}, ptr {at}{tail}, align {size if atomic else align}{apart}")
            return ""

        guarded = atomic_scalar if i.ordering else guarded_scalar
        guarded(e, i, place, size, True, write)
        return
    vec = to_memory(e, value_type, kind, made.vec or e.expand(made), True)
    if i.ordering:
        mask = atomic_lanes(e, i, place, size, True)
        offsets, values = Lanes(e, place.offset, False), Lanes(e, Val(kind, vec=vec), False)
        tail = order("store", pointer)
        for lane in e.lanes_loop(mask):
            at, one = address(e, place.ptr, offsets[lane]), values[lane]
            e.do(f"store atomic {kind} {one}, ptr {at} {tail}, align {size}")
        return
    _vector_store(e, i, place, plan, kind, size, align, vec)


def _vector_load(
    e: Emitter, i: Instruction, place: MemRef, plan: AccessPlan, kind: str, size: int, align: int
) -> str:
    if plan.lie is Lie.RANGE:
        return range_load(e, i, place, kind, size, align)
    if plan.lie is Lie.STEPS:
        return steps_load(e, i, place, plan, kind, size, align)
    if plan.lie is Lie.SOME_RUNS:
        mask = checked_mask(e, i, place, size, False)
        assert mask is not None
        return load_runs(e, place, plan, mask, kind, size, align)
    if plan.lie is Lie.FREE:
        if called.is_called(e, place):
            return called.access(e, i, place, kind, size, align)
        if (found := lookup(e, i.operands[0], place)) is not None:
            return look_up(e, i, place, found, kind, size, align)
        mask = checked_mask(e, i, place, size, False)
        return looked_up(e, i.operands[0], place, mask, kind, align)

    def quick() -> str:
        if plan.lie is Lie.SOME_STEPS:
            return load_steps(e, place, plan, kind, size, align)
        return planned_load(e, place, plan, kind, size, align)

    return _guarded(e, i, place, size, False, quick, kind, align)


def _vector_store(
    e: Emitter, i: Instruction, place: MemRef, plan: AccessPlan, kind: str, size: int, align: int, value: str
) -> None:
    if plan.lie is Lie.RANGE:
        range_store(e, i, place, kind, size, align, value)
        return
    if plan.lie is Lie.STEPS:
        steps_store(e, i, place, plan, kind, size, align, value)
        return
    if plan.lie is Lie.SOME_RUNS:
        mask = checked_mask(e, i, place, size, True)
        assert mask is not None
        store_runs(e, place, plan, mask, kind, size, align, value)
        return
    if plan.lie is Lie.FREE:
        if called.is_called(e, place):
            called.access(e, i, place, kind, size, align, value)
            return
        mask = checked_mask(e, i, place, size, True)
        scatter(e, place.ptr, e.expand(place.offset), mask, kind, align, value)
        return

    def quick() -> str:
        planned_store(e, place, plan, kind, size, align, value)
        return ""

    _guarded(e, i, place, size, True, quick, kind, align, value)


def _guarded(
    e: Emitter,
    i: Instruction,
    place: MemRef,
    size: int,
    write: bool,
    quick: Callable[[], str],
    kind: str,
    align: int,
    value: str | None = None,
) -> str:
    """An access of all lanes at once, where all are inside; else a report, and the end, or one lane behind the other
    where some are idle or the guard is robust."""
    if place.limit is None:
        return quick()
    fine = spans(e, place)
    if e.mask is None and not e.out.robust:
        stop_unless(e, fine, i, place, size, write, [place.check])
        return quick()
    site = e.out.site(i, place.root, size, write)
    settle(e, place.check, place.offset)
    good, bad, done, join = (e.fresh_label(x) for x in ("in", "out", "done", "join"))
    if e.mask is None:
        e.do(f"br i1 {fine}, label %{good}, label %{bad}, !prof !1")
        e.label(bad)
    else:
        part_ways(e, place, fine, good, bad)
    slow = access_slowly(e, place, site, kind, align, value)
    e.do(f"br label %{join}")
    e.label(good)
    made = quick()
    e.do(f"br label %{done}")
    e.label(done)  # the quick way may be several blocks
    e.do(f"br label %{join}")
    e.label(join)
    return "" if write else e.put(f"phi {e.vt(kind)} [ {made}, %{done} ], [ {slow}, %{bad} ]")
