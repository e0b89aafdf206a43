"""The memory of a launch on the GPU. Pieces that overlap are one buffer there, as they are one memory here."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from metalloid.backends.base import Launch
from metalloid.backends.metal import objc
from metalloid.errors import DeviceError

Piece = tuple[int, int]  # address, bytes


class Placed:
    """`bindings` by index: Metal's buffer, and the offset that the argument starts at."""

    def __init__(self, launch: Launch) -> None:
        self._arrays = {i: _raw(memory) for i, memory in launch.buffers.items()}
        below = launch.below
        pieces = {
            i: (a.ctypes.data - below.get(i, 0), a.nbytes + below.get(i, 0)) for i, a in self._arrays.items()
        }
        self._taken = [(piece, _upload(piece)) for piece in merged(list(pieces.values()))]
        self._kept = {i for i in launch.buffers if i in launch.inputs}
        self.bindings: dict[int, tuple[Any, int]] = {}
        for index, array in self._arrays.items():
            start = array.ctypes.data
            (first, _), buffer = next(
                one for one in self._taken if one[0][0] <= start < one[0][0] + max(1, one[0][1])
            )
            self.bindings[index] = buffer, start - first

    def take_back(self) -> None:
        """What the kernel wrote; memory that is only read stays as it is, and may be read-only."""
        for (first, length), buffer in self._taken:
            inside = {i: a for i, a in self._arrays.items() if first <= a.ctypes.data < first + length}
            changed = [a for i, a in inside.items() if i not in self._kept]
            view = np.frombuffer(buffer.contents().as_buffer(length), np.uint8) if changed else None
            for array in changed:
                at = array.ctypes.data - first
                if array.flags.writeable and view is not None:
                    array[:] = view[at : at + array.nbytes]


def merged(pieces: list[Piece]) -> list[Piece]:
    """Pieces in order; those that overlap as one."""
    found: list[Piece] = []
    for start, length in sorted(pieces):
        if found and start < found[-1][0] + found[-1][1]:
            first, had = found[-1]
            found[-1] = first, max(had, start + length - first)
        else:
            found.append((start, length))
    return found


def _upload(piece: Piece) -> Any:
    start, length = piece
    data = ctypes.string_at(start, length) if length else b"\0"  # Metal has no empty buffers
    shared = objc.module().MTLResourceStorageModeShared
    made = objc.gpu().newBufferWithBytes_length_options_(data, len(data), shared)
    if made is None:
        raise DeviceError(f"[launch] out of memory: Metal has no {length} bytes.")
    return made


def _raw(memory: Any) -> np.ndarray[Any, Any]:
    if isinstance(memory, np.ndarray):
        return memory.reshape(-1).view(np.uint8)
    return np.frombuffer(memory, np.uint8)
