"""The rules of derivatives for packed weights and tables: linear in what is not packed."""

from __future__ import annotations

from typing import Any

import numpy as np

from metalloid.kernels.arrays import Array
from metalloid.kernels.derivatives import Tangents, added


def embedding_vjp(ops: Any, inputs: list[Array], change: Array) -> tuple[Array, ...]:
    ids, table = inputs
    return (ops.embedding_vjp(ids, change, len(table)),)


def embedding_jvp(ops: Any, inputs: list[Array], tangents: Tangents) -> Array:
    found: Array = ops.embedding(inputs[0], tangents[1])
    return found


def quantized_vjp(ops: Any, inputs: list[Array], change: Array, format: str) -> tuple[Array, ...]:
    x, weight = inputs
    return (_times(ops, change, ops.dequantize(weight, format)).astype(x.dtype, copy=False),)


def quantized_jvp(ops: Any, inputs: list[Array], tangents: Tangents, format: str) -> Array:
    found: Array = ops.quantized_matmul(tangents[0], inputs[1], format)
    return found


def affine_vjp(ops: Any, inputs: list[Array], change: Array, group_size: int, bits: int) -> tuple[Array, ...]:
    """A weight is scale * q + bias: what a weight is asked goes to its group's scale times q, and to its bias."""
    x, weight, scales, biases = inputs
    to_x = _times(ops, change, ops.affine_dequantize(weight, scales, biases, group_size, bits))
    g, rows = _wide(change).reshape(-1, change.shape[-1]), _wide(x).reshape(-1, x.shape[-1])
    to_weight = ops.matmul(np.ascontiguousarray(g.T), rows)
    numbers = ops.affine_dequantize(
        weight, np.ones(scales.shape, g.dtype), np.zeros(scales.shape, g.dtype), group_size, bits
    )
    to_scales, to_biases = (
        ops.sum(a.reshape(*scales.shape, group_size)) for a in (to_weight * numbers, to_weight)
    )
    found = to_x, to_scales, to_biases
    return tuple(f.astype(i.dtype, copy=False) for f, i in zip(found, (x, scales, biases), strict=True))


def affine_jvp(ops: Any, inputs: list[Array], tangents: Tangents, group_size: int, bits: int) -> Array:
    x, weight, scales, biases = inputs
    dx, _, ds, db = tangents
    return added(
        None if dx is None else ops.affine_matmul(dx, weight, scales, biases, group_size, bits),
        None if ds is None else ops.affine_matmul(x, weight, ds, np.zeros_like(biases), group_size, bits),
        None if db is None else ops.affine_matmul(x, weight, np.zeros_like(scales), db, group_size, bits),
    )


def _wide(a: Array) -> Array:
    return a.astype(np.float32) if a.dtype.itemsize == 2 else a


def _times(ops: Any, change: Array, weights: Array) -> Array:
    """change @ weights, of any number of axes."""
    g = np.ascontiguousarray(_wide(change))
    found: Array = ops.matmul(g.reshape(-1, g.shape[-1]), _wide(weights))
    return found.reshape(*change.shape[:-1], weights.shape[-1])
