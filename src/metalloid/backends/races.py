"""Who collides with whom: shadow memory for races.

Every granule of memory remembers its last write and the reads since. Two accesses collide where different
threads make them, one of them writes, they are not both atomic, and nothing puts them in order.

    two threadgroups      nothing orders them, except a device-wide fence in each
    one threadgroup       a threadgroup barrier whose flags name this memory; any, between fences of this memory that
                          the first thread made before it and the second behind it
    one SIMD-group        a SIMD-group barrier does as well

A barrier without the flag stands between the two and does not order them: that has its own name. Lanes of a
SIMD-group that meet at different instructions come out right where lanes run in lockstep, which Metal does
not promise; at the same instruction lockstep is no help.

Threads that store the same bytes that another unordered store has just put there do no harm, and no machine
shows a difference: such a store is passed over. A read is not: it may come before the value is there, unless the
reading thread has stored it as well. Another value that is stored then collides with any of those that agreed: the
first of them, the latest of its SIMD-group and the latest of another one are remembered.

Atomic changes leave the last of them as the writer. A plain read by that same thread still races with the others':
the latest of another thread of the threadgroup and of another threadgroup are remembered in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

DEVICE, THREADGROUP = 1, 2  # bits of a barrier's flags
NOBODY: Mapping[int, int] = MappingProxyType({})


class Moment(NamedTuple):
    """How many barriers a thread has passed; `covered` counts those that order the memory in question."""

    passed: int = 0
    covered: int = 0
    passed_simd: int = 0
    covered_simd: int = 0
    fences: int = 0  # device-wide fences of the threadgroup
    time: int = 0  # barriers and fences of the threadgroup
    released: Mapping[int, int] = (
        NOBODY  # by thread: its last fence before a barrier that one was made behind
    )
    acquired: int = 0  # the time of the last barrier that this thread made a fence behind


class Event(NamedTuple):
    """One access, as far as races are concerned."""

    thread: int  # number in the grid
    group: int  # number of the threadgroup
    simd: int  # SIMD-group in the threadgroup
    site: int  # number of the instruction
    write: bool
    atomic: bool
    moment: Moment


@dataclass
class Clock:
    """Barriers passed by a threadgroup, and by each of its SIMD-groups."""

    passed: int = 0
    covered: dict[int, int] = field(default_factory=lambda: {DEVICE: 0, THREADGROUP: 0})
    simd_passed: dict[int, int] = field(default_factory=dict)
    simd_covered: dict[tuple[int, int], int] = field(default_factory=dict)
    fences: int = 0
    time: int = 0
    began: int = 0  # the time of the last barrier
    fenced: dict[int, dict[int, int]] = field(default_factory=lambda: {DEVICE: {}, THREADGROUP: {}})
    released: dict[int, tuple[int, Mapping[int, int]]] = field(default_factory=dict)
    acquired: dict[tuple[int, int], int] = field(default_factory=dict)

    def barrier(self, flags: int) -> None:
        self.time += 1
        self.began = self.time
        self.passed += 1
        for bit in self.covered:
            self.covered[bit] += bool(flags & bit)

    def simd_barrier(self, simd: int, flags: int) -> None:
        self.simd_passed[simd] = self.simd_passed.get(simd, 0) + 1
        for bit in (DEVICE, THREADGROUP):
            self.simd_covered[simd, bit] = self.simd_covered.get((simd, bit), 0) + bool(flags & bit)

    def fence(self, thread: int, flags: int, device_wide: bool) -> None:
        self.fences += bool(device_wide and flags & DEVICE)
        self.time += 1
        for bit, fenced in self.fenced.items():
            if not flags & bit:
                continue
            if self.released.get(bit, (-1, NOBODY))[0] != self.began:  # the first behind this barrier
                self.released[bit] = self.began, dict(fenced)
            fenced[thread] = self.time
            self.acquired[thread, bit] = self.began

    def now(self, simd: int, memory: int, thread: int = 0) -> Moment:
        """The moment for an access to memory of this kind: DEVICE or THREADGROUP."""
        return Moment(
            self.passed,
            self.covered[memory],
            self.simd_passed.get(simd, 0),
            self.simd_covered.get((simd, memory), 0),
            self.fences,
            self.time,
            self.released.get(memory, (0, NOBODY))[1],
            self.acquired.get((thread, memory), 0),
        )


def relation(first: Event, second: Event, memory: int, fences: Callable[[int], int]) -> str:
    """The kind of race between two accesses of which one writes; "" where there is none.

    `fences` tells how many device-wide fences a threadgroup has made by now.
    """
    if first.thread == second.thread or (first.atomic and second.atomic):
        return ""
    a, b = first.moment, second.moment
    if first.group != second.group:
        released = fences(first.group) > a.fences and b.fences > 0
        return "" if released else "race across threadgroups"
    if a.covered != b.covered or fenced(first, second):
        return ""
    plain = "race in threadgroup memory" if memory == THREADGROUP else "race in device memory"
    if first.simd != second.simd:
        return plain if a.passed == b.passed else "flags do not cover"
    if a.covered_simd != b.covered_simd:
        return ""
    if a.passed != b.passed or a.passed_simd != b.passed_simd:
        return "flags do not cover"
    return plain if first.site == second.site else "lockstep"


def fenced(first: Event, second: Event) -> bool:
    """Whether the first thread made a fence, then came a barrier, and the second made one behind it."""
    then, now = first.moment.time, second.moment
    return first.group == second.group and then < min(now.acquired, now.released.get(first.thread, 0))


@dataclass
class Cell:
    """One granule: the last write, who else stored the same, and the reads since, by thread."""

    writer: Event | None = None
    agreeing: set[int] = field(default_factory=set)
    near: Event | None = None  # the latest that agreed, of the writer's SIMD-group
    far: Event | None = None  # and of another
    readers: dict[int, Event] = field(default_factory=dict)

    def agree(self, event: Event) -> None:
        self.agreeing.add(event.thread)
        last = self.writer
        assert last is not None
        if (last.group, last.simd) != (event.group, event.simd):
            self.far = event
        elif last.thread != event.thread:
            self.near = event

    def change(self, event: Event) -> None:
        """A new last write. An atomic one after that of another thread leaves that thread's to plain reads."""
        last, near, far = self.writer, self.near, self.far
        self.writer, self.agreeing, self.near, self.far = event, {event.thread}, None, None
        if last is None or not (event.atomic and last.atomic):
            return
        if last.group != event.group:
            far, near = last, None
        elif last.thread != event.thread:
            near = last
        self.far = far if far is not None and far.group != event.group else None
        self.near = near if near is not None and near.thread != event.thread else None

    @property
    def writers(self) -> tuple[Event, ...]:
        """Those that have put there what is there, as far as they are remembered."""
        return tuple(event for event in (self.writer, self.far, self.near) if event is not None)


