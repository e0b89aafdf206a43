"""Scaled dot-product attention: sdpa_vector in one and two passes, and the helpers of the blocked form.

Few key heads for many query heads, masks of bool and of numbers, causal ones, sinks; lengths past a tile's edge.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Step, Work, poisoned, tolerance
from conformance.results.mlx.templates import (
    DTYPES,
    SHORT,
    TYPES,
    block_dims,
    launch,
    longs,
    normal,
    strides,
    values,
)

VECTOR, BLOCKED = "sdpa_vector.h", "sdpa_blocked.h"
MASKS = ("", "bool", "number", "causal")


def softmaxed(
    q: Array, k: Array, v: Array, scale: float, mask: Array | None, sinks: Array | None = None
) -> tuple[Array, Array]:
    """The result of (batch, heads, length, size) operands, and the logarithm of each row's sum."""
    many = q.shape[1] // k.shape[1]
    keys, numbers = values(k).repeat(many, 1), values(v).repeat(many, 1)
    scores = values(q) @ np.swapaxes(keys, -1, -2) * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + values(mask)
    top = scores.max(-1, keepdims=True)
    if sinks is not None:
        top = np.maximum(top, values(sinks)[:, None, None])
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(values(sinks)[:, None, None] - top)
    return weights @ numbers / total, (top + np.log(total))[..., 0]


def causal(rows: int, columns: int) -> Array:
    """Rows are the last ones of a sequence of `columns`."""
    return np.arange(columns) <= np.arange(rows)[:, None] + columns - rows


def mask_of(rng: np.random.Generator, kind: str, type: str, *shape: int) -> Array:
    if kind == "number":
        return normal(rng, type, *shape)
    made = rng.random(shape) < 0.6
    made[..., 0] = True
    return made


def allowed(out: Array) -> float:
    """fast::exp is good to 3 + |2x| ulp."""
    return max(tolerance(out, 1.5), 1e-5)


def _vector(
    rng: np.random.Generator, size: Size, type: str, dim: int, value_dim: int, kind: str, transposed: bool, sinks: bool,
    blocks: int = 0, ahead: int = 4,
) -> Work:  # fmt: skip
    """A few queries; `blocks` splits the keys for two passes, `transposed` lays queries out sequence first."""
    kv_heads, many, rows, length = {"small": (1, 2, 2, 37), "large": (2, 3, 4, 333)}[size]
    heads = kv_heads * many
    q = normal(rng, type, 1, heads, rows, dim)
    k, v = (
        normal(rng, type, 1, kv_heads, length + 3, dim),
        normal(rng, type, 1, kv_heads, length + 3, value_dim),
    )
    given = np.ascontiguousarray(np.swapaxes(q, 1, 2)) if transposed else q
    mask = mask_of(rng, kind, type, heads, rows, length) if kind in ("bool", "number") else None
    sink = normal(rng, type, heads)
    scale, out = dim**-0.5, poisoned((1, heads, rows, value_dim), DTYPES[type])
    tail: tuple[Any, ...] = ()
    if mask is not None:
        tail = (mask, 1, length, rows * length)
    if sinks:
        tail += (sink, heads) if not blocks else (sink,)
    constants = {
        20: mask is not None, 21: transposed, 22: kind == "causal", 23: kind == "bool", 24: kind == "number", 25: sinks,
        26: blocks,
    }  # fmt: skip
    layout = (k[0, 0].size, dim, v[0, 0].size, value_dim, scale)
    if not blocks:
        step = launch(VECTOR, "sdpa_vector", (type, dim, value_dim),
                      (given, k, v, out, many, length, *layout, *tail), (1024, 1, 1), (heads, rows, 1),
                      constants=constants)  # fmt: skip
        steps: tuple[Step, ...] = (step,)
    else:
        parts, sums, tops = _partials(type, heads, rows, blocks, value_dim)
        first = launch(VECTOR, "sdpa_vector_2pass_1", (type, dim, value_dim, ahead),
                       (given, k, v, parts, sums, tops, length, *layout, *tail), (32, many, rows),
                       (kv_heads, 1, blocks), constants=constants)  # fmt: skip
        steps = (first, _second(type, value_dim, parts, sums, tops, out, blocks, heads, rows, constants))
    seen = causal(rows, length) if kind == "causal" else mask
    expected, _ = softmaxed(q, k[:, :, :length], v[:, :, :length], scale, seen, sink if sinks else None)
    looser = 2 if blocks else 1
    return Work(steps, (Output("out", out, expected, looser * allowed(out)),))


def _partials(type: str, heads: int, rows: int, blocks: int, dim: int) -> tuple[Array, Array, Array]:
    shape = (heads, rows, blocks)
    return poisoned((*shape, dim), DTYPES[type]), poisoned(shape), poisoned(shape)


def _second(
    type: str, dim: int, parts: Array, sums: Array, tops: Array, out: Array, blocks: int, heads: int, rows: int,
    constants: dict[str | int, Any],
) -> Step:  # fmt: skip
    return launch(VECTOR, "sdpa_vector_2pass_2", (type, dim), (parts, sums, tops, out, blocks), (1024, 1, 1),
                  (heads, rows, 1), constants=constants)  # fmt: skip


