"""The oracle as an observer: every access of every thread is looked at, and noted where it is wrong.

The machine itself is the same one that runs kernels. Threads reach memory through the observer, which
answers a read outside with 0, drops a write outside, and keeps shadows: which bytes are defined, who wrote
them last, and (races.py) who may collide with whom.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from math import gcd
from typing import Any

import numpy as np

from metalloid.backends.base import SIMD_WIDTH, Launch
from metalloid.backends.interpret import simd
from metalloid.backends.interpret.memory import Object, Pointer
from metalloid.backends.interpret.notes import Notes, Site
from metalloid.backends.interpret.thread import Thread
from metalloid.backends.observe import Observation, Pointed, told_kind
from metalloid.backends.races import DEVICE, THREADGROUP, Clock, Event, Shadow
from metalloid.ir.intrinsics import MATRICES, SIMD_BARRIER
from metalloid.ir.module import Instruction, Module

_SEEN = ("buffer", "resource", "threadgroup", "variable")  # memory that threads share
_ALIGNED = (*_SEEN, "private")
_LOCAL = ("threadgroup", "variable")
_SCOPE_THREADGROUP, _SCOPE_DEVICE = 2, 3
MOST_CELLS = 2_000_000  # about a gigabyte


class Observer:
    """Sees one launch; `observation()` is what it has to say in the end."""

    def __init__(self, module: Module, launch: Launch, seconds: float) -> None:
        self.launch, self.stopped = launch, ""
        self.notes = Notes(module, launch)
        self.deadline, self.seconds = time.monotonic() + seconds, seconds
        self.clocks: dict[int, Clock] = {}
        granule = self.notes.granule
        self.device = Shadow(DEVICE, granule, self._fences)
        self.local = Shadow(THREADGROUP, granule, self._fences)
        self.defined: dict[Object, bytearray] = {}  # by byte; only where some may be undefined
        self.writers: dict[int, np.ndarray[Any, Any]] = {}
        self.readers: dict[int, np.ndarray[Any, Any]] = {}
        self.smallest: dict[int, int] = {}
        self.read_buffers: set[int] = set()
        self.threads = 0

    # Told by the scheduler.

    def begin(self, threads: Sequence[Thread]) -> None:
        """A threadgroup starts: its memory is undefined, and nothing of it has collided yet."""
        self.threads += len(threads)
        self.local = Shadow(THREADGROUP, self.notes.granule, self._fences)
        self.defined = {o: d for o, d in self.defined.items() if o.memory and o.memory.kind not in _LOCAL}
        for thread in threads:
            thread.load = partial(self._load, thread)
            thread.store = partial(self._store, thread)
            thread.load_bytes = partial(self._load_bytes, thread)
            thread.store_bytes = partial(self._store_bytes, thread)
            thread.fence = partial(self._fence, thread)  # type: ignore[method-assign]
            thread.left_array = partial(self._left_array, thread)  # type: ignore[method-assign]
            thread.aligned = lambda pointer, size, write: None  # told, and carried out

    def late(self) -> str:
        if len(self.device.cells) + len(self.local.cells) > MOST_CELLS:
            return "it touches more memory than the oracle can keep a shadow of"
        if time.monotonic() < self.deadline:
            return ""
        return f"still running after {self.seconds:g} s under the checker"

    def barrier(self, thread: Thread, flags: int) -> None:
        self._clock(thread).barrier(flags)

    def missed(
        self,
        thread: Thread,
        barrier: Instruction,
        missing: Sequence[tuple[Thread, Instruction | None]],
        everyone: int,
        passes: bool,
    ) -> None:
        """A barrier that `missing` have not reached: they have ended (None) or wait at another place. `passes`: GPUs
        count SIMD-groups that still run, and would go on."""
        absent, place = missing[0]
        returned = place is None
        reached = everyone - len(missing)
        detail = {"reached": reached, "threads": everyone, "returned": returned, "passes": passes}
        other = self.notes.access(
            absent, place or absent.branch, "the way taken by" if returned else "waits here:"
        )
        self.notes.add(
            "barrier not reached", self.notes.access(thread, barrier, "barrier"), other, detail=detail
        )

    def together(self, name: str, threads: Mapping[int, Thread], arrived: Mapping[int, Any]) -> None:
        """Lanes of a SIMD-group do something together."""
        if name == SIMD_BARRIER:
            first = next(iter(threads.values()))
            self._clock(first).simd_barrier(first.index // SIMD_WIDTH, next(iter(arrived.values()))[0])
            return
        matrix = name.startswith(MATRICES)
        absent = _first_absent(arrived) if matrix else simd.inactive(name, dict(arrived))
        for lane, read in absent.items():
            thread = threads[lane]
            access = self.notes.access(thread, thread.current, "read")
            exists = read < 32 and thread.index - lane + read < thread.group.count
            self.notes.add(
                "inactive lane",
                access,
                detail={"lane": lane, "read": read, "exists": exists, "matrix": matrix},
            )

    # Told by threads.

    def _load(self, thread: Thread, pointer: Pointer, size: int) -> int:
        if not self._reads(thread, pointer, size):
            return 0
        offset, data = pointer.offset, pointer.object.data
        return int.from_bytes(data[offset : offset + size], "little")

    def _load_bytes(self, thread: Thread, pointer: Pointer, size: int) -> bytes:
        if not self._reads(thread, pointer, size):
            return bytes(size)
        return bytes(pointer.object.data[pointer.offset : pointer.offset + size])

    def _store(self, thread: Thread, pointer: Pointer, size: int, value: int) -> None:
        self._store_bytes(thread, pointer, value.to_bytes(size, "little"))

    def _store_bytes(self, thread: Thread, pointer: Pointer, data: bytes) -> None:
        target, start, end = pointer.object, pointer.offset, pointer.offset + len(data)
        if self._writes(thread, pointer, data):
            target.data[start:end] = data

    def _fence(self, thread: Thread, flags: int, order: int, scope: int) -> None:
        if order and scope >= _SCOPE_THREADGROUP:
            self._clock(thread).fence(self._number(thread), flags, scope == _SCOPE_DEVICE)

    def _left_array(self, thread: Thread, size: int, index: int) -> None:
        access = self.notes.access(thread, thread.current, "access")
        self.notes.add(told_kind(size), access, detail={"index": index, "size": size})

    # What is noted.

    def _reads(self, thread: Thread, pointer: Pointer, size: int) -> bool:
        target, offset = pointer.object, pointer.offset
        site = self.notes.site(thread)
        if offset < 0 or offset + size > target.size:
            self.notes.wrong("read outside", thread, site, pointer, size, False)
            return False
        if target.memory is not None and target.memory.kind in _ALIGNED:
            self._aligned(thread, site, pointer, size, False)
        if target.memory is None or target.memory.kind not in _SEEN:
            return True
        if target.index is not None:
            self.read_buffers.add(target.index)
        if (key := _key(target)) is not None:
            self._mark(self.readers, target, offset, size, 1)
            self.smallest[key] = gcd(self.smallest.get(key, 0), size, offset)
        if not site.changes:  # an atomic change is one access: its write
            self._collisions(thread, site, pointer, size, None)
        defined = self._definedness(target)
        if (
            defined is not None
            and 0 in defined[offset : offset + size]
            and (not site.copies or not any(defined[offset : offset + size]))
        ):
            local = target.memory.kind in _LOCAL
            kind = "threadgroup read before write" if local else "device read before write"
            self.notes.wrong(kind, thread, site, pointer, size, False)
        return True

    def _writes(self, thread: Thread, pointer: Pointer, data: bytes) -> bool:
        target, offset, size = pointer.object, pointer.offset, len(data)
        site = self.notes.site(thread)
        self.notes.stored(site)
        if offset < 0 or offset + size > target.size:
            self.notes.wrong("write outside", thread, site, pointer, size, True)
            return False
        if target.constant or target.data.readonly:
            self.notes.wrong("write to an input", thread, site, pointer, size, True)
            return False
        if target.memory is not None and target.memory.kind in _ALIGNED:
            self._aligned(thread, site, pointer, size, True)
        if target.memory is None or target.memory.kind not in _SEEN:
            return True
        if target.index is not None and target.index in self.launch.inputs:
            self.notes.wrong("write to an input", thread, site, pointer, size, True)
        self._collisions(thread, site, pointer, size, data)
        defined = self._definedness(target)
        if defined is not None:
            defined[offset : offset + size] = b"\1" * size
        if (key := _key(target)) is not None:
            self.smallest[key] = gcd(self.smallest.get(key, 0), size, offset)
            self._mark(self.writers, target, offset, size, self._number(thread) + 1)
        return True

    def _collisions(
        self, thread: Thread, site: Site, pointer: Pointer, size: int, data: bytes | None
    ) -> None:
        target = pointer.object
        assert target.memory is not None
        local = target.memory.kind in _LOCAL
        shadow = self.local if local else self.device
        lanes = thread.index // SIMD_WIDTH
        who = self._number(thread), self._group(thread), lanes
        moment = self._clock(thread).now(lanes, THREADGROUP if local else DEVICE, who[0])
        event = Event(*who, site.number, data is not None, site.atomic, moment)
        address = (target.address if local else target.base) + pointer.offset
        if data is None:
            met = shadow.read(event, address, size)
        else:
            had = target.data[pointer.offset : pointer.offset + size]
            met = shadow.write(event, address, size, bytes(had) == data)
        for (kind, _), other in met.items():
            self.notes.race(kind, event, other, pointer, size)

    def _aligned(self, thread: Thread, site: Site, pointer: Pointer, size: int, write: bool) -> None:
        align = site.source_align if site.copies and not write else site.align
        if align > 1 and (pointer.object.start + pointer.offset) % align:
            detail = {"align": align, "base": pointer.object.start % align}
            self.notes.wrong("misaligned", thread, site, pointer, size, write, detail)

    # Shadows and numbers.

    def _definedness(self, target: Object) -> bytearray | None:
        assert target.memory is not None
        local = target.memory.kind in _LOCAL
        if not local and not self._undefined(target):
            return None
        found = self.defined.get(target)
        if found is None:
            holes = None if local or target.index is None else self.launch.holes.get(target.index)
            started = bytearray(target.size) if holes is None else bytearray((~holes).tobytes())
            found = self.defined[target] = started
        return found

    def _undefined(self, target: Object) -> bool:
        if target.index is None:
            return target.base in self.launch.undefined_resources
        return target.index in self.launch.undefined or target.index in self.launch.holes

    def _mark(
        self, marks: dict[int, np.ndarray[Any, Any]], target: Object, offset: int, size: int, value: int
    ) -> None:
        """Put a value on all granules that an access touches."""
        key = _key(target)
        assert key is not None
        unit = self.notes.granule
        found = marks.get(key)
        if found is None:
            found = marks[key] = np.zeros(-(-target.size // unit), np.uint32)
        found[offset // unit : -(-(offset + size) // unit)] = value

    def _number(self, thread: Thread) -> int:
        x, y, z = thread.position
        across, down, _ = self.launch.grid
        return x + across * (y + down * z)

    def _group(self, thread: Thread) -> int:
        x, y, z = thread.group.position
        across, down, _ = self.launch.threadgroups
        return x + across * (y + down * z)

    def _clock(self, thread: Thread) -> Clock:
        number = self._group(thread)
        found = self.clocks.get(number)
        if found is None:
            found = self.clocks[number] = Clock()
        return found

    def _fences(self, group: int) -> int:
        return self.clocks[group].fences

    def _granule(self, index: int, size: int) -> int:
        """The smallest access to a buffer, in whole granules of the shadow."""
        unit, smallest = self.notes.granule, self.smallest.get(index, 0)
        return smallest if smallest and smallest % unit == 0 else unit

    def observation(self) -> Observation:
        sizes = {index: memoryview(memory).nbytes for index, memory in self.launch.buffers.items()}
        unit = self.notes.granule
        granules = {index: self._granule(index, size) for index, size in sizes.items()}

        def marks(of: dict[int, np.ndarray[Any, Any]], index: int) -> np.ndarray[Any, Any]:
            found = of.get(index)
            if found is None:
                return np.zeros(-(-sizes[index] // granules[index]), np.uint32)
            return found[:: granules[index] // unit]

        return Observation(
            self.notes.records(),
            {index: marks(self.writers, index) for index in sizes},
            granules,
            frozenset(self.read_buffers),
            self.notes.stores(),
            self.threads,
            self.stopped,
            {index: marks(self.readers, index) != 0 for index in sizes},
            {at: self._pointed(at, memoryview(memory).nbytes) for at, memory in self.launch.resources},
        )

    def _pointed(self, at: int, size: int) -> Pointed:
        """What happened to a resource."""
        nothing = np.zeros(-(-size // self.notes.granule), np.uint32)
        written, read = self.writers.get(at, nothing), self.readers.get(at, nothing)
        return Pointed(self.notes.granule, written != 0, read != 0)


def _first_absent(arrived: Mapping[int, Any]) -> dict[int, int]:
    """A lane that takes part in an operation of all, and the first one that does not."""
    missing = [lane for lane in range(SIMD_WIDTH) if lane not in arrived]
    return {min(arrived): missing[0]} if missing else {}


def _key(target: Object) -> int | None:
    """What marks are kept by: the index of a buffer, the address of a resource."""
    if target.index is not None or target.memory is None:
        return target.index
    return target.base if target.memory.kind == "resource" else None
