"""Matrix products: A @ B and A @ B^T, single, batched, and with vectors.

Which kernel is best depends on how many rows A has. For a few, reading B is all the work, and it is read as it
lies. For many, B is packed into panels of 64 columns first, and each thread keeps seven sums of its column.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from metalloid.kernels.arrays import (
    FLOATS,
    Array,
    contiguous,
    empty,
    float_name,
    joined,
    matrices,
    refuse,
    rows,
    taken,
)
from metalloid.kernels.families import kernel

PANEL = 64  # columns of B that one threadgroup of the register kernel takes
ROWS = 6  # rows of A that it takes: with those of B, all in 32 registers
FEW_DOTS = 64  # rows of A up to which A @ B^T is best as dot products
FEW_COLUMNS = 16  # rows of A up to which A @ B is best without packing B


def matmul(a: Any, b: Any, transpose_b: bool = False, variant: str | None = None) -> Any:
    """a @ b, or a @ b^T, of float32, float16 or bfloat16, summed in float32; numpy's rules for vectors and batches.

    b may have 16 bits where a has 32. `variant` is one of VARIANTS; without it the size decides.
    """
    give, (x, y) = taken("matmul", a, b)
    if x.ndim == 0 or y.ndim == 0:
        refuse("matmul", "arrays with one axis or more", f"{x.shape} and {y.shape}")
    left, right = x, y
    if x.ndim == 1:
        left = x[None]
    if y.ndim == 1:  # a row either way
        right, transpose_b = y[None], True
    out = _product(left, right, transpose_b, variant)
    if y.ndim == 1:
        out = out[..., 0]
    if x.ndim == 1:
        out = out[..., 0, :] if y.ndim > 1 else out[..., 0]
    return give(out)


def matvec(a: Any, x: Any) -> Any:
    """a @ x for a matrix and a vector; a may have 16 bits where x has 32."""
    give, (matrix, vector) = taken("matvec", a, x)
    if matrix.ndim != 2 or vector.ndim != 1:
        refuse("matvec", "a matrix and a vector", f"{matrix.shape} and {vector.shape}")
    return give(_product(vector[None], matrix, True, None)[0])


def _product(a: Array, b: Array, transposed: bool, variant: str | None) -> Array:
    k = b.shape[-1] if transposed else b.shape[-2]
    n = b.shape[-2] if transposed else b.shape[-1]
    if a.shape[-1] != k:
        wanted = "(..., n, k)" if transposed else "(..., k, n)"
        refuse("matmul", f"(..., m, k) and {wanted}", f"{a.shape} and {b.shape}")
    types = f"{float_name('matmul', a)}_{float_name('matmul', b)}"
    if a.dtype != b.dtype and a.dtype != np.float32:
        refuse("matmul", f"b of {a.dtype} like a", str(b.dtype))
    if variant in ONE_DTYPE and a.dtype != b.dtype:
        refuse("matmul", f"b of {a.dtype} like a for variant {variant!r}", str(b.dtype))
    batch: tuple[int, ...] = ()
    shape: tuple[int, ...]
    if b.ndim == 2:
        shape = (*a.shape[:-1], n)
        memory, lda = rows(a)
        m, batch_a = prod(a.shape[:-1]), 0
    else:
        try:
            batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        except ValueError:
            refuse("matmul", "batches that go together", f"{a.shape} and {b.shape}")
        m = a.shape[-2]
        shape = (*batch, m, n)
        memory, lda, batch_a = matrices(_spread(a, batch))
    out = empty(shape, a.dtype)
    if out.size == 0 or k == 0:
        out.fill(0)
        return out
    if not transposed and _by_columns(b):
        b, transposed = b.swapaxes(-1, -2), True
    elif transposed and _by_columns(b):
        b, transposed = b.swapaxes(-1, -2), False
    other, ldb, batch_b = matrices(_spread(b, batch))
    few = FEW_DOTS if transposed else FEW_COLUMNS
    chosen = variant or ("direct" if m <= few else "registers")
    run = VARIANTS.get(chosen)
    if run is None:
        refuse("matmul", f"a variant of {', '.join(VARIANTS)}", repr(variant))
    run(
        memory,
        other,
        out,
        (m, n, k, lda, ldb, batch_a, batch_b),
        prod(batch),
        types,
        transposed,
    )
    return out


def _spread(array: Array, batch: tuple[int, ...]) -> Array:
    """The array over the whole batch; memory that repeats is not copied where one stride can say so."""
    if array.shape[:-2] == batch or prod(array.shape[:-2]) == prod(batch):
        return array
    spread = np.broadcast_to(array, (*batch, *array.shape[-2:]))
    return spread if joined(spread, len(batch)) is not None else contiguous(spread)


def _by_columns(b: Array) -> bool:
    """Whether a matrix is the transposed view of one whose rows lie in memory."""
    return b.strides[-1] != b.itemsize and b.strides[-2] == b.itemsize and min(b.shape[-2:]) > 1


Sizes = tuple[int, int, int, int, int, int, int]


@lru_cache(maxsize=1024)
def _shape(sizes: Sizes) -> Array:
    """The struct Shape of matmul.metal."""
    return np.frombuffer(bytearray(struct.pack("5I4x2Q", *sizes)), np.uint8)


def _tiled(tile: int) -> Callable[..., None]:
    def run(a: Array, b: Array, out: Array, s: Sizes, batch: int, types: str, transposed: bool) -> None:
        name = f"matmul_tile{tile}_{'nt' if transposed else 'nn'}_{types}"
        grid = (_up(s[1], tile), _up(s[0], tile), batch)
        kernel("matmul", name)(a, b, out, _shape(s), grid=grid, threadgroup=(tile, tile, 1))

    return run


def _simdgroup(a: Array, b: Array, out: Array, s: Sizes, batch: int, types: str, transposed: bool) -> None:
    name = f"matmul_simdgroup_{'nt' if transposed else 'nn'}_{types}"
    groups = (-(-s[1] // 32), -(-s[0] // 32), batch)
    kernel("matmul", name)(a, b, out, _shape(s), threadgroups=groups, threadgroup=(128, 1, 1))


def _direct(a: Array, b: Array, out: Array, s: Sizes, batch: int, types: str, transposed: bool) -> None:
    m, n = s[:2]
    if transposed:
        height = 1 if m < 3 else 3
        groups = (-(-n // 4), -(-m // height), batch)
        run = kernel("matmul", f"matmul_dots{height}_{types}")
        run(a, b, out, _shape(s), threadgroups=groups, threadgroup=(32, 1, 1))
    else:
        height = 1 if m < 3 else 4
        groups = (-(-n // 256), -(-m // height), batch)
        run = kernel("matmul", f"matmul_columns{height}_{types}")
        run(a, b, out, _shape(s), threadgroups=groups, threadgroup=(256, 1, 1))


def _registers(a: Array, b: Array, out: Array, s: Sizes, batch: int, types: str, transposed: bool) -> None:
    m, n, k, lda, _, batch_a, batch_b = s
    width, many = _up(n, PANEL), batch if batch_b else 1
    panels = empty((many, width, k), np.float32)
    if transposed:
        kernel("matmul", f"pack_rows_{FLOATS[b.dtype]}")(
            b,
            panels,
            _shape(s),
            threadgroups=(width // PANEL, -(-k // 8), many),
            threadgroup=(PANEL, 1, 1),
        )
    else:
        kernel("matmul", f"pack_columns_{FLOATS[b.dtype]}")(
            b, panels, _shape(s), grid=(width, k, many), threadgroup=(PANEL, 1, 1)
        )
    if a.dtype != np.float32:
        floats = empty((batch if batch_a else 1, m, k), np.float32)
        kernel("matmul", f"to_float_{FLOATS[a.dtype]}")(
            a, floats, _shape(s), threadgroups=(-(-k // 256), m, len(floats)), threadgroup=(256, 1, 1)
        )
        a, lda, batch_a = floats, k, m * k if batch_a else 0
    kernel("matmul", f"matmul_registers_{FLOATS[out.dtype]}")(
        a,
        panels,
        out,
        _shape((m, n, k, lda, 0, batch_a, width * k if batch_b else 0)),
        threadgroups=(width // PANEL, -(-m // ROWS), batch),
        threadgroup=(PANEL, 1, 1),
    )


def _up(n: int, step: int) -> int:
    return -(-n // step) * step


VARIANTS: dict[str, Callable[..., None]] = {
    "tile16": _tiled(16),
    "tile32": _tiled(32),
    "simdgroup": _simdgroup,
    "registers": _registers,
    "direct": _direct,
}
ONE_DTYPE = ("tile16", "tile32", "simdgroup")  # those that take A and B of the same dtype only
