"""The `metalcompute` package's interface: a device, kernels as functions, buffers that Python's buffers see.

A call of a function is queued at once and returns a handle; it has run when the handle is gone.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from typing import Any

import numpy as np

from metalloid.errors import MetalloidError
from metalloid.metal import settings
from metalloid.runtime.device import Device as OwnDevice

DeviceInfo = namedtuple("DeviceInfo", "deviceName recommendedWorkingSetSize maxTransferRate hasUnifiedMemory")


class error(Exception):  # its name there
    """What metalcompute raises."""


def get_devices() -> tuple[DeviceInfo, ...]:
    info = settings.device().info
    return (DeviceInfo(info.name, info.working_set, 0, info.unified_memory),)


class Buffer(np.ndarray[Any, Any]):
    """Bytes that kernels and Python see alike: an array of them, so that every buffer protocol has it."""

    _buffer: Any

    def __array_finalize__(self, other: object) -> None:
        self._buffer = getattr(other, "_buffer", None)

    def __str__(self) -> str:
        return f"metalcompute.Buffer(length={self.nbytes})"

    __repr__ = __str__


class Device:
    def __init__(self, index: int = -1) -> None:
        if index not in (-1, 0):
            raise error("Cannot create device")
        self._device: OwnDevice = settings.device()
        self._queue = self._device.queue("metalcompute")

    def kernel(self, program: str) -> Kernel:
        return Kernel(self, program)

    def buffer(self, given: Any) -> Buffer:
        """A number of bytes, or a copy of anything that has some."""
        data = _bytes_of(given)
        length = (
            int(given) if data is None and hasattr(given, "__int__") else -1 if data is None else len(data)
        )
        if length < 0:
            raise error("Unsupported input format")
        if length == 0:
            raise error("Could not make buffer")
        try:
            own = self._device.bytes(length)
        except MetalloidError:
            raise error("Could not make buffer") from None
        made = own.memory().view(Buffer)
        made._buffer = own
        if data is not None:
            own.memory()[:] = np.frombuffer(data, np.uint8)
        return made

    def _own(self, given: Any) -> Any:
        """The memory of an argument: a buffer's or a piece of it, else a copy. What numpy computes of one is none."""
        own = given._buffer if isinstance(given, Buffer) else None
        start = given.ctypes.data - own.address if own is not None else -1
        if own is None or not given.flags.c_contiguous or not 0 <= start <= own.nbytes - given.nbytes:
            return self.buffer(given)._buffer
        return own.view(np.uint8, start, given.nbytes) if given.nbytes != own.nbytes else own

    def __str__(self) -> str:
        return f"metalcompute.Device({self._device.info.name})"


class Kernel:
    def __init__(self, device: Device, program: str) -> None:
        self._device = device
        try:
            self._library = device._device.library(program, name="program_source")
        except MetalloidError as failed:
            raise error(str(failed)) from None

    def function(self, name: str) -> Function:
        if name not in self._library:
            raise error("Failed to find function")
        return Function(self, name)

    def __str__(self) -> str:
        return "metalcompute.Kernel"


class Function:
    def __init__(self, kernel: Kernel, name: str) -> None:
        self._device = kernel._device
        try:
            self._kernel = kernel._library.kernel(name)
        except MetalloidError as failed:
            raise error(str(failed)) from None

    def __call__(self, *arguments: Any) -> Run:
        if len(arguments) < 2:
            raise error("Buffer not found")
        if not hasattr(arguments[0], "__int__"):
            raise error("First argument should be an integer kernel count")
        return Run(self, int(arguments[0]), arguments[1:])

    def __str__(self) -> str:
        return "metalcompute.Function"


class Run:
    """A call that is under way. Letting go of it waits for its end."""

    def __init__(self, function: Function, count: int, buffers: tuple[Any, ...]) -> None:
        device = function._device
        self._kept = [device._own(one) for one in buffers]
        self._commands = device._queue.command_buffer()
        encoder = self._commands.compute_encoder(raw=True)
        encoder.set_pipeline(function._kernel)
        for index, buffer in enumerate(self._kept):
            encoder.set_buffer(buffer, 0, index)
        try:
            encoder.dispatch_threads(count, min(count, function._kernel.max_threads_per_threadgroup))
        except MetalloidError as failed:
            raise error(str(failed)) from None
        finally:
            encoder.end_encoding()
        self._commands.commit()

    def __del__(self) -> None:
        commands = self.__dict__.get("_commands")
        if commands is not None and commands.status != "not enqueued":
            try:
                commands.wait_until_completed()
            except MetalloidError as failed:
                print(f"metalcompute: {failed}", file=sys.stderr)

    def __str__(self) -> str:
        return "metalcompute.Run"


def _bytes_of(given: Any) -> bytes | None:
    try:
        return memoryview(given).tobytes()
    except TypeError:
        return None


class _Simple:
    """The functions of version 0.1: one device, one kernel, one input and one output."""

    def __init__(self) -> None:
        self._device: Device | None = None
        self._function: Function | None = None
        self._input: Buffer | None = None
        self._output: Buffer | None = None

    def init(self, index: int = -1) -> None:
        self._device = Device(index)

    def release(self) -> None:
        self.__init__()  # type: ignore[misc]  # as it was

    def compile(self, program: str, name: str) -> None:
        if self._device is None:
            raise error("Not ready to compile")
        self._function = self._device.kernel(program).function(name)

    def run(self, given: Any, found: Any, count: int) -> None:
        if self._device is None or self._function is None:
            raise error("Not ready to compute")
        self._input = self._device.buffer(given)
        self._output = self._device.buffer(memoryview(found).nbytes)
        self.rerun(count)
        memoryview(found).cast("B")[:] = self._output.data

    def rerun(self, count: int) -> None:
        if self._function is None or self._input is None:
            raise error("Not ready to run")
        self._function(count, self._input, self._output)


_simple = _Simple()
NAMES: dict[str, Any] = {
    "Device": Device,
    "error": error,
    "get_devices": get_devices,
    **{name: getattr(_simple, name) for name in ("init", "release", "compile", "run", "rerun")},
}