class Shadow:
    """The cells of one kind of memory."""

    def __init__(self, memory: int, granule: int, fences: Callable[[int], int]) -> None:
        self.memory, self.granule, self.fences = memory, granule, fences
        self.cells: dict[int, Cell] = {}

    def _cells(self, address: int, size: int) -> Iterator[Cell]:
        for number in range(address // self.granule, -(-(address + size) // self.granule)):
            cell = self.cells.get(number)
            if cell is None:
                cell = self.cells[number] = Cell()
            yield cell

    def read(self, event: Event, address: int, size: int) -> dict[tuple[str, int], Event]:
        """Remember a read; returns the accesses it collides with, by kind and instruction."""
        found: dict[tuple[str, int], Event] = {}
        for cell in self._cells(address, size):
            agreed = event.thread in cell.agreeing and len(cell.agreeing) > 1
            if agreed and any(self._race(writer, event) for writer in cell.writers):
                continue  # what it reads it has stored itself, as others have
            self._meet(found, cell.writers, event)
            cell.readers[event.thread] = event
        return found

    def write(self, event: Event, address: int, size: int, unchanged: bool) -> dict[tuple[str, int], Event]:
        """Remember a write, or an atomic change; `unchanged` where the bytes were there already."""
        found: dict[tuple[str, int], Event] = {}
        for cell in self._cells(address, size):
            last = cell.writer
            if (
                last is not None
                and unchanged
                and not (event.atomic or last.atomic)
                and any(self._race(writer, event) for writer in cell.writers)
            ):
                for reader in cell.readers.values():
                    if reader.thread != last.thread and reader.group == event.group:
                        self._meet(found, (reader,), event)
                cell.agree(event)
                continue
            beside = last is not None and last.atomic  # those are for plain reads
            self._meet(found, cell.writers[:1] if beside else cell.writers, event)
            for reader in cell.readers.values():
                self._meet(found, (reader,), event)
            if last is None or not (event.atomic and self._open(last, event)):
                cell.change(event)
            cell.readers = {}
        return found

    def _open(self, last: Event, event: Event) -> bool:
        """Whether an atomic change follows a plain one that others have yet to meet: it does not hide it."""
        a, b = last.moment, event.moment
        return (
            not last.atomic
            and last.group == event.group
            and a.covered == b.covered
            and not fenced(last, event)
        )

    def _race(self, first: Event, second: Event) -> str:
        return relation(first, second, self.memory, self.fences)

    def _meet(self, found: dict[tuple[str, int], Event], before: tuple[Event, ...], event: Event) -> None:
        """Note those that an access collides with, the first of each kind."""
        kinds = set()
        for first in before:
            kind = self._race(first, event)
            if kind and kind not in kinds:
                kinds.add(kind)
                found.setdefault((kind, first.site), first)
