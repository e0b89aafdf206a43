"""Attention over keys and values that lie in rows or in pages; prefill and decode are the same kernel.

Arrays are (batch, heads, time, dimension), or without the batch. Queries may have a multiple of the heads of the
keys, and 32 bits where these have 16. All strides are used as they are, as long as a row has no gaps.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from metalloid.forms.mlx_arrays import span
from metalloid.kernels.arrays import Array, contiguous, empty, float_name, has_shape, refuse, taken
from metalloid.kernels.families import kernel

ROWS = 4  # the most queries that one SIMD-group takes
MOST = 256  # dimensions of a head


def attention(q: Any, k: Any, v: Any, *, scale: float | None = None, causal: bool = False) -> Any:
    """softmax(q @ k^T * scale) @ v. With `causal` the last query sees all keys, the one before it one less."""
    give, (queries, keys, values) = taken("attention", q, k, v)
    if queries.ndim == 3:
        one = _attention(queries[None], keys[None], values[None], scale, causal)
        return give(one[0])
    return give(_attention(queries, keys, values, scale, causal))


def _attention(q: Array, k: Array, v: Array, scale: float | None, causal: bool) -> Array:
    types = _checked("attention", q, k, v)
    batch, heads, n, d = q.shape
    if k.shape[0] != batch:
        refuse("attention", f"keys of a batch of {batch}", str(k.shape))
    out = empty(q.shape, q.dtype)
    if out.size == 0 or k.shape[2] == 0:
        out.fill(0)
        return out
    (a, *a_steps), (b, *b_steps), (c, *c_steps) = _steps(q), _steps(k), _steps(v)
    sizes = _sizes(q, k, k.shape[2], a_steps, b_steps, c_steps, causal, 0, 0, scale)
    shared = heads // k.shape[1] * n
    together = min(ROWS, shared)
    groups = (-(-shared // together), k.shape[1], batch)
    kernel("attention", f"attention_{types}", D=d, ROWS=together)(
        a, b, c, out, sizes, threadgroups=groups, threadgroup=(32, 1, 1)
    )
    return out


def paged_attention(
    q: Any, k: Any, v: Any, table: Any, lengths: Any, *, scale: float | None = None, causal: bool = True
) -> Any:
    """Attention over pages of keys and values, (pages, heads, keys of a page, dimension).

    `table` has a row per sequence of the batch: which pages hold its keys, in their order; `lengths` says how many
    keys there are. Queries are the last ones of each sequence.
    """
    give, (queries, keys, values, pages, counts) = taken("paged_attention", q, k, v, table, lengths)
    if queries.ndim != 4:
        refuse("paged_attention", "queries (batch, heads, time, dimension)", str(queries.shape))
    types = _checked("paged_attention", queries, keys, values)
    batch, heads, n, d = queries.shape
    size = keys.shape[2]
    has_shape("paged_attention", "lengths", counts, (batch,))
    if pages.ndim != 2 or len(pages) != batch:
        refuse("paged_attention", f"a table with {batch} rows of pages", str(pages.shape))
    out = empty(queries.shape, queries.dtype)
    if out.size == 0:
        return give(out)
    _in_range(pages, counts, size, len(keys))
    (a, *a_steps), (b, *b_steps), (c, *c_steps) = _steps(queries), _steps(keys), _steps(values)
    sizes = _sizes(queries, keys, 0, a_steps, b_steps, c_steps, causal, size, pages.shape[1], scale)
    shared = heads // keys.shape[1] * n
    together = min(ROWS, shared)
    groups = (-(-shared // together), keys.shape[1], batch)
    kernel("attention", f"paged_attention_{types}", D=d, ROWS=together)(
        a,
        b,
        c,
        out,
        sizes,
        contiguous(pages.astype(np.uint32, copy=False)),
        contiguous(counts.astype(np.uint32, copy=False)),
        threadgroups=groups,
        threadgroup=(32, 1, 1),
    )
    return give(out)


def _in_range(table: Array, lengths: Array, size: int, pages: int) -> None:
    for name, array in (("a table", table), ("lengths", lengths)):
        if array.dtype.kind not in "iu":
            refuse("paged_attention", f"{name} of integers", str(array.dtype))
    if lengths.min() < 0 or lengths.max() > table.shape[1] * size:
        refuse(
            "paged_attention",
            f"lengths up to {table.shape[1]} pages of {size} keys",
            f"{lengths.min()} to {lengths.max()}",
        )
    used = -(-lengths // size)[:, None] > np.arange(table.shape[1])
    if used.any() and not (table[used].min() >= 0 and table[used].max() < pages):
        refuse(
            "paged_attention",
            f"page numbers below {pages}",
            f"{table[used].min()} to {table[used].max()}",
        )


def _checked(operation: str, q: Array, k: Array, v: Array) -> str:
    """The dtypes in a kernel's name."""
    if q.ndim != 4 or k.ndim != 4:
        refuse(operation, "(batch, heads, time, dimension)", f"{q.shape} and {k.shape}")
    has_shape(operation, "values", v, k.shape)
    d = q.shape[3]
    if k.shape[3] != d or k.shape[1] == 0 or q.shape[1] % k.shape[1]:
        refuse(
            operation,
            "keys of the queries' dimension, in a divisor of their heads",
            f"{q.shape} and {k.shape}",
        )
    if not 0 < d <= MOST:
        refuse(operation, f"1 to {MOST} dimensions", str(d))
    types = f"{float_name(operation, q)}_{float_name(operation, k)}"
    if v.dtype != k.dtype or (k.dtype != q.dtype and q.dtype != np.float32):
        refuse(operation, f"keys and values of {q.dtype}", f"{k.dtype} and {v.dtype}")
    return types


def _steps(array: Array) -> tuple[Array, int, int, int]:
    """The memory, and how many elements lie between neighbours of the first three axes."""
    size = array.itemsize
    if array.flags.c_contiguous:
        _, heads, n, d = array.shape
        return array, heads * n * d, n * d, d
    if array.strides[3] != size or min(array.strides) < 0 or any(s % size for s in array.strides):
        return _steps(contiguous(array))
    batch, head, row, _ = array.strides
    return span(array).array, batch // size, head // size, row // size


def _sizes(
    q: Array,
    k: Array,
    keys: int,
    a: list[int],
    b: list[int],
    c: list[int],
    causal: bool,
    page: int,
    most_pages: int,
    scale: float | None,
) -> Array:
    """The struct Attention of attention.metal."""
    _, heads, n, d = q.shape
    packed = struct.pack(
        "8I5Q3If",
        *(heads, k.shape[1], n, keys),
        *(a[1], a[2], b[2], c[2]),
        *(a[0], b[1], b[0], c[1], c[0]),
        *(causal, page, most_pages),
        d**-0.5 if scale is None else scale,
    )
    return np.frombuffer(bytearray(packed), np.uint8)
