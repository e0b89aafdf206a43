"""Arrays that are used again: shadows and backups of checked launches.

New memory costs a page fault per 4 KiB, which is more than the check itself. Words of an earlier launch stay where they
are: serials go on growing, so whatever is older than a launch's start counts as nothing.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MOST = 1 << 27  # bytes that are kept
_AT_ONCE = 1 << 16  # words
_PIECE = 1 << 12  # lengths are rounded up to it, so that like sizes meet


@dataclass
class Piece:
    """An array of words; none is larger than `top`."""

    array: np.ndarray[Any, Any]
    top: int = 0
    address: int = 0

    def __post_init__(self) -> None:
        self.address = address_of(self.array)

    def clear(self) -> None:
        """Zeros, piece by piece: what nobody has touched takes no memory, and is left alone."""
        for first in range(0, len(self.array), _AT_ONCE):
            part = self.array[first : first + _AT_ONCE]
            if part.any():
                part[...] = 0
        self.top = 0


def address_of(array: np.ndarray[Any, Any]) -> int:
    """Quicker than numpy's own `ctypes`, which makes an object."""
    return int(array.__array_interface__["data"][0])


@dataclass
class Arena:
    """Pieces that nobody uses at the moment."""

    free: dict[tuple[str, int], list[Piece]] = field(default_factory=dict)
    kept: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, count: int, dtype: type[np.generic] | np.dtype[Any]) -> Piece:
        """An array of at least this length. A new one is all zero."""
        rounded = -(-count // _PIECE) * _PIECE
        with self.lock:
            found = self.free.get((np.dtype(dtype).char, rounded))
            if found:
                piece = found.pop()
                self.kept -= piece.array.nbytes
                return piece
        return Piece(np.zeros(rounded, dtype))

    def give(self, pieces: list[Piece], top: int) -> None:
        """Back, with words up to `top` in them."""
        with self.lock:
            for piece in pieces:
                if self.kept + piece.array.nbytes > MOST:
                    continue
                piece.top = max(piece.top, top)
                key = piece.array.dtype.char, len(piece.array)
                self.free.setdefault(key, []).append(piece)
                self.kept += piece.array.nbytes

    def clear(self) -> None:
        with self.lock:
            self.free.clear()
            self.kept = 0


ARENA = Arena()
