"""Loads and stores, by how the addresses of the lanes lie.

uniform      one scalar access
contiguous   one vector access, masked where lanes are idle
pattern      the lanes' distances are known: see `patterns`
free         gather and scatter
"""

from __future__ import annotations

from metalloid.analysis.intervals import is_fixed
from metalloid.backends.cpu.lower.access import prefetch
from metalloid.backends.cpu.lower.access.atomic_guard import atomic_lanes, atomic_scalar
from metalloid.backends.cpu.lower.access.guard import (
    access_slowly,
    checked_mask,
    either,
    guarded_scalar,
    part_ways,
    spans,
    stop_unless,
)
from metalloid.backends.cpu.lower.access.lane_ranges import by_range, range_load, range_store
from metalloid.backends.cpu.lower.access.mem_ref import (
    MemRef,
    address,
    alignment,
    from_memory,
    memory_type,
    resolve,
    to_memory,
)
from metalloid.backends.cpu.lower.access.patterns import (
    Run,
    contiguous,
    fast_load,
    fast_store,
    gather,
    maskable,
    regular,
    scatter,
    storable,
)
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.backends.cpu.lower.ops.memory_orders import order
from metalloid.ir import Instruction
from metalloid.ir.types import PointerType


def load(e: Emitter, i: Instruction) -> None:
    kind, size = memory_type(i.type)
    place = resolve(e, i.operands[0], size)
    align = alignment(i, size)
    atomic, tail = (" atomic", f" {order('load', i.operands[0])}") if i.ordering else ("", "")
    if place.offset.uniform:
        fixed = ", !invariant.load !0" if is_fixed(i) and e.proved else ""
        assert place.offset.base is not None

        def read() -> str:
            at = address(e, place.ptr, place.offset.base or "0")
            return e.put(
                f"load{atomic} {kind}, ptr {at}{tail}, align {size if atomic else align}{fixed}", "ld"
            )

        guarded = atomic_scalar if i.ordering else guarded_scalar
        ref = guarded(e, i, place, size, False, read, kind)
        e.set(i.name, Val(lowered(i.type), base=from_memory(e, i.type, kind, ref, False)))
        return
    ref = (
        _lane_by_lane(e, i, place, kind, size) if i.ordering else vector_load(e, i, place, kind, size, align)
    )
    e.set(i.name, Val(lowered(i.type), vec=from_memory(e, i.type, kind, ref, True)))
    if not i.ordering:
        prefetch.ask(e, i, place, size)


def _lane_by_lane(e: Emitter, i: Instruction, place: MemRef, kind: str, size: int) -> str:
    mask = atomic_lanes(e, i, place, size, False)
    offsets = e.expand(place.offset)
    total, tail = e.alloca(e.vt(kind), "atomic"), order("load", i.operands[0])
    e.do(f"store {e.vt(kind)} zeroinitializer, ptr {total}")
    for lane in e.lanes_loop(mask):
        offset = e.put(f"extractelement {e.vt('i64')} {offsets}, i32 {lane}")
        at = address(e, place.ptr, offset)
        one = e.put(f"load atomic {kind}, ptr {at} {tail}, align {size}")
        where_to = e.put(f"getelementptr {kind}, ptr {total}, i32 {lane}")
        e.do(f"store {kind} {one}, ptr {where_to}")
    return e.put(f"load {e.vt(kind)}, ptr {total}")


def store(e: Emitter, i: Instruction) -> None:
    value, pointer = i.operands
    value_type = value.type
    kind, size = memory_type(value_type)
    place = resolve(e, pointer, size)
    align = alignment(i, size)
    if isinstance(value_type, PointerType):
        from metalloid.backends.cpu.lower.access.pointers import absolute

        vector = not e.get(value).uniform
        made = Val("i64", vec=absolute(e, value, True)) if vector else Val("i64", absolute(e, value, False))
    else:
        made = e.get(value)
    if place.offset.uniform:
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

        def write() -> str:
            at = address(e, place.ptr, place.offset.base or "0")
            e.do(f"store{atomic} {kind} {ref}, ptr {at}{tail}, align {size if atomic else align}")
            return ""

        guarded = atomic_scalar if i.ordering else guarded_scalar
        guarded(e, i, place, size, True, write)
        return
    vec = to_memory(e, value_type, kind, made.vec or e.expand(made), True)
    if i.ordering:
        mask = atomic_lanes(e, i, place, size, True)
        offsets, tail = e.expand(place.offset), order("store", pointer)
        for lane in e.lanes_loop(mask):
            offset = e.put(f"extractelement {e.vt('i64')} {offsets}, i32 {lane}")
            one = e.put(f"extractelement {e.vt(kind)} {vec}, i32 {lane}")
            e.do(f"store atomic {kind} {one}, ptr {address(e, place.ptr, offset)} {tail}, align {size}")
        return
    vector_store(e, i, place, kind, size, align, vec)


