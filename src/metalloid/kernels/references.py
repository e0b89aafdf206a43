"""What each operation means, in numpy: the fall-back where no device is, and for float64, which Metal has not.

Same names and arguments as the functions on kernels. Numbers of 16 bits are computed with in 32.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import erfc, pi, sqrt
from typing import Any

import numpy as np

from metalloid.kernels.rope import speeds
from metalloid.kernels.unpacked import affine_dequantize as affine_dequantize
from metalloid.kernels.unpacked import affine_matmul as affine_matmul
from metalloid.kernels.unpacked import dequantize as dequantize
from metalloid.kernels.unpacked import embedding as embedding
from metalloid.kernels.unpacked import embedding_vjp as embedding_vjp
from metalloid.kernels.unpacked import quantized_matmul as quantized_matmul

Array = np.ndarray[Any, Any]


def _wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute in float32 or float64, and give back the dtype that came first."""

    @wraps(function)
    def run(*arguments: Any, **settings: Any) -> Any:
        kind = next(a.dtype for a in arguments if isinstance(a, np.ndarray))
        widened = [
            a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype.itemsize == 2 else a
            for a in arguments
        ]
        results = function(*widened, **settings)
        if isinstance(results, tuple):
            return tuple(np.asarray(r).astype(kind, copy=False) for r in results)
        return np.asarray(results).astype(kind, copy=False)

    return run


@_wide
def matmul(a: Array, b: Array, transpose_b: bool = False) -> Array:
    return np.asarray(a @ (b.swapaxes(-1, -2) if transpose_b and b.ndim > 1 else b))


@_wide
def rms_norm(x: Array, weight: Array, eps: float = 1e-5) -> Array:
    y, _ = _normal("rms_norm", x, eps)
    return np.asarray(y * weight)


@_wide
def layer_norm(x: Array, weight: Array, bias: Array, eps: float = 1e-5) -> Array:
    y, _ = _normal("layer_norm", x, eps)
    return np.asarray(y * weight + bias)


def _normal(norm: str, x: Array, eps: float) -> tuple[Array, Array]:
    centred = x - x.mean(-1, keepdims=True) if norm == "layer_norm" else x
    scale = 1 / np.sqrt((centred * centred).mean(-1, keepdims=True) + x.dtype.type(eps))
    return centred * scale, scale


def norm_slope(norm: str, direction: str, x: Array, weight: Array, change: Array, eps: float) -> Array:
    found: Array = _norm_slope(x, weight, change, norm, direction, eps)
    return found


@_wide
def _norm_slope(x: Array, weight: Array, change: Array, norm: str, direction: str, eps: float) -> Array:
    y, scale = _normal(norm, x, eps)
    u = change * weight if direction == "vjp" else change
    shift = u.mean(-1, keepdims=True) if norm == "layer_norm" else 0
    core = scale * (u - shift - y * (u * y).mean(-1, keepdims=True))
    return np.asarray(core if direction == "vjp" else core * weight)


def norm_weight_vjp(norm: str, x: Array, change: Array, eps: float) -> tuple[Array, Array]:
    found: tuple[Array, Array] = _norm_weight_vjp(x, change, norm, eps)
    return found


@_wide
def _norm_weight_vjp(x: Array, change: Array, norm: str, eps: float) -> tuple[Array, Array]:
    y, _ = _normal(norm, x, eps)
    axes = tuple(range(x.ndim - 1))
    return (change * y).sum(axes), change.sum(axes)


@_wide
def softmax(x: Array, axis: int = -1) -> Array:
    if x.shape[axis] == 0:
        return x
    shares = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(shares / shares.sum(axis, keepdims=True))


@_wide
def softmax_slope(y: Array, change: Array, axis: int = -1) -> Array:
    return np.asarray(y * (change - (y * change).sum(axis, keepdims=True)))


def _sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, small, 1) / (1 + small))


@_wide
def silu(x: Array) -> Array:
    return x * _sigmoid(x)


@_wide
def silu_slope(x: Array, change: Array) -> Array:
    s = _sigmoid(x)
    return np.asarray(change * s * (1 + x * (1 - s)))


_erfc = np.vectorize(erfc, otypes=[np.float64])


def _below(x: Array) -> Array:
    return np.asarray(0.5 * _erfc(-x * sqrt(0.5))).astype(x.dtype)


def _twice(x: Array) -> Array:
    return np.asarray(2 * sqrt(2 / pi) * (x + 0.044715 * x**3))


@_wide
def gelu(x: Array, tanh: bool = False) -> Array:
    return x * (_sigmoid(_twice(x)) if tanh else _below(x))


@_wide
def gelu_slope(x: Array, change: Array, tanh: bool = False) -> Array:
    if tanh:
        s = _sigmoid(_twice(x))
        return np.asarray(change * (s + x * s * (1 - s) * 2 * sqrt(2 / pi) * (1 + 3 * 0.044715 * x * x)))
    return np.asarray(change * (_below(x) + x * np.exp(-0.5 * x * x) / sqrt(2 * pi)))


@_wide
def swiglu(gate: Array, up: Array) -> Array:
    return gate * _sigmoid(gate) * up


@_wide
def swiglu_vjp(gate: Array, up: Array, change: Array) -> tuple[Array, Array]:
    s = _sigmoid(gate)
    return change * up * s * (1 + gate * (1 - s)), change * gate * s


@_wide
def rope(
    x: Array,
    dims: int | None = None,
    *,
    interleaved: bool = False,
    base: float = 10000.0,
    scale: float = 1.0,
    offset: int = 0,
    inverse: bool = False,
) -> Array:
    n = x.shape[-1] if dims is None else dims
    angle = np.arange(offset, offset + x.shape[-2])[:, None] * (scale * speeds(n, base))
    cosine, sine = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype) * (-1 if inverse else 1)
    first, second = (slice(0, n, 2), slice(1, n, 2)) if interleaved else (slice(0, n // 2), slice(n // 2, n))
    out = x.copy()
    out[..., first] = x[..., first] * cosine - x[..., second] * sine
    out[..., second] = x[..., second] * cosine + x[..., first] * sine
    return out


@_wide
def attention(q: Array, k: Array, v: Array, *, scale: float | None = None, causal: bool = False) -> Array:
    shared = q.shape[-3] // k.shape[-3]
    k, v = k.repeat(shared, -3), v.repeat(shared, -3)
    scores = q @ k.swapaxes(-1, -2) * q.dtype.type(q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        n, m = scores.shape[-2:]
        scores = np.where(np.arange(m) <= np.arange(n)[:, None] + m - n, scores, -np.inf)
    found: Array = softmax(scores)
    return np.asarray(found @ v)


@_wide
def sum(x: Array, axis: int = -1) -> Array:
    return np.asarray(x.sum(axis))


@_wide
def max(x: Array, axis: int = -1) -> Array:
    return np.asarray(x.max(axis))


def argmax(x: Array, axis: int = -1) -> Array:
    return np.asarray(x.argmax(axis)).astype(np.uint32)
