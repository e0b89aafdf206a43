"""Normalisation of rows, the last axis of an array; and how changes go through it."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

import numpy as np

from metalloid.kernels.arrays import Array, contiguous, empty, float_name, has_shape, rows, same_dtype, taken
from metalloid.kernels.families import kernel

THREADS = 32  # one SIMD-group per row needs no barrier


def rms_norm(x: Any, weight: Any, eps: float = 1e-5) -> Any:
    """x / sqrt(mean(x^2) + eps) * weight over the last axis; sums in float32."""
    give, (a, w) = taken("rms_norm", x, weight)
    kind, n = _checked("rms_norm", a, weight=w)
    out = empty(a.shape, a.dtype)
    if out.size:
        memory, stride = rows(a)
        count = out.size // n
        kernel("norm", f"rms_norm_{kind}", THREADS=THREADS)(
            memory,
            contiguous(w),
            out,
            _sizes(n, count, stride, 0, eps),
            grid=count * THREADS,
            threadgroup=THREADS,
        )
    return give(out)


def layer_norm(x: Any, weight: Any, bias: Any, eps: float = 1e-5) -> Any:
    """(x - mean(x)) / sqrt(var(x) + eps) * weight + bias over the last axis; sums in float32."""
    give, (a, w, b) = taken("layer_norm", x, weight, bias)
    kind, n = _checked("layer_norm", a, weight=w, bias=b)
    out = empty(a.shape, a.dtype)
    if out.size:
        memory, stride = rows(a)
        count = out.size // n
        kernel("norm", f"layer_norm_{kind}", THREADS=THREADS)(
            memory,
            contiguous(w),
            contiguous(b),
            out,
            _sizes(n, count, stride, 0, eps),
            grid=count * THREADS,
            threadgroup=THREADS,
        )
    return give(out)


def norm_slope(norm: str, direction: str, x: Any, weight: Any, change: Any, eps: float) -> Any:
    """How a change goes through "rms_norm" or "layer_norm": "jvp" from x to the result, "vjp" from the result to x."""
    name = f"{norm}_{direction}"
    give, (a, w, c) = taken(name, x, weight, change)
    kind, n = _checked(name, a, weight=w)
    has_shape(name, "change", c, a.shape)
    same_dtype(name, a, change=c)
    out = empty(a.shape, a.dtype)
    if out.size:
        (memory, stride), (other, apart) = rows(a), rows(c)
        count = out.size // n
        kernel("norm", f"{name}_{kind}", THREADS=THREADS)(
            memory,
            contiguous(w),
            other,
            out,
            _sizes(n, count, stride, apart, eps),
            grid=count * THREADS,
            threadgroup=THREADS,
        )
    return give(out)


def norm_weight_vjp(norm: str, x: Any, change: Any, eps: float) -> tuple[Any, Any]:
    """What a change of the result asks of weight and bias."""
    give, (a, c) = taken(f"{norm}_vjp", x, change)
    kind, n = _checked(f"{norm}_vjp", a)
    has_shape(f"{norm}_vjp", "change", c, a.shape)
    to_weight, to_bias = empty((n,), a.dtype), empty((n,), a.dtype)
    if a.size == 0:
        to_weight.fill(0)
        to_bias.fill(0)
        return give(to_weight), give(to_bias)
    (memory, stride), (other, apart) = rows(a), rows(c)
    count = a.size // n
    sizes = _sizes(n, count, stride, apart, eps)
    found = empty((count, 2), np.float32)
    kernel("norm", f"{norm}_rows_{kind}", THREADS=THREADS)(
        memory, found, sizes, grid=count * THREADS, threadgroup=THREADS
    )
    kernel("norm", f"norm_columns_{kind}")(
        memory, other, found, to_weight, to_bias, sizes, threadgroups=-(-n // 64), threadgroup=64
    )
    return give(to_weight), give(to_bias)


def _checked(operation: str, a: Array, **vectors: Array) -> tuple[str, int]:
    kind = float_name(operation, a)
    n = a.shape[-1] if a.ndim else 1
    for name, vector in vectors.items():
        has_shape(operation, name, vector, (n,))
    same_dtype(operation, a, **vectors)
    return kind, n


@lru_cache(maxsize=256)
def _sizes(n: int, count: int, stride: int, other: int, eps: float) -> Array:
    """The struct Norm of norm.metal."""
    return np.frombuffer(bytearray(struct.pack("4If", n, count, stride, other, eps)), np.uint8)
