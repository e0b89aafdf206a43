"""Heaps: one allocation that many buffers are placed in, and that may lie over each other where that is asked for."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from metalloid.errors import DeviceError, LaunchError
from metalloid.runtime.buffer import Buffer, dtype_of
from metalloid.runtime.processor import Processor
from metalloid.runtime.whole import piece, whole

ALIGNMENT = 256  # bytes; that of a GPU's buffers


class Heap:
    """`heap.buffer(shape, dtype)` takes the first room that is free; with `offset` the room that is named."""

    def __init__(self, device: Processor, memory: Buffer, label: str = "") -> None:
        self.device, self.label = device, label
        self._memory = memory
        self._placed: list[tuple[int, int, weakref.ref[Buffer]]] = []

    @property
    def size(self) -> int:
        return self._memory.nbytes

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """All buffers that are in it, in the order of their addresses."""
        held = (reference() for _, _, reference in sorted(self._placed, key=lambda one: one[:2]))
        return tuple(buffer for buffer in held if buffer is not None and not buffer.released)

    @property
    def used_size(self) -> int:
        """Bytes that buffers hold."""
        return sum(size for _, size in self._taken())

    def max_available_size(self, alignment: int = ALIGNMENT) -> int:
        """The largest buffer that would still find room."""
        step = whole("heap", "alignment", alignment, 1)
        return max((end - -(-start // step) * step for start, end in self._gaps()), default=0)

    def buffer(
        self, shape: int | tuple[int, ...], dtype: Any = np.uint8, offset: int | None = None, label: str = ""
    ) -> Buffer:
        """An uninitialised buffer in the heap; `offset` places it, over others where it must."""
        kind = dtype_of(dtype)
        wanted = (shape,) if isinstance(shape, int) else tuple(shape)
        count = int(np.prod(wanted, dtype=np.int64)) * kind.itemsize
        if offset is None:
            start = self._room(count)
        else:
            start, _ = piece("heap", "heap", offset, count, self.size)
            if start % kind.itemsize:
                raise LaunchError(f"[heap] M306 offset {start} is no multiple of {kind.itemsize} bytes.")
        made = self._memory.view(kind, start, count)
        placed = Buffer(made.memory().reshape(wanted), self._memory.device, parent=self._memory)
        placed.label = label
        self._placed.append((start, max(count, 1), weakref.ref(placed)))
        return placed

    def make_aliasable(self, buffer: Buffer) -> None:
        """Let others be placed over a buffer that is still used."""
        self._placed = [one for one in self._placed if one[2]() is not buffer]

    def release(self) -> None:
        """Give the memory back; its buffers are gone with it."""
        self._memory.release()

    def _taken(self) -> list[tuple[int, int]]:
        self._placed = [one for one in self._placed if (held := one[2]()) is not None and not held.released]
        return sorted((start, size) for start, size, _ in self._placed)

    def _gaps(self) -> list[tuple[int, int]]:
        at, found = 0, []
        for start, size in self._taken():
            if start > at:
                found.append((at, start))
            at = max(at, start + size)
        return [*found, (at, self.size)] if at < self.size else found

    def _room(self, count: int) -> int:
        for start, end in self._gaps():
            first = -(-start // ALIGNMENT) * ALIGNMENT
            if first + count <= end:
                return first
        raise DeviceError(
            f"[heap] {count} bytes do not fit: of {self.size} bytes {self.used_size} are used, and the largest piece"
            f" that is free has {self.max_available_size()}."
        )

    def __repr__(self) -> str:
        return f"<heap{f' {self.label!r}' if self.label else ''}, {self.used_size} of {self.size} bytes used>"
