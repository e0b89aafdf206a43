"""Positions that took each other's place: the thread's in the grid, in its threadgroup, and the threadgroup's.

Indices that are made of the wrong one stay inside bounds as often as not, and leave an output written in part. What
an address is made of, and who stored there, tells which was meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from metalloid.backends.observe import Record
from metalloid.checker.case import Case
from metalloid.checker.code import LANE, LOCAL_LOAD, SIMD_RESULT, THREAD
from metalloid.checker.guards import buffers_of, stores_to
from metalloid.checker.rules.meant import inputs, numbers
from metalloid.ir.intrinsics import short
from metalloid.ir.module import Instruction
from metalloid.ir.values import Int, Local, Value

GRID, GROUP = "thread_position_in_grid", "threadgroup_position_in_grid"
_TOGETHER = frozenset((SIMD_RESULT, LOCAL_LOAD, THREAD, LANE))
IN_SIMDGROUP = "thread_index_in_simdgroup"
LOCAL = ("thread_position_in_threadgroup", "thread_index_in_threadgroup")


def made_of(case: Case, address: Value) -> frozenset[str]:
    """The positions that an address is computed from, as far as no memory is in between."""
    found, seen, work = set[str](), set[str](), [address]
    while work:
        value = work.pop()
        if not isinstance(value, Local) or value.name in seen:
            continue
        seen.add(value.name)
        made = case.code.defined.get(value.name)
        if made is None or made.opcode == "load":
            continue
        if short(made.called) in (GRID, GROUP, *LOCAL):
            found.add(short(made.called))
        else:
            work += made.operands
    return frozenset(found)


def axes(defined: Mapping[str, Instruction], address: Value, *positions: str) -> frozenset[int]:
    """The axes of these positions that an address is computed from, in code whose values are defined so."""
    found, seen, work = set[int](), set[str](), [address]
    while work:
        value = work.pop()
        made = defined.get(value.name) if isinstance(value, Local) else None
        if made is None or made.name in seen or made.opcode == "load":
            continue
        seen.add(made.name)
        if short(made.called) in positions:
            axis = made.operands[0] if made.operands else None
            found.add(axis.value if isinstance(axis, Int) else 0)
        else:
            work += made.operands
    return frozenset(found)


def called(case: Case, *positions: str) -> str:
    """What the kernel calls a position: `'row', thread_position_in_grid,`."""
    names = {p.builtin: p.name for p in case.kernel.parameters if p.kind == "builtin"}
    position = next((p for p in positions if p in names), positions[0])
    return f"'{names[position]}' is {position}" if position in names else f"it is {position}"


def unwritten_hint(case: Case, index: int, total: int) -> str:
    """Why an output is written in part: its index goes by another position than was meant; "" where nothing says so."""
    launch = case.launch
    groups, each, threads = prod(launch.threadgroups), prod(launch.threadgroup), prod(launch.grid)
    stores = [s for s in stores_to(case, index) if s.count]
    if groups < 2 or each < 2 or not stores:
        return ""
    used = frozenset().union(*(made_of(case, s.pointer) for s in stores))
    ran = max(s.count for s in stores)
    if used and used <= {*LOCAL} and total >= threads:
        return (
            f"{called(case, *LOCAL)}, which begins at 0 in every threadgroup: all {groups} threadgroups write the same"
            f" {each} elements; {GRID} goes on from one to the next"
        )
    together = any(_TOGETHER & s.value for s in stores)  # a row for each threadgroup
    if used == {GROUP} and ran >= threads and total == threads and not together:
        return (
            f"{called(case, GROUP)}, the same for all {each} threads of a threadgroup, and all of them write there:"
            f" {GRID} gives each its own element"
        )
    if used == {GRID} and ran <= groups and total >= groups:
        return by_group_hint(case, each)
    return ""


def by_group_hint(case: Case, each: int) -> str:
    return (
        f"one thread of each threadgroup writes here, and {called(case, GRID)}, which moves on by {each} from one to"
        f" the next: {GROUP} counts threadgroups"
    )


def one_of_each_group(case: Case, index: int, total: int) -> bool:
    """Whether one thread of each threadgroup stores at its position in the grid, in an output of so many groups."""
    groups = prod(case.launch.threadgroups)
    stores = [s for s in stores_to(case, index) if s.count]
    reduces = any(n >= prod(case.launch.grid) for n in inputs(case))
    if groups != total or total < 2 or not stores or not reduces:
        return False
    return all(made_of(case, s.pointer) == {GRID} and s.count <= groups for s in stores)


def outside_hint(case: Case, record: Record) -> str:
    """An access outside that a position explains; "" where none does."""
    launch, memory, place = case.launch, record.memory, record.access.location
    groups, each = prod(launch.threadgroups), prod(launch.threadgroup)
    if memory is None or memory.kind != "buffer" or groups < 2 or each < 2 or place is None:
        return ""
    total = case.elements(memory.index)
    here = [s for s in stores_to(case, memory.index) if s.location == place]
    one = here and all(made_of(case, s.pointer) == {GRID} and s.count <= groups for s in here)
    if record.rule == "M102" and one and total == groups:
        return by_group_hint(case, each)
    addresses = [s.pointer for s in here] or [
        i.operands[0]
        for i in case.code.function.instructions()
        if i.opcode == "load"
        and case.code.location(i) == place
        and memory.index in buffers_of(case.code, i.operands[0])
    ]
    known = case.code.defined
    # A tile has the row of the one and the column of the other.
    both = addresses and all(axes(known, p, GRID) & axes(known, p, *LOCAL, IN_SIMDGROUP) for p in addresses)
    rows = total % groups == 0 and total // groups in numbers(case)  # one for each threadgroup
    if not both or (total > prod(launch.grid) and not rows):
        return ""
    return (
        f"{called(case, GRID)}, which counts threads, and the place in the threadgroup comes on top of it: for a row of"
        f" each threadgroup take {GROUP}"
    )
