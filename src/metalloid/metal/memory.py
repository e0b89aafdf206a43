"""Buffers: bytes that kernels and the program share, and what `contents()` gives of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from metalloid.metal.objects import Labelled, NSObject
from metalloid.metal.structs import NSRange
from metalloid.runtime.buffer import Buffer

PRIVATE = 2  # MTLStorageModePrivate


class varlist:  # its name in PyObjC
    """A pointer as PyObjC gives it: `as_buffer(n)` is n bytes of memory, `[i]` one of them."""

    def __init__(self, memory: np.ndarray[Any, Any]) -> None:
        self._memory = memory

    def as_buffer(self, count: int) -> memoryview:
        """A view that reads and writes the memory itself."""
        if not 0 <= count <= self._memory.nbytes:
            raise ValueError(f"{count} bytes of a buffer of {self._memory.nbytes}")
        return self._memory.data[:count]

    def as_tuple(self, count: int) -> tuple[bytes, ...]:
        return tuple(bytes([value]) for value in self._memory[:count])

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return tuple(bytes([value]) for value in self._memory[at])
        return bytes([self._memory[at]])

    def __setitem__(self, at: Any, value: Any) -> None:
        self._memory[at] = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value

    @property
    def pointerAsInteger(self) -> int:
        return int(self._memory.ctypes.data)

    __pointer__ = pointerAsInteger

    def __int__(self) -> int:
        return self.pointerAsInteger


class MTLBuffer(Labelled):
    """Memory of a length in bytes."""

    PROPERTIES: ClassVar[dict[str, Any]] = {"purgeableState": 2}

    def __init__(
        self,
        device: NSObject,
        buffer: Buffer,
        options: int = 0,
        heap: NSObject | None = None,
        finished: Callable[[], object] | None = None,
    ) -> None:
        super().__init__()
        self._device, self._buffer, self._options, self._heap = device, buffer, int(options), heap
        self._finished = finished  # a deallocator

    def length(self) -> int:
        return self._buffer.nbytes

    allocatedSize = length

    def contents(self) -> varlist | None:
        """The memory; none of a private buffer, which only the device sees."""
        if self.storageMode() == PRIVATE:
            return None
        self._buffer.fresh = False
        return varlist(self._buffer.memory())

    def gpuAddress(self) -> int:
        return self._buffer.gpu_address

    def device(self) -> NSObject:
        return self._device

    def heap(self) -> NSObject | None:
        return self._heap

    def heapOffset(self) -> int:
        return 0 if self._heap is None else self._buffer.address - self._heap._heap._memory.address

    def resourceOptions(self) -> int:
        return self._options

    def storageMode(self) -> int:
        return self._options >> 4 & 15

    def cpuCacheMode(self) -> int:
        return self._options & 15

    def hazardTrackingMode(self) -> int:
        return self._options >> 8 & 3

    def didModifyRange_(self, found: NSRange) -> None:
        location, length = found
        if location + length > self.length():
            self._assert(
                f"range.location({location}) + range.length({length}) must be <= [buffer length]({self.length()})."
            )

    def setPurgeableState_(self, state: int) -> int:
        return 2

    def makeAliasable(self) -> None:
        """Others may be placed over it from now on: the heap gives its room away again."""
        if self._heap is not None:
            self._heap._heap.make_aliasable(self._buffer)

    def isAliasable(self) -> bool:
        return False

    def setLabel_(self, label: str | None) -> None:
        self._values["label"] = label
        self._buffer.label = label or ""

    def addDebugMarker_range_(self, name: str, found: NSRange) -> None:
        """Only debuggers show it."""

    def removeAllDebugMarkers(self) -> None:
        """There are none."""

    def newTextureWithDescriptor_offset_bytesPerRow_(self, *_: Any) -> None:
        self._assert("textures are not supported by metalloid; see docs/support.md")

    def _dealloc(self) -> None:
        self._buffer.release()
        if self._finished is not None:
            self._finished()


class MTLHeap(Labelled):
    """One allocation that buffers are placed in."""

    def __init__(self, device: NSObject, heap: Any, descriptor: Any) -> None:
        super().__init__()
        self._device, self._heap, self._descriptor = device, heap, descriptor

    def device(self) -> NSObject:
        return self._device

    def size(self) -> int:
        return int(self._heap.size)

    currentAllocatedSize = size

    def usedSize(self) -> int:
        return int(self._heap.used_size)

    def type(self) -> int:
        return int(self._descriptor.type())

    def storageMode(self) -> int:
        return int(self._descriptor.storageMode())

    def maxAvailableSizeWithAlignment_(self, alignment: int) -> int:
        return int(self._heap.max_available_size(alignment or 1))

    def newBufferWithLength_options_(self, length: int, options: int) -> MTLBuffer | None:
        if length > self._heap.max_available_size():
            return None
        return MTLBuffer(self._device, self._zeros(length), options, self)

    def newBufferWithLength_options_offset_(self, length: int, options: int, offset: int) -> MTLBuffer:
        if self.type() != 1:
            self._assert("heap type must be MTLHeapTypePlacement.")
        return MTLBuffer(self._device, self._zeros(length, offset), options, self)

    def _zeros(self, length: int, offset: int | None = None) -> Buffer:
        made: Buffer = self._heap.buffer(length, np.uint8, offset)
        if offset is None:
            made.numpy()[:] = 0
        return made

    def setPurgeableState_(self, state: int) -> int:
        return 2

    def _dealloc(self) -> None:
        self._heap.release()


def raw_bytes(value: Any, length: int, what: str) -> bytes:
    """The first bytes of anything that has some: bytes, arrays, ctypes, numpy."""
    try:
        data = memoryview(value).tobytes()
    except TypeError:
        raise TypeError(
            f"{what}: expected an object with the buffer interface, got {type(value).__name__}"
        ) from None
    if len(data) < length:
        raise ValueError(f"{what}: buffer too small: {len(data)} bytes, {length} asked for")
    return data[:length]
