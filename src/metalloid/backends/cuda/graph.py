"""A recording as a CUDA graph: captured once, run with one call.

Buffers are on the GPU in any case. Arrays that are the caller's own have one place there for as long as the recording
lives; each run brings them in and takes back what was written. Small ones travel with the graph, through pinned memory,
and what launches only write of them is written there by the launches themselves.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from metalloid.backends.backend import Recorded
from metalloid.backends.base import Guard
from metalloid.backends.cuda.code import Loaded
from metalloid.backends.cuda.driver import Gpu, Told
from metalloid.backends.cuda.launch import Room, fill, start
from metalloid.backends.cuda.memory import Memory, Mirror, Newer
from metalloid.backends.cuda.program import CudaProgram, places

SMALL = 1 << 16  # bytes of arrays that travel with the graph
FEW_BYTES = 256  # of an array that is written across the bus, without a copy
FEW = 4  # times the threads that a GPU runs at once make a short launch


@dataclass(frozen=True)
class _Prepared:
    recorded: Recorded
    program: CudaProgram
    code: Loaded
    room: Room


@dataclass(frozen=True)
class _Chosen:
    """A launch whose code is known, and where its memory lies on the host."""

    recorded: Recorded
    program: CudaProgram
    code: Loaded
    addresses: list[int]
    lengths: list[int]

    def bound(self) -> Iterator[tuple[int, int, int]]:
        """Index, address and bytes of the arguments that the launch does not carry itself."""
        for index, (address, size) in enumerate(zip(self.addresses, self.lengths, strict=True)):
            if size and index not in self.code.variant.inlined:
                yield index, address, size


class Graph:
    """Launches in their order, each after the one before it has ended."""

    def __init__(self, launches: Sequence[Recorded], guard: bool, memory: Memory) -> None:
        self._memory, self._guard = memory, guard
        memory.gpu.enter()
        self._told = memory.gpu.told()
        self._mirrors: dict[Mirror, bool] = {}  # with whether a launch writes it
        self._staged: dict[tuple[int, int], int] = {}  # host, bytes: device
        self._back: dict[tuple[int, int], int] = {}  # the same for what launches write
        self._pinned: dict[tuple[int, int], int] = {}  # host, bytes of those that are small: pinned memory
        self._settled = -1  # the version of memory at which there is nothing to bring
        self._keep: list[object] = []
        launches = [one for one in launches if 0 not in one.launch.grid]
        self._touched = np.array(list(self._all_touched(launches)), np.uint64).reshape(-1, 5)
        chosen = [self._chosen(one, n, n > 0 and self._hurries(one)) for n, one in enumerate(launches)]
        self._stage(chosen)
        self._prepared = [self._prepare(one) for one in chosen]
        self._changed = [mirror for mirror, written in self._mirrors.items() if written]
        self._executable = self._captured()
        pinned = self._pinned.values()
        weakref.finalize(self, _gone, memory.gpu, self._told, self._staged, pinned, self._executable)

    def _all_touched(self, launches: Sequence[Recorded]) -> Iterator[tuple[int, int, int, bool, bool]]:
        """Memory that launches are given: its begin and end, which launch, and whether that writes and reads it."""
        for n, one in enumerate(launches):
            assert isinstance(one.program, CudaProgram)
            addresses, lengths = places(one.launch, one.program.count, self._keep)
            for index, (address, size) in enumerate(zip(addresses, lengths, strict=True)):
                if size:
                    at = self._memory.lies(address)
                    reads = index not in one.program.only_written
                    yield at, at + size, n, one.program.written[index], reads

    def _hurries(self, one: Recorded) -> bool:
        """Whether a launch begins before the one before it has ended. It waits in each of its threadgroups, which a
        short launch gains from and a long one loses by."""
        gpu = self._memory.gpu
        return gpu.overlaps and prod(one.launch.grid) <= FEW * gpu.threads

    def _quiet(self, n: int, address: int, size: int, written: bool) -> bool:
        """Whether launch `n` may touch memory while those before it run: none of the others writes there, and where
        this one does (`written`), none of them reads."""
        begin, end, which, writes, _ = self._touched.T
        there = (begin < address + size) & (end > address) & (which != n)
        return not (there & (writes | written).astype(bool)).any()

    def _chosen(self, one: Recorded, number: int, follows: bool) -> _Chosen:
        program, launch = one.program, one.launch
        assert isinstance(program, CudaProgram)
        addresses, lengths = places(launch, program.count, self._keep)
        quiet = frozenset(
            n
            for n, (a, s) in enumerate(zip(addresses, lengths, strict=True))
            if s and self._quiet(number, self._memory.lies(a), s, program.written[n])
        )
        early = quiet if follows else None
        code = program.pick(launch, self._guard, addresses, lengths, tuple(one.live), early)
        return _Chosen(one, program, code, addresses, lengths)

    def _prepare(self, chosen: _Chosen) -> _Prepared:
        room = Room(self._told, chosen.program.shape(chosen.recorded.launch))
        found = [0] * len(chosen.addresses)
        for index, address, size in chosen.bound():
            found[index] = self._place(address, size, chosen.program.written[index])
        fill(room, chosen.code, found, chosen.addresses, chosen.lengths)
        return _Prepared(chosen.recorded, chosen.program, chosen.code, room)

    def _stage(self, chosen: Sequence[_Chosen]) -> None:
        """Room on the GPU for arrays of the caller's own; what lies side by side on the host is brought at once, from a
        multiple of 16 on: each array is as far from one there as it is on the host."""
        wanted = sorted(
            {
                (address - address % 16, address + size)
                for one in chosen
                for _, address, size in one.bound()
                if self._memory.find(address) is None
            }
        )
        joined: list[tuple[int, int]] = []
        for start_, end in wanted:
            if joined and start_ <= joined[-1][1]:
                joined[-1] = joined[-1][0], max(end, joined[-1][1])
            else:
                joined.append((start_, end))
        for start_, end in joined:
            self._staged[start_, end - start_] = self._memory.gpu.take(end - start_)
            if end - start_ <= SMALL:
                self._pinned[start_, end - start_] = self._memory.gpu.pin(end - start_)

    def _written_across(self, address: int, size: int) -> bool:
        """Whether launches only write these few bytes, and are given nothing that overlaps them."""
        begin, end, _, _, reads = self._touched.T
        there = (begin < address + size) & (end > address)
        same = (begin == address) & (end == address + size) & (reads == 0)
        return size <= FEW_BYTES and bool(same[there].all())

    def _place(self, address: int, size: int, written: bool) -> int:
        mirror = self._memory.find(address)
        if mirror is not None:
            if not mirror.device:
                mirror.device = self._memory.gpu.take(mirror.size)
            self._mirrors[mirror] = self._mirrors.get(mirror, False) or written
            return mirror.device + (address - mirror.host)
        start_, length = next((s, n) for s, n in self._staged if s <= address and address + size <= s + n)
        device = self._staged[start_, length] + (address - start_)
        if written:
            if (pinned := self._waiting(address)) and self._written_across(address, size):
                device = pinned
            self._back[address, size] = device
        return device

    def _waiting(self, host: int) -> int:
        """Where memory of the host is pinned; 0: nowhere."""
        return next((at + host - s for (s, n), at in self._pinned.items() if s <= host < s + n), 0)

    def _captured(self) -> Any:
        gpu = self._memory.gpu

        def launches() -> None:
            for region, pinned in self._pinned.items():
                gpu.upload(self._staged[region], pinned, region[1])
            for number, one in enumerate(self._prepared):
                shape = one.program.shape(one.recorded.launch)
                early = one.code.variant.early is not None
                start(self._memory, one.code, shape, one.room, number, early)
            for (host, size), device in self._back.items():
                if (pinned := self._waiting(host)) and device != pinned:
                    gpu.fetch(pinned, device, size)

        return gpu.captured(launches)

    def run(self) -> None:
        gpu = self._memory.gpu
        gpu.enter()
        settled = self._settled == self._memory.version
        if not settled:
            self._bring()
        for (host, size), device in self._staged.items():
            if pinned := self._pinned.get((host, size), 0):
                ctypes.memmove(pinned, host, size)
            else:
                gpu.upload(device, host, size)
        gpu.replay(self._executable)
        gpu.wait()
        if not settled:
            self._take_back()
        for (host, size), device in self._back.items():
            if pinned := self._waiting(host):
                ctypes.memmove(host, pinned, size)
            else:
                gpu.download(host, device, size)
        if self._told.fault.taken:
            one = self._prepared[self._told.fault.number]
            one.program.finish(self._told, one.code, one.recorded.launch, None)

    def _bring(self) -> None:
        """What the host has changed of buffers."""
        for mirror in self._mirrors:
            self._memory.bring(mirror)

    def _take_back(self) -> None:
        """What the host looks at of buffers. Where it looks at none, there is nothing to do until it does."""
        version = self._memory.version
        for mirror in self._changed:
            if mirror.watched:
                self._memory.take_back(mirror)
            else:
                mirror.newer = Newer.DEVICE
        if not any(mirror.watched for mirror in self._mirrors):
            self._settled = version


class OneByOne:
    """Launches that a graph cannot hold: with pointers into other memory, messages, or accesses that are left out."""

    def __init__(self, launches: Sequence[Recorded], guard: Guard) -> None:
        self._launches, self._guard = launches, guard

    def run(self) -> None:
        for one in self._launches:
            one.program.run(one.launch, self._guard, on_log=one.on_log)


def captures(launches: Sequence[Recorded], guard: Guard) -> bool:
    """Whether a graph can hold them."""
    return all(
        isinstance(one.program, CudaProgram) and one.program.plain(one.launch, guard) for one in launches
    )


def _gone(
    gpu: Gpu, told: Told, staged: dict[tuple[int, int], int], pinned: Iterable[int], executable: Any
) -> None:
    gpu.untold(told)
    for host in pinned:
        gpu.unpin(host)
    for (_, size), device in staged.items():
        gpu.give_back(device, size)
    gpu.forget(executable)
