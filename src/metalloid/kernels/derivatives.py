"""The rules of derivatives: one vjp and one jvp per operation, in terms of other operations."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from metalloid.kernels.arrays import Array

Tangents = list[Array | None]


def added(*terms: Array | None) -> Array:
    """The sum of what is there."""
    there = [t for t in terms if t is not None]
    total = there[0]
    for term in there[1:]:
        total = np.asarray(total + term)
    return total


# ---- norms ----


def rms_norm_vjp(ops: Any, inputs: list[Array], change: Array, eps: float) -> tuple[Array, ...]:
    x, weight = inputs
    to_weight, _ = ops.norm_weight_vjp("rms_norm", x, change, eps)
    return ops.norm_slope("rms_norm", "vjp", x, weight, change, eps), to_weight


def rms_norm_jvp(ops: Any, inputs: list[Array], tangents: Tangents, eps: float) -> Array:
    x, weight = inputs
    dx, dw = tangents
    return added(
        None if dx is None else ops.norm_slope("rms_norm", "jvp", x, weight, dx, eps),
        None if dw is None else ops.rms_norm(x, dw, eps),  # linear in the weight
    )


def layer_norm_vjp(ops: Any, inputs: list[Array], change: Array, eps: float) -> tuple[Array, ...]:
    x, weight, _ = inputs
    return (
        ops.norm_slope("layer_norm", "vjp", x, weight, change, eps),
        *ops.norm_weight_vjp("layer_norm", x, change, eps),
    )


def layer_norm_jvp(ops: Any, inputs: list[Array], tangents: Tangents, eps: float) -> Array:
    x, weight, bias = inputs
    dx, dw, db = tangents
    linear = None
    if dw is not None or db is not None:
        linear = ops.layer_norm(
            x, np.zeros_like(weight) if dw is None else dw, np.zeros_like(bias) if db is None else db, eps
        )
    return added(None if dx is None else ops.norm_slope("layer_norm", "jvp", x, weight, dx, eps), linear)


# ---- softmax, activations, sums ----


def softmax_vjp(ops: Any, inputs: list[Array], change: Array, axis: int) -> tuple[Array, ...]:
    return (ops.softmax_slope(ops.softmax(inputs[0], axis), change, axis),)


def softmax_jvp(ops: Any, inputs: list[Array], tangents: Tangents, axis: int) -> Array:
    return softmax_vjp(ops, inputs, added(*tangents), axis)[0]  # a symmetric matrix


def silu_vjp(ops: Any, inputs: list[Array], change: Array) -> tuple[Array, ...]:
    return (ops.silu_slope(inputs[0], change),)


def silu_jvp(ops: Any, inputs: list[Array], tangents: Tangents) -> Array:
    return silu_vjp(ops, inputs, added(*tangents))[0]


def gelu_vjp(ops: Any, inputs: list[Array], change: Array, tanh: bool) -> tuple[Array, ...]:
    return (ops.gelu_slope(inputs[0], change, tanh),)


def gelu_jvp(ops: Any, inputs: list[Array], tangents: Tangents, tanh: bool) -> Array:
    return gelu_vjp(ops, inputs, added(*tangents), tanh)[0]


def swiglu_vjp(ops: Any, inputs: list[Array], change: Array) -> tuple[Array, ...]:
    found: tuple[Array, ...] = ops.swiglu_vjp(*inputs, change)
    return found


def swiglu_jvp(ops: Any, inputs: list[Array], tangents: Tangents) -> Array:
    gate, up = inputs
    dg, du = tangents
    return added(
        None if dg is None else ops.swiglu_vjp(gate, up, dg)[0],
        None if du is None else ops.swiglu(gate, du),
    )


def sum_vjp(ops: Any, inputs: list[Array], change: Array, axis: int) -> tuple[Array, ...]:
    x = inputs[0]
    return (np.array(np.broadcast_to(np.expand_dims(change, axis), x.shape)),)


def sum_jvp(ops: Any, inputs: list[Array], tangents: Tangents, axis: int) -> Array:
    found: Array = ops.sum(added(*tangents), axis)
    return found


def max_vjp(ops: Any, inputs: list[Array], change: Array, axis: int) -> tuple[Array, ...]:
    """All of it goes to the first of the largest."""
    x = inputs[0]
    to_x = np.zeros_like(x)
    at = np.expand_dims(ops.argmax(x, axis).astype(np.int64), axis)
    np.put_along_axis(to_x, at, np.expand_dims(change, axis), axis)
    return (to_x,)


def max_jvp(ops: Any, inputs: list[Array], tangents: Tangents, axis: int) -> Array:
    at = np.expand_dims(ops.argmax(inputs[0], axis).astype(np.int64), axis)
    return np.take_along_axis(added(*tangents), at, axis).squeeze(axis)


# ---- rotations: linear, and the inverse is the transposed ----


def rope_vjp(ops: Any, inputs: list[Array], change: Array, **settings: Any) -> tuple[Array, ...]:
    return (ops.rope(change, **{**settings, "inverse": not settings["inverse"]}),)


def rope_jvp(ops: Any, inputs: list[Array], tangents: Tangents, **settings: Any) -> Array:
    found: Array = ops.rope(added(*tangents), **settings)
    return found


# ---- products ----


def matmul_vjp(ops: Any, inputs: list[Array], change: Array, transpose_b: bool) -> tuple[Array, ...]:
    a, b = inputs
    left = a[None] if a.ndim == 1 else a
    right = b[None] if b.ndim == 1 else b
    transposed = transpose_b or b.ndim == 1
    g = change.astype(a.dtype, copy=False)
    if b.ndim == 1:
        g = g[..., None]
    if a.ndim == 1:
        g = np.expand_dims(g, -2)
    if right.ndim == 2:  # one matrix for all rows
        left, g = left.reshape(-1, left.shape[-1]), g.reshape(-1, g.shape[-1])
    to_left = ops.matmul(g, right, transpose_b=not transposed)
    narrow = right.astype(left.dtype) if right.dtype != left.dtype else right
    to_right = (
        ops.matmul(g.swapaxes(-1, -2), left) if transposed else ops.matmul(left.swapaxes(-1, -2), g)
    ).astype(b.dtype, copy=False)
    return _as(to_left, left.shape, a.shape), _as(to_right, narrow.shape, b.shape)


def _as(array: Array, shape: tuple[int, ...], wanted: tuple[int, ...]) -> Array:
    """Sum over axes along which the array was repeated."""
    extra = array.ndim - len(shape)
    axes = (
        *range(extra),
        *(extra + i for i, n in enumerate(shape) if n == 1 and array.shape[extra + i] != 1),
    )
    return np.asarray(array.sum(axes, dtype=np.float64).astype(array.dtype) if axes else array).reshape(
        wanted
    )


def matmul_jvp(ops: Any, inputs: list[Array], tangents: Tangents, transpose_b: bool) -> Array:
    a, b = inputs
    da, db = tangents
    return added(
        None if da is None else ops.matmul(da, b, transpose_b=transpose_b),
        None if db is None else ops.matmul(a, db, transpose_b=transpose_b),
    )


# ---- attention: by its parts, in float32 ----


def attention_vjp(
    ops: Any, inputs: list[Array], change: Array, scale: float | None, causal: bool
) -> tuple[Array, ...]:
    q, k, v = _folded(inputs)
    g = _wide(change).reshape(q.shape)
    factor = _factor(q, scale)
    shares = _shares(ops, q, k, factor, causal, change.shape[-2])
    to_shares = ops.matmul(g, v, transpose_b=True)
    to_scores = ops.softmax_slope(shares, to_shares) * factor
    found = (
        ops.matmul(to_scores, k),
        ops.matmul(to_scores.swapaxes(-1, -2), q),
        ops.matmul(shares.swapaxes(-1, -2), g),
    )
    return tuple(f.reshape(i.shape).astype(i.dtype, copy=False) for f, i in zip(found, inputs, strict=True))


def attention_jvp(
    ops: Any, inputs: list[Array], tangents: Tangents, scale: float | None, causal: bool
) -> Array:
    q, k, v = _folded(inputs)
    dq, dk, dv = (
        np.zeros_like(a) if t is None else _wide(t).reshape(a.shape)
        for a, t in zip((q, k, v), tangents, strict=True)
    )
    factor = _factor(q, scale)
    shares = _shares(ops, q, k, factor, causal, inputs[0].shape[-2])
    to_scores = (ops.matmul(dq, k, transpose_b=True) + ops.matmul(q, dk, transpose_b=True)) * factor
    found = ops.matmul(ops.softmax_slope(shares, to_scores), v) + ops.matmul(shares, dv)
    return np.asarray(found.reshape(inputs[0].shape)).astype(inputs[0].dtype, copy=False)


def _wide(a: Array) -> Array:
    return a.astype(np.float32) if a.dtype.itemsize == 2 else np.ascontiguousarray(a)


def _folded(inputs: list[Array]) -> tuple[Array, Array, Array]:
    """One matrix of queries per head of keys: heads that share keys become rows."""
    q, k, v = map(_wide, inputs)
    n = prod(k.shape[:-2])
    return q.reshape(n, -1, q.shape[-1]), k.reshape(n, *k.shape[-2:]), v.reshape(n, *v.shape[-2:])


def _factor(q: Array, scale: float | None) -> Any:
    return q.dtype.type(q.shape[-1] ** -0.5 if scale is None else scale)


def _shares(ops: Any, q: Array, k: Array, factor: Any, causal: bool, queries: int) -> Array:
    scores = ops.matmul(q, k, transpose_b=True) * factor
    if causal:
        n, m = scores.shape[-2:]
        seen = np.arange(m) <= (np.arange(n) % queries)[:, None] + m - queries
        scores = np.where(seen, scores, scores.dtype.type(-np.inf))
    found: Array = ops.softmax(scores)
    return found
