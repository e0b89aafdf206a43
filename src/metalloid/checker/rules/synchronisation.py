"""M201-M206 but M204: accesses and barriers that are out of step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from metalloid.backends.observe import Access, Record
from metalloid.backends.races import DEVICE, THREADGROUP
from metalloid.checker.case import Case
from metalloid.checker.code import Barrier
from metalloid.checker.rules import nesting
from metalloid.checker.rules.one_place import (
    GIVEN_BACK,
    HINT,
    LANES,
    by_lane,
    changed_by_several,
    reads_what_it_changed,
    tests_then_writes,
)
from metalloid.checker.rules.updates import atomic_hint, update_at
from metalloid.findings import Finding
from metalloid.ir.cfg import graph
from metalloid.ir.debug import Location
from metalloid.ir.loops import loops

_LOCAL = "mem_flags::mem_threadgroup"
_DEVICE = "mem_flags::mem_device"
_FLAGS = {DEVICE: _DEVICE, THREADGROUP: _LOCAL, 4: "mem_flags::mem_texture"}


def races(case: Case) -> Iterator[Finding]:
    for record in case.records("M201", "M202", "M203", "M206"):
        record = _write_first(record)
        update = update_at(case, record)
        if update is not None and record.rule == "M206":  # lockstep would lose it as well
            local = _flag(record) == _LOCAL
            record = replace(record, kind=f"race in {'threadgroup' if local else 'device'} memory")
        message, hint = _SAY[record.rule](case, record)
        if update is None and _beside_atomics(record):
            where = "threadgroup" if _flag(record) == _LOCAL else "device"
            if record.rule == "M206":  # lanes in lockstep are no help
                record = replace(record, kind=f"race in {where} memory")
            message = f"a plain read of {case.called(record.memory)} beside atomic changes of it"
            hint = (
                "read it with atomic_load_explicit, which gives the value of some moment; for the final one read it"
                + (" behind a threadgroup_barrier" if where == "threadgroup" else " in another launch")
            )
            if reads_what_it_changed(case, record):
                hint = GIVEN_BACK.format(_atomic_word(case, record))
        if update is not None:
            message = message.replace("without a barrier between them", "in an update that is not atomic")
            hint = atomic_hint(case, record, update)
        found = case.finding(record, message, hint)
        yield replace(found, detail={**found.detail, "barriers": _walls(case, record)})


def _beside_atomics(record: Record) -> bool:
    both = {record.access.what, record.other.what if record.other else ""}
    return both == {"atomic", "read"}


def _atomic_word(case: Case, record: Record) -> str:
    """The function that makes the atomic change, as the line has it."""
    place = next((a.location for a in (record.access, record.other) if a and a.what == "atomic"), None)
    found = re.search(r"\batomic_fetch_\w+", case.line(place))
    return found[0] if found else "atomic_fetch_add_explicit"


def _walls(case: Case, record: Record) -> list[int]:
    """The lines of the barriers that order this memory, in the function that both accesses are in."""
    places = _places(record)
    homes = {(place.file, place.function) for place in places}
    if len(places) < 2 or len(homes) > 1:
        return []
    bit = THREADGROUP if _flag(record) == _LOCAL else DEVICE
    standing = (b.location for b in case.code.barriers if b.flags & bit and b.location)
    return sorted({place.line for place in standing if (place.file, place.function) in homes})


def _write_first(record: Record) -> Record:
    """The same collision with the write as the access that is told about; of two, the one further down.

    Which of them came first is chance.
    """
    here, there = record.access, record.other
    if there is None or _order(there) <= _order(here):
        return record
    return replace(record, access=there, other=here)


def _order(access: Access) -> tuple[bool, int, int]:
    place = access.location
    return access.what != "read", place.line if place else 0, place.column if place else 0


def flags(case: Case) -> Iterator[Finding]:
    """M205, at the barrier where it can be told which one is meant."""
    for record in map(_write_first, case.records("M205")):
        name, flag = case.called(record.memory), _flag(record)
        barrier = _barrier(case, record)
        message = f"this barrier does not order {_pair(record)} of {name}: its flags lack {flag}"
        if barrier is None or barrier.location is None:
            hint = f"write threadgroup_barrier({flag}) between the two lines"
            yield case.finding(record, message.replace("this", "the"), hint)
        else:
            kept = [words for bit, words in _FLAGS.items() if barrier.flags & bit and words != flag]
            hint = f"write threadgroup_barrier({' | '.join([*kept, flag])})"
            place = barrier.location
            yield case.finding(record, message, hint, location=place, excerpt=case.line(place))


def _barrier(case: Case, record: Record) -> Barrier | None:
    """The barrier without the flag that stands between the two lines; of several, the first."""
    bit = THREADGROUP if _flag(record) == _LOCAL else DEVICE
    lacking = [b for b in case.code.barriers if not b.flags & bit and b.location]
    lines = sorted(p.line for p in _places(record))
    between = [b for b in lacking if lines and b.location and lines[0] <= b.location.line <= lines[-1]]
    return next(iter(between or lacking), None)


def _places(record: Record) -> list[Location]:
    both = (record.access.location, record.other.location if record.other else None)
    return [p for p in both if p is not None]


_LOOP = re.compile(r"\b(?:for|while|do|goto)\b")


def _flag(record: Record) -> str:
    return (
        _LOCAL if record.memory is not None and record.memory.kind in ("threadgroup", "variable") else _DEVICE
    )


def _pair(record: Record) -> str:
    """What the two do, in their order: "write after read"."""
    what, before = record.access.what, record.other.what if record.other else "access"
    return f"{what} and {before}"


def _between(case: Case, record: Record) -> str:
    """Where a barrier would stand."""
    here, there = record.access.location, record.other.location if record.other else None
    if here is None or there is None:
        return "between the two accesses"
    first, second = sorted((here.line, there.line))
    if first == second and nesting.under_if(case, here) and nesting.in_loop(case, here):
        return f"at the end of the loop around line {first}, outside any `if`"
    if first == second and _two_statements(case.line(here), here, there):
        and_loop = (
            ", outside any `if`, and at the end of the loop around them" if _in_a_loop(case, record) else ""
        )
        return f"between the two statements of line {first}{and_loop}"
    if first == second and not nesting.in_loop(case, here) and nesting.known(case, here):
        return f"between reading and writing in line {first}: read into a variable first, put the barrier, then write"
    if first == second:
        return (
            f"at the end of the loop around line {first}, outside any `if`; where there is no loop, read into"
            " a variable first, put the barrier, then write"
        )
    there_is = next((line for line in _walls(case, record) if first < line < second), 0)
    if there_is and not nesting.in_loop(case, here) and not _in_a_loop(case, record):
        return (
            f"before line {first}, outside any `if`: '{here.function}' runs more than once, and the one at line"
            f" {there_is} does not keep a run from the next"
        )
    if there_is:
        return (
            f"at the end of the loop around line {first}, outside any `if`: the one at line {there_is} does not keep"
            " a round from the next"
        )
    if not _one_after_the_other(case, here, there):
        return (
            f"before lines {first} and {second}, of which each thread takes one: read into a variable first, put the"
            " barrier, then write"
        )
    return f"between line {first} and line {second}, outside any `if`, and at the end of a loop around them"


def _one_after_the_other(case: Case, here: Location, there: Location) -> bool:
    """Whether a thread can come from one place to the other: not so in the two branches of an `if`."""
    code, edges = case.code, graph(case.code.function)
    homes = [
        {b.name for b in code.function.blocks if any(code.location(i) == p for i in b.instructions)}
        for p in (here, there)
    ]
    for start, end in (homes, homes[::-1]):
        seen, work = set(start), list(start)
        if seen & end:
            return True
        while work:
            for name in edges.successors[work.pop()]:
                if name in end:
                    return True
                if name not in seen:
                    seen.add(name)
                    work.append(name)
    return not all(homes)


def _two_statements(line: str, here: Location, there: Location) -> bool:
    """Whether both places are on one line that has no loop, with the end of a statement between them."""
    first, last = sorted((here.column, there.column))
    return ";" in line[first - 1 : last] and not re.search(r"\b(for|while|do)\b", line)


def _threadgroup_race(case: Case, record: Record) -> tuple[str, str]:
    name = case.called(record.memory)
    if changed_by_several(case, record) and not _in_a_loop(case, record):
        return (
            f"race in threadgroup memory: two threads {_verbs(record)} the same element of {name}",
            HINT.format(name),
        )
    if _both_write(record) and not _in_a_loop(case, record):
        return (
            f"race in threadgroup memory: two threads write the same element of {name}",
            LANES.format(name)
            if by_lane(case, record)
            else f"let one thread write each element of {name} (if (t == 0), or at its own index): no barrier helps"
            " where two threads write one place",
        )
    if line := _standing(record, case.code.simd_barriers):
        return (
            f"race in threadgroup memory: {_pair(record)} of {name} with nothing but a simdgroup_barrier between them",
            f"the simdgroup_barrier in line {line} orders lanes of one SIMD-group, and these threads are of two: write"
            f" threadgroup_barrier({_LOCAL}) there",
        )
    return (
        f"race in threadgroup memory: {_pair(record)} of {name} without a barrier between them",
        f"put threadgroup_barrier({_LOCAL}) {_between(case, record)}",
    )


def _standing(record: Record, barriers: Sequence[Location]) -> int:
    """The line of a barrier between the two accesses; 0 where none is."""
    places = _places(record)
    if len(places) < 2 or len({(p.file, p.function) for p in places}) > 1:
        return 0
    first, last = sorted(p.line for p in places)
    return next((b.line for b in barriers if b.file == places[0].file and first < b.line < last), 0)


def _device_race(case: Case, record: Record) -> tuple[str, str]:
    name = case.called(record.memory)
    return (
        f"race in device memory: two threads of a threadgroup {_verbs(record)} the same element of {name}",
        _device_hint(case, record),
    )


def _group_race(case: Case, record: Record) -> tuple[str, str]:
    name = case.called(record.memory)
    return (
        f"race across threadgroups: threads of two threadgroups {_verbs(record)} the same element of {name}",
        _device_hint(case, record),
    )


def _verbs(record: Record) -> str:
    both = {record.access.what, record.other.what if record.other else ""}
    return "write" if both == {"write"} else "read and write" if "read" in both else "change"


def _both_write(record: Record) -> bool:
    """Whether two threads write at one place of the source."""
    places = _places(record)
    return _verbs(record) == "write" and len(places) == 2 and places[0] == places[1]


def _also_written_by_two(case: Case, record: Record) -> bool:
    """Whether the write of a read and a write collides with itself, too."""
    place = record.access.location
    others = (_write_first(r) for r in case.records(record.rule) if r.memory == record.memory)
    return _verbs(record) == "read and write" and any(
        _both_write(r) and r.access.location == place for r in others
    )


def _in_a_loop(case: Case, record: Record) -> bool:
    """Whether the two may be in different rounds of a loop that somebody wrote: recursion is one, too, in the code."""
    if not _LOOP.search(case.kernel.source.text) and case.kernel.source.text:
        return False
    code, inside = case.code, loops(case.code.function).innermost
    return any(
        block.name in inside and any(code.location(i) == record.access.location for i in block.instructions)
        for block in code.function.blocks
    )


def _device_hint(case: Case, record: Record) -> str:
    name = case.name(record.memory)
    if changed_by_several(case, record) and not _in_a_loop(case, record):
        return HINT.format(f"'{name}'")
    if record.rule == "M202" and _both_write(record) and not _in_a_loop(case, record):
        return (
            f"let one thread own each element of '{name}', or use atomics: no barrier helps where two threads write"
            " one place"
        )
    if record.rule == "M203":
        line = _standing(record, [b.location for b in case.code.barriers if b.location])
        own = (
            f"the threadgroup_barrier in line {line} waits for its own threadgroup only, and " if line else ""
        )
        counted = any(
            i.opcode == "atomicrmw" and getattr(i.operands[0].type, "space", 0) == 1
            for i in case.code.function.instructions()
        )
        if counted and _verbs(record) == "read and write":
            return (
                "an atomic that counts threadgroups does not order other memory: put atomic_thread_fence("
                "mem_flags::mem_device, memory_order_seq_cst, thread_scope_device) before and behind it, or split the"
                " work into two launches"
            )
        return (
            f"{own}no barrier orders threadgroups: let one thread own each element of '{name}', use atomics,"
            " or split the work into two launches"
        )
    if _also_written_by_two(case, record) or tests_then_writes(case, record):
        return (
            f"let one thread own each element of '{name}', or test and write it with one"
            " atomic_compare_exchange_weak_explicit: two threads that read the same also write one place, and no"
            " barrier helps there"
        )
    if _both_write(record):  # in rounds of a loop
        return (
            f"let one thread own each element of '{name}', or use atomics; a barrier at the end of the loop helps only"
            " where a later round is meant to replace what an earlier one wrote"
        )
    return (
        f"put threadgroup_barrier({_DEVICE}) {_between(case, record)}; or let one thread own each element of '{name}',"
        " or use atomics"
    )


def _lockstep(case: Case, record: Record) -> tuple[str, str]:
    name, flag = case.called(record.memory), _flag(record)
    hint = f"put simdgroup_barrier({flag}) {_between(case, record)}"
    if record.other is not None and {record.access.what, record.other.what} == {"write"}:
        if _in_a_loop(case, record):
            hint = (
                f"the two may be of different rounds of the loop: put simdgroup_barrier({flag}) at its end, outside any"
                f" `if`; within one round let one lane write each element of {name}"
            )
            return (
                f"{_pair(record)} of {name} by two lanes of a SIMD-group, which need not run in lockstep",
                hint,
            )
        hint = (
            f"let one lane write each element of {name}: a barrier would only settle which of the two values stays."
            f" Where the second is meant to replace the first, {hint}"
        )
    return (
        f"{_pair(record)} of {name} by two lanes of a SIMD-group, which need not run in lockstep",
        hint,
    )


_SAY = {
    "M201": _threadgroup_race,
    "M202": _device_race,
    "M203": _group_race,
    "M206": _lockstep,
}
