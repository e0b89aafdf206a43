"""What packed weights mean, in numpy: GGUF's blocks and MLX's groups as numbers, products with them, rows of tables.

The references of the functions of the same names; `references` has the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _halves(raw: Array) -> Array:
    return np.ascontiguousarray(raw).view(np.float16).astype(np.float64)


def _q8_0(b: Array) -> Array:
    return np.asarray(_halves(b[:, :2]) * b[:, 2:].view(np.int8))


def _q4_0(b: Array) -> Array:
    low, high = b[:, 2:] & 15, b[:, 2:] >> 4
    return np.asarray(_halves(b[:, :2]) * (np.concatenate([low, high], 1).astype(np.int64) - 8))


def _q4_k(b: Array) -> Array:
    s, q = b[:, 4:16].astype(np.int64), b[:, 16:].reshape(-1, 4, 1, 32)
    scale = np.concatenate([s[:, :4] & 63, (s[:, 8:] & 15) | (s[:, :4] >> 6 << 4)], 1)
    least = np.concatenate([s[:, 4:8] & 63, (s[:, 8:] >> 4) | (s[:, 4:8] >> 6 << 4)], 1)
    numbers = np.concatenate([q & 15, q >> 4], 2).reshape(-1, 8, 32)
    return np.asarray(
        (_halves(b[:, :2]) * scale)[..., None] * numbers - (_halves(b[:, 2:4]) * least)[..., None]
    )


def _q6_k(b: Array) -> Array:
    halves, twos = b[:, :128].reshape(-1, 2, 64), b[:, 128:192].reshape(-1, 2, 1, 32)
    low = np.concatenate([halves & 15, halves >> 4], 2).reshape(-1, 2, 4, 32)
    high = (twos >> np.array([0, 2, 4, 6], np.uint8)[:, None]) & 3
    numbers = (low | high << 4).astype(np.int64).reshape(-1, 16, 16) - 32
    return np.asarray((_halves(b[:, 208:]) * b[:, 192:208].view(np.int8))[..., None] * numbers)


# The bytes of a block, and what they say.
_FORMATS: dict[str, tuple[int, Callable[[Array], Array]]] = {
    "q4_0": (18, _q4_0),
    "q8_0": (34, _q8_0),
    "q4_K": (144, _q4_k),
    "q6_K": (210, _q6_k),
}


def dequantize(weight: Array, format: str) -> Array:
    """In float64, which has all digits."""
    size, unpack = _FORMATS[format]
    return unpack(np.ascontiguousarray(weight).reshape(-1, size)).reshape(len(weight), -1)


def quantized_matmul(x: Array, weight: Array, format: str) -> Array:
    return np.asarray(x.astype(np.float64) @ dequantize(weight, format).T).astype(x.dtype)


def affine_dequantize(
    weight: Array, scales: Array, biases: Array, group_size: int = 64, bits: int = 4
) -> Array:
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    numbers = ((weight[..., None] >> shifts) & np.uint32((1 << bits) - 1)).reshape(len(weight), -1)
    scale, bias = (np.repeat(a.astype(np.float64), group_size, 1) for a in (scales, biases))
    return np.asarray(scale * numbers + bias).astype(scales.dtype)


def affine_matmul(
    x: Array, weight: Array, scales: Array, biases: Array, group_size: int = 64, bits: int = 4
) -> Array:
    scale, bias = scales.astype(np.float64), biases.astype(np.float64)
    matrix = affine_dequantize(weight, scale, bias, group_size, bits)
    return np.asarray(x.astype(np.float64) @ matrix.T).astype(x.dtype)


def embedding(ids: Array, table: Array) -> Array:
    return np.asarray(table[ids])


def embedding_vjp(ids: Array, change: Array, rows: int) -> Array:
    total = np.zeros((rows, change.shape[-1]), np.float64)
    np.add.at(total, ids.ravel(), change.reshape(-1, change.shape[-1]).astype(np.float64))
    return total.astype(change.dtype)
