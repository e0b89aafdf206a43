"""A recording as a CUDA graph: captured once, run with one call.

Buffers are on the GPU in any case. Arrays that are the caller's own have one place there for as long as the recording
lives; each run brings them in and takes back what was written.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metalloid.backends.backend import Recorded
from metalloid.backends.base import Guard
from metalloid.backends.cuda.code import Loaded
from metalloid.backends.cuda.driver import Gpu, Told
from metalloid.backends.cuda.launch import Room, fill, start
from metalloid.backends.cuda.memory import Memory, Mirror, Newer
from metalloid.backends.cuda.program import CudaProgram, places


@dataclass(frozen=True)
class _Prepared:
    recorded: Recorded
    program: CudaProgram
    code: Loaded
    room: Room


class Graph:
    """Launches in their order, each after the one before it has ended."""

    def __init__(self, launches: Sequence[Recorded], guard: bool, memory: Memory) -> None:
        self._memory, self._guard = memory, guard
        memory.gpu.enter()
        self._told = memory.gpu.told()
        self._mirrors: dict[Mirror, bool] = {}  # with whether a launch writes it
        self._staged: dict[tuple[int, int], list[Any]] = {}  # host, bytes: device, written
        self._keep: list[object] = []
        launches = [one for one in launches if 0 not in one.launch.grid]
        self._prepared = [self._prepare(one, number) for number, one in enumerate(launches)]
        self._executable = self._captured()
        weakref.finalize(self, _gone, memory.gpu, self._told, self._staged, self._executable)

    def _prepare(self, one: Recorded, number: int) -> _Prepared:
        program, launch, gpu = one.program, one.launch, self._memory.gpu
        assert isinstance(program, CudaProgram)
        addresses, lengths = places(launch, program.count, self._keep)
        code = program.pick(launch, self._guard, addresses, lengths, tuple(one.live))
        room = Room(self._told, program.shape(launch))
        found = []
        for index, (address, size) in enumerate(zip(addresses, lengths, strict=True)):
            if index in code.variant.inlined or not size:
                found.append(0)
            else:
                found.append(self._place(address, size, program.written[index], gpu))
        fill(room, code, found, addresses, lengths)
        return _Prepared(one, program, code, room)

    def _place(self, address: int, size: int, written: bool, gpu: Gpu) -> int:
        mirror = self._memory.find(address)
        if mirror is not None:
            if not mirror.device:
                mirror.device = gpu.take(mirror.size)
            self._mirrors[mirror] = self._mirrors.get(mirror, False) or written
            return mirror.device + (address - mirror.host)
        for (start_, length), (device, _) in self._staged.items():
            if start_ <= address and address + size <= start_ + length:
                self._staged[start_, length][1] |= written
                return int(device) + (address - start_)
        self._staged[address, size] = [gpu.take(size), written]
        return int(self._staged[address, size][0])

    def _captured(self) -> Any:
        def launches() -> None:
            for number, one in enumerate(self._prepared):
                shape = one.program.shape(one.recorded.launch)
                start(self._memory, one.code, shape, one.room, number)

        return self._memory.gpu.captured(launches)

    def run(self) -> None:
        gpu = self._memory.gpu
        gpu.enter()
        for mirror in self._mirrors:
            if mirror.newer is Newer.HOST:
                gpu.upload(mirror.device, mirror.host, mirror.size)
                if not mirror.watched:
                    mirror.newer = Newer.SAME
        for (host, size), (device, _) in self._staged.items():
            gpu.upload(device, host, size)
        gpu.replay(self._executable)
        gpu.wait()
        for mirror, written in self._mirrors.items():
            if written and mirror.watched:
                gpu.download(mirror.host, mirror.device, mirror.size)
            elif written:
                mirror.newer = Newer.DEVICE
        for (host, size), (device, written) in self._staged.items():
            if written:
                gpu.download(host, device, size)
        if self._told.fault.taken:
            one = self._prepared[self._told.fault.number]
            one.program.finish(self._told, one.code, one.recorded.launch, None)


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


def _gone(gpu: Gpu, told: Told, staged: dict[tuple[int, int], list[Any]], executable: Any) -> None:
    gpu.untold(told)
    for (_, size), (device, _) in staged.items():
        gpu.give_back(device, size)
    gpu.forget(executable)
