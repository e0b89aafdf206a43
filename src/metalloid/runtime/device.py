"""Devices: they make libraries, buffers and queues. Each has one pool of memory, and nothing points back at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metalloid import backends, config
from metalloid.errors import DeviceError
from metalloid.once import once
from metalloid.runtime import trace
from metalloid.runtime.buffer import Buffer, dtype_of
from metalloid.runtime.information import (
    FAMILIES,
    LANGUAGE_VERSIONS,
    DeviceInfo,
    Timestamps,
    timestamps,
    total_memory,
    version_macro,
)
from metalloid.runtime.library import Library
from metalloid.runtime.places import MUCH, caller, note
from metalloid.runtime.pool import Pool
from metalloid.runtime.processor import Processor
from metalloid.runtime.whole import whole
from metalloid.source import Binary, Constant, MathMode, Source

if TYPE_CHECKING:  # a plain launch needs none of these
    from metalloid.runtime.events import SharedEvent
    from metalloid.runtime.fence import Fence
    from metalloid.runtime.heap import Heap
    from metalloid.runtime.indirect_commands import IndirectCommands
    from metalloid.runtime.queue import Queue

INLINE = (
    "kernel.metal"  # the name of a text that has none: messages then name the Python line it is written in
)
Shape = int | tuple[int, ...]
# Lists of Python numbers become what Metal calls float and int.
_PLAIN: dict[str, np.dtype[Any]] = {
    "f": np.dtype(np.float32),
    "i": np.dtype(np.int32),
    "b": np.dtype(np.bool_),
}


class Device(Processor):
    """A processor that runs kernels, and makes what they are launched with."""

    @property
    def max_threads_per_threadgroup(self) -> int:
        return self.backend.limits.threads_per_threadgroup

    @property
    def max_threadgroup_memory_length(self) -> int:
        """Bytes."""
        return self.backend.limits.threadgroup_memory

    @cached_property
    def pool(self) -> Pool:
        """The memory that buffers of this device are made of."""
        return Pool()

    def library(
        self,
        source: str | bytes | Path | Source,
        *,
        math: MathMode = "fast",
        defines: Mapping[str, object] | None = None,
        include: Sequence[str | Path] = (),
        constants: Mapping[str | int, Constant] | None = None,
        name: str = "",
        language_version: str = "",
    ) -> Library:
        """Compile MSL text, the file at a path, or a Source, which has its own settings.

        `language_version`, such as "3.0", is what `__METAL_VERSION__` says; the newest that there is by default.

        A `.metallib`, by its path or its bytes, is compiled already: the settings of a text mean nothing to it.
        """
        if isinstance(source, bytes | bytearray | memoryview):
            source = Binary.from_bytes(bytes(source), name or "library.metallib")
        if isinstance(source, Source):
            return Library(self, source, constants or {})
        given = {**(defines or {}), **version_macro(language_version)}
        settings: dict[str, Any] = {
            "math": math,
            "defines": {k: str(int(v) if isinstance(v, bool) else v) for k, v in given.items()},
            "include": tuple(Path(p) for p in include),
        }
        made = (
            Source.from_file(source, **settings)
            if isinstance(source, Path)
            else Source(source, name=name or INLINE, called=("", 0) if name else caller(), **settings)
        )
        return Library(self, made, constants or {})

    def buffer(self, data: Any, dtype: Any = None, copy: bool | None = None) -> Buffer:
        """A buffer with an array's contents: the array's own memory where that can be, else a copy.

        `copy=True` always copies; `copy=False` raises where sharing is not possible.
        """
        there = self.backend.taken(data)
        if there is not None and copy is not True:
            return Buffer(there, self, shared=True)
        array = np.asarray(data, None if dtype is None else dtype_of(dtype))
        dtype_of(array.dtype)
        if dtype is None and not isinstance(data, np.ndarray | np.generic | Buffer):
            array = _plain(array)
        shareable = (
            self.backend.unified
            and array is data
            and array.flags.c_contiguous
            and array.flags.writeable
            and array.flags.aligned
        )
        if shareable and not copy:
            return Buffer(array, self, shared=True)
        if copy is False and not self.backend.unified:
            raise DeviceError(
                f"[buffer] copy=False, and {self.name} has memory of its own: arrays are copied."
            )
        if copy is False:
            raise DeviceError(
                "[buffer] copy=False, and this memory cannot be shared: it has to be a numpy array of its final"
                " dtype, contiguous and writable."
            )
        if copy is None and self.backend.unified and isinstance(data, np.ndarray) and array.nbytes >= MUCH:
            note(
                "M505",
                "buffer",
                f"the array is copied, {array.nbytes} bytes: {_obstacle(data, array)}.",
                "Pass copy=True where a copy is meant, or an array of its final dtype that is contiguous and"
                " writable.",
            )
        made = self.empty(array.shape, array.dtype)
        made.numpy()[...] = array
        return made

    def empty(self, shape: Shape, dtype: Any = np.float32) -> Buffer:
        """An uninitialised buffer that starts on a page."""
        kind = dtype_of(dtype)
        wanted = shape_of(shape)
        memory = self.backend.adopt(self.pool.allocate(prod(wanted) * kind.itemsize))
        return Buffer(memory.view(kind).reshape(wanted), self, fresh=True)

    def zeros(self, shape: Shape, dtype: Any = np.float32) -> Buffer:
        made = self.empty(shape, dtype)
        made.numpy().reshape(-1).view(np.uint8).fill(0)
        return made

    def bytes(self, count: int, label: str = "") -> Buffer:
        """Bytes without a type, as Metal's own buffers are, all of them 0."""
        made = self.zeros(whole("buffer", "length", count), np.uint8)
        made.label = label
        return made

    def heap(self, size: int, label: str = "") -> Heap:
        """Memory that many buffers are placed in."""
        from metalloid.runtime.heap import Heap

        return Heap(self, self.empty(whole("heap", "size", size, 1), np.uint8), label)

    def shared_event(self, label: str = "") -> SharedEvent:
        from metalloid.runtime.events import SharedEvent

        return SharedEvent(label)

    def fence(self, label: str = "") -> Fence:
        from metalloid.runtime.fence import Fence

        return Fence(label)

    def indirect_commands(
        self, count: int, inherit_pipeline: bool = False, inherit_buffers: bool = False, label: str = ""
    ) -> IndirectCommands:
        """Room for dispatches that are encoded once and run again and again."""
        from metalloid.runtime.indirect_commands import IndirectCommands

        return IndirectCommands(count, inherit_pipeline, inherit_buffers, label)

    @cached_property
    def info(self) -> DeviceInfo:
        """What the device is, in Metal's words."""
        memory, limits = total_memory(), self.backend.limits
        return DeviceInfo(
            name=f"metalloid {self.name}",
            architecture=self.name,
            families=FAMILIES,
            language_version=LANGUAGE_VERSIONS[-1],
            unified_memory=True,
            working_set=memory * 3 // 4,
            max_buffer_length=memory // 2,
            max_threads_per_threadgroup=limits.threads_per_threadgroup,
            max_threadgroup_memory=limits.threadgroup_memory,
            simd_width=limits.simd_width,
            argument_buffers=2,
            registry_id=1 + backends.names().index(self.name),
        )

    def supports_family(self, name: str) -> bool:
        """Whether the device has the abilities of a family, such as "apple7", "common3" or "metal3"."""
        return name in self.info.families

    def timestamps(self) -> Timestamps:
        """The host's and the device's clock, in nanoseconds."""
        return timestamps()

    @property
    def current_allocated_size(self) -> int:
        """Bytes that buffers of this device hold right now."""
        return self.pool.stats().bytes_in_use

    def queue(self, label: str = "") -> Queue:
        """A queue whose command buffers run one after the other, in the background."""
        from metalloid.runtime.queue import Queue

        return Queue(self, label)

    def trace(self) -> trace.Trace:
        """`with device.trace() as trace:` records every step of every launch."""
        return trace.Trace()


