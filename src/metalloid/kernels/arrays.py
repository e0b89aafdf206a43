"""Arrays of numpy, MLX and PyTorch as the kernels see them: numpy views of the same memory.

`taken("rms_norm", x, weight)` gives the views and the way back, `give`: what came in as a tensor goes out as a
tensor. Nothing is copied on the way in. bfloat16, which numpy does not have, is ml_dtypes' kind.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NoReturn

import ml_dtypes
import numpy as np

from metalloid.errors import LaunchError
from metalloid.forms.mlx_arrays import MlxArrays, arrays_of, span
from metalloid.kernels.families import target
from metalloid.runtime.buffer import Buffer

Array = np.ndarray[Any, Any]
Give = Callable[[Array], Any]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = {np.dtype(np.float32): "float32", np.dtype(np.float16): "float16", BFLOAT16: "bfloat16"}


def taken(operation: str, *values: Any) -> tuple[Give, list[Array]]:
    """The values as numpy arrays over the same memory, and what turns a result into their kind."""
    for value in values:
        if type(value) is not np.ndarray:
            return _taken(operation, values)
    return _same, list(values)


def _taken(operation: str, values: Sequence[Any]) -> tuple[Give, list[Array]]:
    give: Give = _same
    views = []
    for value in values:
        if isinstance(value, np.ndarray | np.generic):
            views.append(np.asarray(value))
        elif isinstance(value, Buffer):
            views.append(value.numpy())
        elif _is_tensor(value):
            views.append(_from_torch(operation, value))
            give = _to_torch
        elif (mx := sys.modules.get("mlx.core")) is not None and isinstance(value, mx.array):
            arrays = arrays_of((value,), ())
            assert isinstance(arrays, MlxArrays)
            views.append(_from_mlx(operation, arrays, value))
            give = arrays.finish
        else:
            refuse(operation, "an array of numpy, MLX or PyTorch", f"a {type(value).__name__}")
    return give, views


def _same(result: Array) -> Array:
    return result


def _from_mlx(operation: str, arrays: MlxArrays, value: Any) -> Array:
    try:
        return arrays.view(value)
    except ValueError as error:
        if "function transformations" not in str(error):
            raise
        raise LaunchError(
            f"[{operation}] expected values, got an array that mx.compile or mx.vmap is tracing.\n"
            "metalloid.kernels.mlx has the operations with their transformations."
        ) from None


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _from_torch(operation: str, tensor: Any) -> Array:
    torch = sys.modules["torch"]
    if tensor.device.type != "cpu":
        refuse(operation, "a tensor on the CPU", f"one on {tensor.device}")
    plain = tensor.detach()
    if plain.dtype is torch.bfloat16:
        found: Array = plain.view(torch.int16).numpy()
        return found.view(BFLOAT16)
    view: Array = plain.numpy()
    return view


def _to_torch(result: Array) -> Any:
    torch = sys.modules["torch"]
    if result.dtype == BFLOAT16:
        return torch.from_numpy(result.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(result)


def empty(shape: Sequence[int], dtype: Any) -> Array:
    """Memory of the device's pool; it goes back there when the last array that looks into it is gone."""
    kind = np.dtype(dtype)
    made: Array = target().pool.allocate(prod(shape) * kind.itemsize).view(kind).reshape(shape)
    return made


def contiguous(array: Array) -> Array:
    """The array itself where it has no gaps, else a copy in the pool's memory."""
    if array.flags.c_contiguous:
        return array
    made = empty(array.shape, array.dtype)
    made[...] = array
    return made


def joined(array: Array, axes: int) -> int | None:
    """How many elements lie between neighbours when the first `axes` axes are counted as one; None: it varies."""
    counted = [(n, step) for n, step in zip(array.shape[:axes], array.strides[:axes], strict=True) if n != 1]
    if not counted:
        return int(prod(array.shape[axes:]))
    count, stride = counted[-1]
    for n, step in reversed(counted[:-1]):
        if step != stride * count:
            return None
        count *= n
    return int(stride // array.itemsize) if stride >= 0 and stride % array.itemsize == 0 else None


def rows(array: Array) -> tuple[Array, int]:
    """Memory of rows that lie equally far apart, and how many elements that is; a copy only where they do not."""
    if array.flags.c_contiguous:
        return array, array.shape[-1]
    if array.strides[-1] == array.itemsize or array.shape[-1] == 1:
        stride = joined(array, array.ndim - 1)
        if stride is not None:
            return span(array).array, stride
    return contiguous(array), array.shape[-1]


def matrices(array: Array) -> tuple[Array, int, int]:
    """Memory of one or more matrices, how far their rows lie apart, and how far the matrices do."""
    m, n = array.shape[-2:]
    if array.flags.c_contiguous:
        return array, n, m * n
    if array.strides[-1] == array.itemsize or n == 1:
        apart, stride = joined(array, array.ndim - 2), joined(array[(0,) * (array.ndim - 2)], 1)
        if apart is not None and stride is not None:
            return span(array).array, stride, apart
    return contiguous(array), n, m * n


def float_name(operation: str, array: Array, what: str = "an array") -> str:
    """ "float32", "float16" or "bfloat16": how the kernels for this dtype are called."""
    name = FLOATS.get(array.dtype)
    if name is None:
        refuse(operation, f"{what} of float32, float16 or bfloat16", str(array.dtype))
    return name


def same_dtype(operation: str, array: Array, **others: Array) -> None:
    for name, other in others.items():
        if other.dtype != array.dtype:
            refuse(operation, f"{name} of {array.dtype} like the first array", str(other.dtype))


def has_shape(operation: str, what: str, array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        refuse(operation, f"{what} of shape {shape}", str(array.shape))


def refuse(operation: str, expected: str, got: str) -> NoReturn:
    raise LaunchError(f"[{operation}] expected {expected}, got {got}.")
