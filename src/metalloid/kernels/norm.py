"""Normalisation of rows: the last axis of an array."""

from __future__ import annotations

from typing import Any

from metalloid.kernels.arrays import contiguous, empty, float_name, has_shape, rows, same_dtype, taken
from metalloid.kernels.families import kernel

THREADS = 32  # one SIMD-group per row needs no barrier


def rms_norm(x: Any, weight: Any, eps: float = 1e-5) -> Any:
    """x / sqrt(mean(x^2) + eps) * weight over the last axis; sums in float32."""
    give, (a, w) = taken("rms_norm", x, weight)
    name = float_name("rms_norm", a)
    n = a.shape[-1] if a.ndim else 1
    has_shape("rms_norm", "weight", w, (n,))
    same_dtype("rms_norm", a, weight=w)
    out = empty(a.shape, a.dtype)
    if out.size:
        memory, stride = rows(a)
        kernel("norm", f"rms_norm_{name}")(
            memory,
            contiguous(w),
            out,
            n,
            stride,
            float(eps),
            grid=out.size // n * THREADS,
            threadgroup=THREADS,
        )
    return give(out)
