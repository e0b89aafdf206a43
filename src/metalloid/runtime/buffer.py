"""Memory that kernels read and write: a numpy array at an address that suits vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

_PAGE = 4096  # misaligned buffers cost a quarter of the speed of 512-bit code


def aligned(shape: int | tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """An uninitialised array that starts on a page."""
    kind = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    raw = np.empty(count * kind.itemsize + _PAGE, np.uint8)
    start = -raw.ctypes.data % _PAGE
    return raw[start : start + count * kind.itemsize].view(kind).reshape(shape)


class Buffer:
    """A piece of memory; on the CPU the host sees the same bytes."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def numpy(self) -> np.ndarray[Any, Any]:
        """The contents, without a copy."""
        return self._array

    @property
    def address(self) -> int:
        """What a kernel sees as its address."""
        return int(self._array.ctypes.data)

    @property
    def nbytes(self) -> int:
        return int(self._array.nbytes)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._array.dtype

    def __repr__(self) -> str:
        return f"Buffer({self.nbytes} bytes: {self.dtype}{list(self.shape)})"
