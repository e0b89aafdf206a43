"""Products with weights as MLX quantises them: `w, scales, biases = mx.quantize(matrix, group_size, bits)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from metalloid.kernels.arrays import (
    Array,
    contiguous,
    empty,
    float_name,
    has_shape,
    refuse,
    same_dtype,
    taken,
)
from metalloid.kernels.families import kernel

LANES = 32
BITS, GROUPS = (4, 8), (32, 64, 128)


def affine_matmul(x: Any, weight: Any, scales: Any, biases: Any, group_size: int = 64, bits: int = 4) -> Any:
    """x @ weight.T, as mx.quantized_matmul has it; sums in float32."""
    give, (a, w, s, b) = taken("affine_matmul", x, weight, scales, biases)
    name = float_name("affine_matmul", a, "x")
    same_dtype("affine_matmul", a, scales=s, biases=b)
    rows, columns = _shape("affine_matmul", w, s, b, group_size, bits)
    if not a.ndim or a.shape[-1] != columns:
        refuse("affine_matmul", f"x with {columns} columns, as many as the weights have", str(a.shape))
    out = empty((*a.shape[:-1], rows), a.dtype)
    inputs = a.size // columns if columns else 0
    if out.size and not columns:
        out[...] = 0
    elif out.size:
        kind, high, wide = ("matvec", 8, 1) if inputs == 1 else ("matmul", 2, 8)
        kernel("affine", f"{kind}_{bits}_{name}")(
            *(contiguous(w).view(np.uint8), contiguous(s), contiguous(b), contiguous(a), out),
            *(rows, columns, inputs, group_size),
            threadgroups=(-(-rows // high), -(-inputs // wide)),
            threadgroup=LANES,
        )
    return give(out)


def affine_dequantize(weight: Any, scales: Any, biases: Any, group_size: int = 64, bits: int = 4) -> Any:
    """The weights, in the dtype of their scales."""
    give, (w, s, b) = taken("affine_dequantize", weight, scales, biases)
    name = float_name("affine_dequantize", s, "scales")
    same_dtype("affine_dequantize", s, biases=b)
    rows, columns = _shape("affine_dequantize", w, s, b, group_size, bits)
    out = empty((rows, columns), s.dtype)
    if out.size:
        kernel("affine", f"dequantize_{bits}_{name}")(
            *(contiguous(w).view(np.uint8), contiguous(s), contiguous(b), out, columns, group_size),
            grid=(columns, rows),
            threadgroup=(LANES, 1),
        )
    return give(out)


def _shape(operation: str, w: Array, s: Array, b: Array, group: int, bits: int) -> tuple[int, int]:
    if bits not in BITS or group not in GROUPS:
        refuse(operation, f"bits of {BITS} and group_size of {GROUPS}", f"{bits} and {group}")
    if w.dtype != np.uint32 or w.ndim != 2 or w.shape[1] * 32 // bits % group:
        refuse(
            operation,
            f"weights as uint32 with rows of whole groups of {group}",
            f"{w.dtype} of shape {w.shape}",
        )
    rows, columns = w.shape[0], w.shape[1] * 32 // bits
    for what, array in (("scales", s), ("biases", b)):
        has_shape(operation, what, array, (rows, columns // group))
    return rows, columns
