"""Arrays as the MLX form sees them: numpy's, or MLX's where it is installed. Neither knows of the other.

An input is bound as memory: an address, a length, and the strides where it is not row-contiguous. MLX arrays
give theirs through the buffer protocol, so nothing is copied that lies in rows.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import ml_dtypes
import numpy as np

from metalloid.errors import LaunchError

Scalar = bool | int | float
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_IN_PLACE = 1 << 20  # bytes from which an output is written where it will stay instead of being copied


@dataclass(frozen=True)
class Memory:
    """What a kernel is given for an array."""

    array: np.ndarray[Any, Any]  # contiguous bytes, all that the strides reach
    strides: tuple[int, ...]  # in elements


class Arrays(Protocol):
    """One kind of array."""

    def take(self, value: Any) -> Any:
        """A value that was passed as an input, as an array."""
        ...

    def name(self, dtype: Any) -> str:
        """MLX's name of a dtype."""
        ...

    def view(self, array: Any) -> np.ndarray[Any, Any]:
        """The same memory as a numpy array."""
        ...

    def output(self, shape: tuple[int, ...], dtype: np.dtype[Any], value: float | None) -> Any:
        """Memory for an output, filled with a value where there is one."""
        ...

    def finish(self, output: Any) -> Any:
        """An output as the caller gets it."""
        ...

    def rows_of(self, name: str) -> str:
        """What a caller writes to have an array in rows."""
        ...


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The numpy dtype of MLX's name for it."""
    return _BFLOAT16 if name == "bfloat16" else np.dtype(name.rstrip("_"))


def scalar(value: Scalar) -> np.ndarray[Any, Any]:
    """A Python number as MLX would make an array of it."""
    if isinstance(value, bool):
        return np.array(value, np.bool_)
    if isinstance(value, int):
        return np.array(value, np.int32 if -(1 << 31) <= value < 1 << 31 else np.int64)
    return np.array(value, np.float32)


def filling(value: float, dtype: np.dtype[Any]) -> bool | int | float:
    """An `init_value` as MLX has it: a float first, then the output's type, as a Mac's processor converts it. Types of
    8 and 16 bits have to hold it."""
    with np.errstate(over="ignore"):
        number = float(np.float32(value))
    if dtype.kind == "b":
        return bool(number)
    if dtype.kind not in "iu":
        return number
    if number != number:
        return 0
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if dtype.itemsize < 4 and not low <= number <= high:
        raise ValueError(f"[metal_kernel] init_value is {value!r}; {dtype} holds {low} to {high}.")
    return high if number >= high else low if number <= low else int(number)


def span(array: np.ndarray[Any, Any]) -> Memory:
    """All memory that a strided array reaches, from its first element on."""
    strides = tuple(s // array.itemsize for s in array.strides)
    if array.size == 0:
        return Memory(np.empty(0, array.dtype), strides)
    # Copied where the first element is not the lowest, which kernels would index below, and where strides count no
    # elements: a field of a record that is packed.
    if min(strides, default=0) < 0 or any(s % array.itemsize for s in array.strides):
        return span(np.ascontiguousarray(array))
    reach = 1 + sum((n - 1) * s for n, s in zip(array.shape, strides, strict=True))
    flat = np.lib.stride_tricks.as_strided(array, (reach,), (array.itemsize,))
    return Memory(flat, strides)


class NumpyArrays:
    """Arrays of numpy, and lists of numbers."""

    def take(self, value: Any) -> np.ndarray[Any, Any]:
        if isinstance(value, bool | int | float):
            return scalar(value)
        array = np.asarray(value)
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))

    def name(self, dtype: Any) -> str:
        return "bfloat16" if str(dtype) == "bfloat16" else np.dtype(dtype).name

    def view(self, array: Any) -> np.ndarray[Any, Any]:
        return np.asarray(array)

    def output(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], value: float | None
    ) -> np.ndarray[Any, Any]:
        return np.empty(shape, dtype) if value is None else np.full(shape, filling(value, dtype), dtype)

    def finish(self, output: Any) -> Any:
        return output

    def rows_of(self, name: str) -> str:
        return f"np.ascontiguousarray({name})"


class MlxArrays:
    """Arrays of MLX, evaluated."""

    def __init__(self, mx: Any) -> None:
        self.mx = mx
        self._names: dict[Any, str] = {}

    def take(self, value: Any) -> Any:
        if isinstance(value, self.mx.array):
            return value
        return scalar(value) if isinstance(value, bool | int | float) else self.mx.array(value)

    def name(self, dtype: Any) -> str:
        found = self._names.get(dtype)
        if found is None:
            found = self._names[dtype] = str(dtype).rsplit(".", 1)[-1]
        return found

    def view(self, array: Any) -> np.ndarray[Any, Any]:
        if isinstance(array, np.ndarray):
            return array
        if array.dtype != self.mx.bfloat16:
            return np.array(array, copy=False)
        halves = array.view(self.mx.uint16)  # numpy has no bfloat16 of its own
        self.mx.eval(halves)
        return np.array(halves, copy=False).view(_BFLOAT16)

    def output(self, shape: tuple[int, ...], dtype: np.dtype[Any], value: float | None) -> Any:
        if prod(shape) * dtype.itemsize < _IN_PLACE:
            return NUMPY.output(shape, dtype, value)
        start = 0 if value is None else filling(value, dtype)
        made = self.mx.full(shape, start, dtype=getattr(self.mx, dtype.name.replace("bool", "bool_")))
        self.mx.eval(made)
        return made

    def finish(self, output: Any) -> Any:
        return self.mx.array(output) if isinstance(output, np.ndarray) else output

    def rows_of(self, name: str) -> str:
        return f"mx.contiguous({name})"


NUMPY = NumpyArrays()
_mlx: list[MlxArrays] = []


def arrays_of(values: Sequence[Any], dtypes: Sequence[Any]) -> NumpyArrays | MlxArrays:
    """The kind of arrays of a call: MLX's as soon as one value or dtype is."""
    mx = sys.modules.get("mlx.core")
    if mx is None:
        return NUMPY
    for kind, given in ((mx.Dtype, dtypes), (mx.array, values)):
        for one in given:
            if isinstance(one, kind):
                if not _mlx:
                    _mlx.append(MlxArrays(mx))
                return _mlx[0]
    return NUMPY


def checked_shapes(name: str, shapes: Any) -> tuple[tuple[int, ...], ...]:
    """Output shapes as tuples of sizes."""
    made = []
    for shape in shapes:
        if not isinstance(shape, list | tuple) or not all(
            hasattr(n, "__index__") and n.__index__() >= 0 for n in shape
        ):
            raise LaunchError(f"[metal_kernel {name}] an output shape is {shape!r}; pass a tuple of sizes.")
        made.append(tuple(int(n) for n in shape))
    return tuple(made)