def _grouped(rng: np.random.Generator, size: Size, type: str, dim: int, many: int, per: int) -> Work:
    """One query per head, `many` heads share their keys, and a SIMD-group takes `per` of them."""
    kv_heads, length = {"small": (1, 45), "large": (3, 700)}[size]
    heads, blocks = kv_heads * many, 32
    q, k, v = (
        normal(rng, type, 1, n, rows, dim) for n, rows in ((heads, 1), (kv_heads, length), (kv_heads, length))
    )
    out, scale = poisoned((1, heads, 1, dim), DTYPES[type]), dim**-0.5
    parts, sums, tops = _partials(type, heads, 1, blocks, dim)
    constants: dict[str | int, Any] = {**dict.fromkeys(range(20, 26), False), 26: blocks}
    first = launch(VECTOR, "sdpa_vector_2pass_1_gqa", (type, dim, dim, many, per),
                   (q, k, v, parts, sums, tops, length, k[0, 0].size, dim, v[0, 0].size, dim, scale), (32, many, 1),
                   (kv_heads, 1, blocks), constants=constants)  # fmt: skip
    second = _second(type, dim, parts, sums, tops, out, blocks, heads, 1, constants)
    expected, _ = softmaxed(q, k, v, scale, None)
    return Work((first, second), (Output("out", out, expected, 2 * allowed(out)),))


def _scale_copy(rng: np.random.Generator, size: Size, type: str) -> Work:
    """Rows of a transposed query from an offset on, scaled."""
    batch, heads, length, dim, rows, offset = {
        "small": (2, 3, 7, 24, 5, 2),
        "large": (2, 4, 99, 128, 64, 32),
    }[size]
    memory = normal(rng, type, batch, length, heads, dim)
    q = np.swapaxes(memory, 1, 2)
    out, scale = poisoned((batch, heads, rows, dim), DTYPES[type]), 0.3
    step = launch(BLOCKED, "sdpa_blocked_scale_copy", (type,),
                  (memory, out, scale, longs(*strides(q)), heads, rows, dim, offset),
                  block_dims(dim, rows, batch * heads), grid=(dim, rows, batch * heads))  # fmt: skip
    expected = values(q[:, :, offset : offset + rows]) * float(DTYPES[type].type(scale))
    return Work((step,), (Output("q_block", out, expected, tolerance(out)),))


def _causal_mask(rng: np.random.Generator, size: Size, type: str) -> Work:
    """The last `tile` columns of each row, above the diagonal, become the least number."""
    heads, tile, columns = {"small": (3, 9, 21), "large": (4, 64, 200)}[size]
    scores = normal(rng, type, heads * tile, columns)
    expected = values(scores)
    least = -65504.0 if type == "float16_t" else -3.3895313892515355e38
    above = np.arange(tile)[None] > (np.arange(heads * tile) % tile)[:, None]
    expected[:, columns - tile :][above] = least
    step = launch(BLOCKED, "sdpa_blocked_causal_mask", (type,), (scores, tile, columns),
                  block_dims(tile, heads * tile, 1), grid=(tile, heads * tile, 1))  # fmt: skip
    return Work((step,), (Output("scores", scores, expected),))


def cases() -> list[Case]:
    made: list[Case] = []

    def add(name: str, make: Any) -> None:
        made.append(Case("mlx", "attention", name, make))

    for type in TYPES:
        short = SHORT[type]
        for n, kind in enumerate(MASKS):
            words = f"{short}{', mask ' if kind else ''}{kind}"
            given = {"type": type, "kind": kind, "transposed": n % 2 == 1, "sinks": n == 3}
            dim, other = (64, 64, 96, 128)[n], (64, 96)[n % 2]
            add(f"vector {words}, {dim}", partial(_vector, dim=dim, value_dim=dim, **given))
            two = partial(_vector, dim=other, value_dim=other, blocks=32, **given)
            add(f"vector in two passes {words}", two)
        plain = {"type": type, "kind": "", "transposed": False, "sinks": False}
        add(f"vector {short}, 256", partial(_vector, dim=256, value_dim=256, **plain))
        add(f"grouped {short}", partial(_grouped, type=type, dim=64, many=8, per=4 if type == "float" else 2))
    uneven = {"type": "float", "dim": 192, "value_dim": 128, "kind": "causal"}
    add(
        "vector f32, keys of 192 and values of 128", partial(_vector, transposed=False, sinks=False, **uneven)
    )
    many = {"type": "float", "dim": 128, "value_dim": 128, "kind": "causal", "blocks": 64, "ahead": 1}
    add("vector f32 in two passes, 64 blocks", partial(_vector, transposed=True, sinks=True, **many))
    for type in TYPES[1:]:
        add(f"blocked scale_copy {SHORT[type]}", partial(_scale_copy, type=type))
        add(f"blocked causal_mask {SHORT[type]}", partial(_causal_mask, type=type))
    return made
