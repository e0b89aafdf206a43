"""One launch on a GPU: its memory is found or brought there, the kernel runs, and what stopped it is told."""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from metalloid.backends.base import Triple
from metalloid.backends.cuda.code import PINNED, Loaded
from metalloid.backends.cuda.driver import Told
from metalloid.backends.cuda.memory import Memory, Mirror, Newer
from metalloid.backends.cuda.record import REGION, SLOTS, LaunchRecord
from metalloid.errors import DeviceError

_STOPPING = 10.0  # seconds that a kernel has to notice that it should stop
_move = ctypes.memmove
_FAULT = LaunchRecord.fault.offset
_REGIONS = LaunchRecord.regions.offset
_SPARE = LaunchRecord.spare.offset
_LOG = LaunchRecord.log.offset
_NUMBER = LaunchRecord.number.offset
_LENGTHS = LaunchRecord.lengths.offset
_DYNAMIC = LaunchRecord.dynamic.offset


_tell, _count = struct.Struct("2Q").pack_into, struct.Struct("I").pack_into


class Shape:
    """What launches of one size share: everything of the record but its memory."""

    __slots__ = ("local", "record", "sizes")

    def __init__(self, grid: Triple, groups: Triple, size: Triple, flat: bool, local: dict[int, int]) -> None:
        record = LaunchRecord()
        record.grid[:], record.groups[:] = grid, groups
        for index, length in sorted(local.items()):
            record.local_offsets[index], record.local_lengths[index] = record.dynamic, length
            record.dynamic += -(-length // 16) * 16
        self.record, self.local = bytes(record), int(record.dynamic)
        block = (size[0] * size[1] * size[2], 1, 1) if flat else size
        self.sizes = (*groups, *block, self.local)  # as the driver wants them


class Room:
    """A record that no launch uses just now."""

    __slots__ = ("address", "bytes", "holds", "local", "members", "pointers", "pointers_at", "told")

    def __init__(self, told: Told, shape: Shape) -> None:
        self.bytes = ctypes.create_string_buffer(shape.record, 4096)
        self.address = ctypes.addressof(self.bytes)
        self.pointers = (ctypes.c_void_p * 1)(self.address)
        self.pointers_at = ctypes.addressof(self.pointers)
        self.told = told
        self.local, self.members = shape.local, 1
        _tell(self.bytes, _FAULT, told.fault_address, told.cancel)

    def tell(self, told: Told, number: int) -> None:
        """Where the next launch says that it faulted, and its number there."""
        _tell(self.bytes, _FAULT, told.fault_address, told.cancel)
        _count(self.bytes, _NUMBER, number)

    def goes_on(self, spare: int) -> None:
        """Accesses outside are left out."""
        struct.pack_into("Q", self.bytes, _SPARE, spare)

    def says(self, log: int) -> None:
        """Messages go there."""
        struct.pack_into("Q", self.bytes, _LOG, log)


@lru_cache(maxsize=64)
def _packer(count: int) -> Any:
    return struct.Struct(f"{count}Q{_LENGTHS - 8 * count}x{count}Q").pack_into


def fill(
    room: Room, code: Loaded, found: Sequence[int], addresses: Sequence[int], lengths: Sequence[int]
) -> None:
    """Write a record: where memory lies on the GPU, and the arguments that travel with the launch."""
    _packer(len(found))(room.bytes, 0, *found, *lengths)
    if code.members != room.members:
        room.members = code.members
        _count(room.bytes, _DYNAMIC, room.local * room.members)
    for index, at, size in code.carried:
        _move(room.address + at, addresses[index], size)


@dataclass(frozen=True)
class Resource:
    """Memory that only pointers in memory lead to."""

    known: int  # the address in those pointers
    host: int
    size: int


class Bound:
    """The memory of one launch on the GPU."""

    __slots__ = ("_back", "_memory", "_staged", "addresses")

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.addresses: list[int] = []
        self._back: list[Mirror] = []  # what the host looks at while kernels run
        self._staged: list[
            tuple[int, int, int, bool]
        ] = []  # the caller's arrays: device, host, bytes, written

    def bind(
        self,
        room: Room,
        code: Loaded,
        addresses: Sequence[int],
        lengths: Sequence[int],
        written: Sequence[bool],
        resources: Sequence[Resource] = (),
    ) -> None:
        """Bring memory to the GPU where it is not there, and write the record."""
        count = len(addresses)
        addresses = [*addresses, *(r.host for r in resources)]
        lengths = [*lengths, *(r.size for r in resources)]
        written = [*written[:count], *(True for _ in resources)]
        inlined = code.variant.inlined
        found = self.addresses
        own: list[tuple[int, int, bool, int]] = []
        for index in inlined:  # before others: what is written counts as newer on the GPU from then on
            self._host(addresses[index])
        for index, (address, size) in enumerate(zip(addresses, lengths, strict=True)):
            if index in inlined:
                found.append(0)
                continue
            placed = self._memory.place(address, size, written[index]) if size else (0, None)
            if placed is None:
                own.append((address, size, written[index], index))
                found.append(0)
                continue
            found.append(placed[0])
            if placed[1] is not None:
                self._back.append(placed[1])
        if own:
            self._stage(own)
        fill(room, code, found[:count], addresses, lengths[:count])
        self._regions(room, resources, found[count:])

    def _host(self, address: int) -> None:
        mirror = self._memory.find(address)
        if mirror is not None and mirror.newer is Newer.DEVICE:
            self._memory.reveal(mirror)

    def _stage(self, own: list[tuple[int, int, bool, int]]) -> None:
        """Copies of the caller's arrays; those that overlap are one."""
        own.sort()
        gpu = self._memory.gpu
        start, end, much = 0, 0, False
        members: list[tuple[int, int]] = []
        for address, size, write, index in [*own, (1 << 63, 0, False, -1)]:
            if members and address >= end:
                below = start % 16  # a copy is as far from a multiple of 16 as what it is a copy of
                device = gpu.take(below + end - start) + below
                gpu.upload(device, start, end - start)
                self._staged.append((device, start, end - start, much))
                for at, member in members:
                    self.addresses[member] = device + (at - start)
                members, much = [], False
            if not members:
                start = end = address
            members.append((address, index))
            end, much = max(end, address + size), much or write

    def _regions(self, room: Room, resources: Sequence[Resource], found: Sequence[int]) -> None:
        """Tell the kernel where pointers may lead that it loads from memory."""
        if not resources:
            return
        rows = zip(resources, found, strict=True)
        table = b"".join(REGION.pack(at, r.size, r.known) for r, at in rows)
        host = ctypes.create_string_buffer(table, len(table))
        device = self._memory.gpu.take(len(table))
        self._memory.gpu.upload(device, ctypes.addressof(host), len(table))
        self._memory.gpu.wait()  # the table goes
        self._staged.append((device, ctypes.addressof(host), len(table), False))
        struct.pack_into("2Q", room.bytes, _REGIONS, device, len(resources))

    def finish(self) -> None:
        """Bring back what the host looks at."""
        gpu = self._memory.gpu
        for mirror in self._back:
            self._memory.take_back(mirror)
        for device, host, size, written in self._staged:
            if written:
                gpu.download(host, device, size)

    def free(self) -> None:
        for device, _, size, _ in self._staged:
            below = device % 16
            self._memory.gpu.give_back(device - below, below + size)
        self._staged = []


def start(
    memory: Memory, code: Loaded, shape: Shape, room: Room, number: int = 0, early: bool = False
) -> None:
    """`early`: it may begin before the launch before it has ended."""
    sizes = code.sizes(shape.sizes)
    if sizes[-1] > PINNED:
        memory.gpu.allow(code.function, sizes[-1])
    if number:
        struct.pack_into("I", room.bytes, _NUMBER, number)
    memory.gpu.launch(code.handle, sizes, room.pointers_at, early)


def wait(memory: Memory, told: Told, timeout: float | None, kernel: str) -> bool:
    """Until it ends; False where it was stopped because its time was up."""
    gpu = memory.gpu
    if timeout is None:
        gpu.wait()
        return True
    end = time.monotonic() + timeout
    while not gpu.done():
        if time.monotonic() > end:
            gpu.stop(told)
            end = time.monotonic() + _STOPPING
            while not gpu.done():
                if time.monotonic() > end:
                    raise DeviceError(
                        f"[launch {kernel}] still running after {timeout:g} s, and does not stop:"
                        " it waits where no loop of its own can be asked"
                    )
                time.sleep(0.001)
            return False
        time.sleep(0.0002)
    return True


assert SLOTS * 8 == _LENGTHS