def vector_load(e: Emitter, i: Instruction, place: MemRef, kind: str, size: int, align: int) -> str:
    offset = place.offset
    if by_range(e, place, size):
        return range_load(e, i, place, kind, size, align)
    plan = None if e.out.continue_after_fault else regular(e, offset, size)
    if plan is not None and (e.mask is None or maskable(place, size)):
        if place.limit is None:
            return fast_load(e, place, plan, kind, size, align)
        if not place.search and place.check.base is not None:
            fine = spans(e, place)
            if e.mask is not None:
                return _with_slow_load(e, i, place, fine, plan, kind, size, align)
            if not e.out.robust:
                stop_unless(e, fine, i, place, size, False, [place.check])
                return fast_load(e, place, plan, kind, size, align)
            site, all_inside = e.out.site(i, place.root, size), plan
            return either(
                e,
                fine,
                kind,
                lambda: [fast_load(e, place, all_inside, kind, size, align)],
                lambda: [access_slowly(e, place, site, kind, align, None)],
            )[0]
    mask = checked_mask(e, i, place, size, False)
    return gather(e, place.ptr, e.expand(offset), mask, kind, align)


def _with_slow_load(
    e: Emitter, i: Instruction, place: MemRef, fine: str, plan: list[Run], kind: str, size: int, align: int
) -> str:
    site = e.out.site(i, place.root, size)
    good, bad, done, join = (e.fresh_label(x) for x in ("in", "out", "done", "join"))
    part_ways(e, place, fine, good, bad)
    slow = access_slowly(e, place, site, kind, align, None)
    e.do(f"br label %{join}")
    e.label(good)
    quick = fast_load(e, place, plan, kind, size, align)
    e.do(f"br label %{done}")
    e.label(done)  # a load may be several blocks
    e.do(f"br label %{join}")
    e.label(join)
    return e.put(f"phi {e.vt(kind)} [ {quick}, %{done} ], [ {slow}, %{bad} ]")


def vector_store(
    e: Emitter, i: Instruction, place: MemRef, kind: str, size: int, align: int, value: str
) -> None:
    val = place.offset
    if by_range(e, place, size):
        range_store(e, i, place, kind, size, align, value)
        return
    plan = None if e.out.continue_after_fault else regular(e, val, size)
    quick = plan is not None and (
        maskable(place, size) if e.mask is not None else contiguous(val.terms, size) or storable(plan, size)
    )
    if quick and plan is not None:
        if place.limit is None:
            fast_store(e, place, plan, kind, size, align, value)
            return
        if not place.search and place.check.base is not None:
            fine = spans(e, place)
            if e.mask is None and not e.out.robust:
                stop_unless(e, fine, i, place, size, True, [place.check])
                fast_store(e, place, plan, kind, size, align, value)
                return
            site = e.out.site(i, place.root, size, True)
            good, bad, join = (e.fresh_label(x) for x in ("in", "out", "join"))
            if e.mask is None:
                e.do(f"br i1 {fine}, label %{good}, label %{bad}, !prof !1")
                e.label(bad)
            else:
                part_ways(e, place, fine, good, bad)
            access_slowly(e, place, site, kind, align, value)
            e.do(f"br label %{join}")
            e.label(good)
            fast_store(e, place, plan, kind, size, align, value)
            e.do(f"br label %{join}")
            e.label(join)
            return
    mask = checked_mask(e, i, place, size, True)
    scatter(e, place.ptr, e.expand(val), mask, kind, align, value)
