"""How weights lie in memory: plain numbers, or blocks of small integers with scales.

A tensor is a name, a format, a shape and the bytes of a mapped file; nothing is read before a kernel does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from metalloid.errors import ModelError

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Format:
    """`block` weights of a row take `size` bytes; plain formats have a dtype."""

    name: str
    block: int
    size: int
    dtype: np.dtype[Any] | None = None

    def nbytes(self, shape: tuple[int, ...]) -> int:
        return math.prod(shape) // self.block * self.size


def _plain(name: str, dtype: Any) -> Format:
    kind = np.dtype(dtype)
    return Format(name, 1, kind.itemsize, kind)


F32, F16, BF16 = _plain("f32", np.float32), _plain("f16", np.float16), _plain("bf16", ml_dtypes.bfloat16)
PACKED = _plain("u32", np.uint32)  # words of what is packed otherwise: see grouped.py
Q4_0, Q8_0 = Format("q4_0", 32, 18), Format("q8_0", 32, 34)
Q4_K, Q6_K = Format("q4_K", 256, 144), Format("q6_K", 256, 210)


@dataclass(frozen=True)
class Tensor:
    """Weights as they lie in their file; `data` is a view of its bytes."""

    name: str
    format: Format
    shape: tuple[int, ...]
    data: Array

    def array(self) -> Array:
        """The numbers of a plain tensor, without a copy where they are aligned."""
        dtype = self.format.dtype
        if dtype is None:
            raise ModelError(f"tensor '{self.name}' is {self.format.name}; plain numbers are needed here.")
        data = self.data if self.data.ctypes.data % dtype.itemsize == 0 else self.data.copy()
        return data.view(dtype).reshape(self.shape)


def check_size(where: str, name: str, format: Format, shape: tuple[int, ...], nbytes: int) -> None:
    """The bytes a tensor has must be those that its shape needs."""
    if shape and shape[-1] % format.block:
        raise ModelError(
            f"{where}: tensor '{name}' has rows of {shape[-1]}; {format.name} needs multiples of {format.block}."
        )
    wanted = format.nbytes(shape)
    if wanted != nbytes:
        raise ModelError(
            f"{where}: tensor '{name}' ({format.name}, shape {list(shape)}) needs {wanted} bytes; "
            f"the file has {nbytes} for it."
        )
