"""Sums, maxima and softmax along one axis."""

from __future__ import annotations

import struct
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from metalloid.kernels.arrays import (
    Array,
    contiguous,
    empty,
    float_name,
    has_shape,
    refuse,
    rows,
    same_dtype,
    taken,
)
from metalloid.kernels.families import kernel

LONG = 1 << 15  # elements of a row from which several SIMD-groups share it


def sum(x: Any, axis: int = -1) -> Any:
    """The sum along an axis, in float32; 0 where the axis is empty."""
    return _reduced("sum", x, axis, None)


def max(x: Any, axis: int = -1) -> Any:
    """The largest along an axis; NaN where there is one."""
    return _reduced("max", x, axis, None)


def argmax(x: Any, axis: int = -1) -> Any:
    """Where the largest along an axis is, the first of several, as uint32."""
    return _reduced("argmax", x, axis, np.uint32)


def softmax(x: Any, axis: int = -1) -> Any:
    """exp(x) / sum(exp(x)) along an axis, without overflow."""
    give, (a,) = taken("softmax", x)
    kind = float_name("softmax", a)
    moved = _last("softmax", a, axis)
    out = empty(moved.shape, a.dtype)
    if out.size:
        memory, stride = rows(moved)
        _run(f"softmax_{kind}", moved.shape, stride, memory, out)
    return give(out if moved is a else contiguous(np.moveaxis(out, -1, axis)))


def softmax_slope(y: Any, change: Any, axis: int = -1) -> Any:
    """How a change goes through softmax where the result was y: its vjp and its jvp."""
    give, (a, c) = taken("softmax_slope", y, change)
    kind = float_name("softmax_slope", a)
    has_shape("softmax_slope", "change", c, a.shape)
    same_dtype("softmax_slope", a, change=c)
    moved, other = _last("softmax_slope", a, axis), _last("softmax_slope", c, axis)
    out = empty(moved.shape, a.dtype)
    if out.size:
        _run(f"softmax_slope_{kind}", moved.shape, 0, contiguous(moved), contiguous(other), out)
    return give(out if moved is a else contiguous(np.moveaxis(out, -1, axis)))


def _reduced(operation: str, x: Any, axis: int, dtype: Any) -> Any:
    give, (a,) = taken(operation, x)
    kind = float_name(operation, a)
    moved = _last(operation, a, axis)
    out = empty(moved.shape[:-1], dtype or a.dtype)
    if moved.shape[-1] == 0:
        if operation != "sum" and out.size:
            refuse(operation, "an axis with elements", str(a.shape))
        out.fill(0)
    elif out.size:
        memory, stride = rows(moved)
        _run(f"{operation}_{kind}", moved.shape, stride, memory, out)
    return give(out)


def _last(operation: str, a: Array, axis: int) -> Array:
    """The array with the axis as its last."""
    if not -a.ndim <= axis < a.ndim:
        refuse(operation, f"an axis of {a.ndim}", str(axis))
    return a if axis in (-1, a.ndim - 1) else np.moveaxis(a, axis, -1)


@lru_cache(maxsize=256)
def _row(n: int, stride: int) -> Array:
    return np.frombuffer(bytearray(struct.pack("2I", n, stride)), np.uint8)


def _run(name: str, shape: tuple[int, ...], stride: int, *arrays: Array) -> None:
    n = shape[-1]
    count = prod(shape[:-1])
    threads = 256 if n >= LONG and count < 16 else 32
    kernel("reduce", name)(*arrays, _row(n, stride), grid=count * threads, threadgroup=threads)