def _plain(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers of Python's as MSL writes them: int and float have 32 bits."""
    to = _PLAIN.get(array.dtype.kind, array.dtype)
    made = array.astype(to)
    if array.dtype.kind == "i" and (lost := made != array).any():
        raise DeviceError(
            f"[buffer] {array[lost].flat[0]} does not fit {to}, which whole numbers become.\n"
            "Pass dtype='int64', or an array of the type that the kernel takes."
        )
    return made


def shape_of(shape: object) -> tuple[int, ...]:
    """A shape as numbers; one that is none is refused."""
    parts = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    return tuple(whole("buffer", "shape", part) for part in parts)


def _obstacle(data: np.ndarray[Any, Any], array: np.ndarray[Any, Any]) -> str:
    """Why the memory of an array cannot be the buffer's."""
    if data.dtype != array.dtype:
        return f"it holds {data.dtype}, and the buffer {array.dtype}"
    if not data.flags.c_contiguous:
        return f"it is not contiguous (shape {data.shape}, strides {data.strides})"
    return "it is not writable" if not data.flags.writeable else "it is not aligned"


@once
def _made(name: str) -> Device:
    return Device(name)


def devices() -> tuple[Device, ...]:
    """All devices of this machine, the default first."""
    found = (_made(name) for name in backends.names())
    return tuple(d for d in found if not d.backend.missing())


def device(name: str = "") -> Device:
    """The device of this name. METALLOID_DEVICE decides where none is given, else it is the CPU."""
    wanted = name or config.device() or backends.FIRST
    if wanted not in backends.names():
        raise DeviceError(
            f"there is no device '{wanted}'; this machine has {', '.join(d.name for d in devices())}."
        )
    found = _made(wanted)
    if why := found.backend.missing():
        raise DeviceError(f"the device '{wanted}' cannot be used here: {why}")
    return found
