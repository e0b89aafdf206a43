"""One launch on a GPU: memory there and back, the kernel, and what stopped it."""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np

from metalloid.backends.base import Launch
from metalloid.backends.cuda.driver import Gpu
from metalloid.backends.cuda.record import FaultRecord, LaunchRecord
from metalloid.errors import DeviceError

_STOPPING = 10.0  # seconds that a kernel has to notice that it should stop


class Running:
    """A launch with its memory on the GPU. `free` it, whatever happens."""

    def __init__(self, gpu: Gpu, launch: Launch) -> None:
        self._gpu, self._launch = gpu, launch
        self._record = LaunchRecord()
        self._taken: list[tuple[int, np.ndarray[Any, Any]]] = []
        self.addresses: dict[int, int] = {}
        if launch.resources:
            raise DeviceError(f"[launch {launch.kernel}] argument buffers are not supported on this device")

    def start(self, function: Any) -> None:
        launch, record = self._launch, self._record
        shared: dict[tuple[int, int], int] = {}
        for index, memory in launch.buffers.items():
            array = _bytes(memory)
            key = (array.ctypes.data, array.nbytes)
            if key not in shared:
                shared[key] = self._gpu.allocate(array.nbytes)
                self._taken.append((shared[key], array))
                self._gpu.upload(shared[key], array.ctypes.data, array.nbytes)
            record.buffers[index], record.lengths[index] = shared[key], array.nbytes
            self.addresses[index] = shared[key]
        zeros = (ctypes.c_char * (ctypes.sizeof(FaultRecord) + 16))()
        record.fault = self._gpu.allocate(len(zeros))
        record.cancel = record.fault + ctypes.sizeof(FaultRecord)
        self._gpu.upload(record.fault, ctypes.addressof(zeros), len(zeros))
        record.grid[:], record.size[:] = launch.grid, launch.threadgroup
        record.groups[:] = launch.threadgroups
        record.flat = int(any(g % s for g, s in zip(launch.grid, launch.threadgroup, strict=True)))
        for index, length in sorted(launch.threadgroup_memory.items()):
            record.local_offsets[index], record.local_lengths[index] = record.dynamic, length
            record.dynamic += -(-length // 16) * 16
        x, y, z = launch.threadgroup
        block = (x * y * z, 1, 1) if record.flat else launch.threadgroup
        self._gpu.launch(function, launch.threadgroups, block, record.dynamic, record)

    def wait(self, timeout: float | None) -> bool:
        """Until it ends; False where it was stopped because its time was up."""
        if timeout is None:
            self._gpu.wait()
            return True
        end = time.monotonic() + timeout
        while not self._gpu.done():
            if time.monotonic() > end:
                self._gpu.poke(self._record.cancel)
                end = time.monotonic() + _STOPPING
                while not self._gpu.done():
                    if time.monotonic() > end:
                        self._taken, self._record.fault = [], 0  # freeing them would wait for it
                        raise DeviceError(
                            f"[launch {self._launch.kernel}] still running after {timeout:g} s, and does not stop:"
                            " it waits where no loop of its own can be asked"
                        )
                    time.sleep(0.001)
                return False
            time.sleep(0.0002)
        return True

    def finish(self) -> FaultRecord | None:
        """Bring memory back; the fault that stopped it, if one did."""
        fault = FaultRecord()
        self._gpu.download(ctypes.addressof(fault), self._record.fault, ctypes.sizeof(fault))
        for address, array in self._taken:
            if array.flags.writeable:
                self._gpu.download(array.ctypes.data, address, array.nbytes)
        return fault if fault.taken else None

    def free(self) -> None:
        for address, _ in self._taken:
            self._gpu.free(address)
        if self._record.fault:
            self._gpu.free(self._record.fault)
        self._taken, self._record.fault = [], 0


def _bytes(memory: Any) -> np.ndarray[Any, Any]:
    if isinstance(memory, np.ndarray):
        return memory.reshape(-1).view(np.uint8)
    return np.frombuffer(memory, np.uint8)
