"""Threads that meet at one place where no barrier helps.

They change it in several steps, `uint at = n[0]; n[0] = at + 1;` (the race of the reading with the writing may show
first; `updates.py` knows statements that do both), or their index is that of the lane.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from metalloid.backends.observe import Record
from metalloid.checker.case import Case
from metalloid.checker.code import GROUP, LANE, SIMDGROUP, THREAD, Code
from metalloid.checker.rules.lost import same_place
from metalloid.ir.dominance import dominators, post_dominators
from metalloid.ir.module import Instruction
from metalloid.ir.values import Local, Value

HINT = (
    "several threads change this one element of {}, each from what it read: no barrier helps; use one atomic"
    " (atomic_fetch_add_explicit and its like give back what was there), or let one thread do it for all"
)

GIVEN_BACK = (
    "every thread reads what it has just changed: use what the atomic gives back (was = {}(...)), the value before its"
    " own change, which no other thread comes between; a read behind it, atomic_load_explicit as well, may see the"
    " changes of others"
)

LANES = (
    "its index is that of the lane, which starts again in every SIMD-group of 32 threads: thread_index_in_threadgroup"
    " is another one for each thread; or give each SIMD-group a part of {} of its own"
)


def by_lane(case: Case, record: Record) -> bool:
    """Whether two threads write at one place whose index knows the lane and not the SIMD-group."""
    places = {a.location for a in (record.access, record.other) if a is not None and a.what == "write"}
    if len(places) != 1 or record.other is None:
        return False
    pointers = (i.operands[1] for i in _stores(case) if case.code.location(i) in places)
    known = [case.code.of(pointer) for pointer in pointers]
    return bool(known) and all(LANE in of and not of & {THREAD, SIMDGROUP} for of in known)


def _stores(case: Case) -> list[Instruction]:
    return [i for i in case.code.function.instructions() if i.opcode == "store"]


def changed_by_several(case: Case, record: Record) -> bool:
    """Whether the write of a race changes what was read there, at a place that is the same for all threads of a
    threadgroup, and more than one of them has done it."""
    places = {a.location for a in (record.access, record.other) if a is not None and a.what == "write"}
    place = places.pop() if len(places) == 1 else None
    if place is None:
        return False
    ran = case.observation.stores.get(place, 0)
    if ran <= prod(case.launch.threadgroups):
        return False
    return any(_changes(case.code, i) for i in _stores(case) if case.code.location(i) == place)


def reads_what_it_changed(case: Case, record: Record) -> bool:
    """Whether every thread that makes the atomic change of a race also makes its read, behind it and of the same place,
    and nobody uses what the atomic gave back: that is what it wanted to know."""
    code, sides = case.code, {a.what: a.location for a in (record.access, record.other) if a is not None}
    before, after = dominators(code.function), post_dominators(code.function)
    at = [(b.name, i) for b in code.function.blocks for i in b.instructions]
    changes = [(b, i) for b, i in at if i.opcode == "atomicrmw" and code.location(i) == sides.get("atomic")]
    reads = [(b, i) for b, i in at if i.opcode == "load" and code.location(i) == sides.get("read")]
    used = {name for _, i in at for name in i.uses}
    return bool(changes and reads) and all(
        change.name not in used
        and same_place(code, change.operands[0], read.operands[0])
        and before.dominates(there, here)
        and after.dominates(here, there)
        for there, change in changes
        for here, read in reads
    )


def tests_then_writes(case: Case, record: Record) -> bool:
    """Whether a thread writes where it has just found something by the read of the race: `if (!table[h]) table[h] = k`.

    Two threads that find the same both write.
    """
    code, read = case.code, record.other.location if record.other else None
    for block in code.function.blocks:
        for store in block.instructions:
            if store.opcode == "store" and code.location(store) == record.access.location:
                loads = (i for condition in code.conditions(block) for i in _made_of(code, [condition.value]))
                mine = [i.operands[0] for i in loads if code.location(i) == read]
                if any(same_place(code, m, way) for m in mine for way in _ways(code, store.operands[1])):
                    return True
    return False


def _ways(code: Code, pointer: Value) -> list[Value]:
    """What a pointer may be: the values that come together in it behind a loop."""
    made = code.defined.get(pointer.name) if isinstance(pointer, Local) else None
    return [pointer, *(made.operands if made is not None and made.opcode == "phi" else ())]


def _made_of(code: Code, work: list[Value]) -> Iterator[Instruction]:
    """The loads that values are computed from."""
    seen: set[str] = set()
    while work:
        made = code.defined.get(one.name) if isinstance(one := work.pop(), Local) else None
        if made is None or made.name in seen:
            continue
        seen.add(made.name)
        if made.opcode == "load":
            yield made
        else:
            work += made.operands


def _changes(code: Code, store: Instruction) -> bool:
    """Whether the stored value comes from a load at the same place, which does not depend on the thread."""
    value, pointer = store.operands
    if code.of(pointer) - {GROUP}:
        return False
    return any(load.operands[0] == pointer for load in _made_of(code, [value]))
