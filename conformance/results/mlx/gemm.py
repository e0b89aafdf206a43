"""Steel's matrix products: fused with a source (axpby) and batched.

Every transposition, aligned and unaligned in each of M, N and K; tiles that run past the edge of the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Step, Work, poisoned, tolerance
from conformance.results.mlx.templates import (
    DTYPES,
    SHORT,
    TYPES,
    followed,
    ints,
    launch,
    longs,
    normal,
    up,
    values,
)  # fmt: skip

FUSED = "steel/gemm/kernels/steel_gemm_fused.h"


@dataclass(frozen=True)
class Tile:
    """What a threadgroup computes, and the SIMD-groups it has for it."""

    bm: int
    bn: int
    bk: int
    wm: int
    wn: int

    @property
    def parameters(self) -> tuple[int, ...]:
        return self.bm, self.bn, self.bk, self.wm, self.wn

    @property
    def threadgroup(self) -> tuple[int, int, int]:
        return 32, self.wn, self.wm

    def aligned(self, m: int, n: int, k: int) -> tuple[bool, bool, bool]:
        return m % self.bm == 0, n % self.bn == 0, k % self.bk == 0


SMALL = Tile(32, 32, 16, 2, 2)
TILES = (
    Tile(64, 64, 16, 2, 2), Tile(64, 64, 16, 1, 2), Tile(64, 32, 32, 2, 2), Tile(32, 64, 16, 1, 2),
    Tile(64, 32, 8, 4, 1),
)  # fmt: skip


def operand(
    rng: np.random.Generator, type: str, rows: int, columns: int, transposed: bool, batch: int = 1
) -> Array:
    """A matrix in memory: its transpose where the kernel is told so."""
    return normal(rng, type, batch, *((columns, rows) if transposed else (rows, columns)))


def plain(array: Array, transposed: bool) -> Array:
    numbers = values(array)
    return np.swapaxes(numbers, -1, -2) if transposed else numbers


def allowed(out: Array, k: int) -> float:
    if out.dtype.kind == "c":
        return 4e-7 * (2 + k**0.5)
    return max(tolerance(out, 1.2), 1.5e-7 * (2 + k**0.5))


def parameters(tile: Tile, m: int, n: int, k: int, a: Array, b: Array, **given: int) -> dict[str, int]:
    """The fields of GEMMParams for row-contiguous operands."""
    fields = {
        "M": m, "N": n, "K": k, "lda": a.shape[-1], "ldb": b.shape[-1], "ldd": n,
        "tiles_n": up(n, tile.bn), "tiles_m": up(m, tile.bm),
        "batch_stride_a": 0, "batch_stride_b": 0, "batch_stride_d": m * n,
        "swizzle_log": 0, "gemm_k_iterations_aligned": k // tile.bk, "batch_ndim": 0,
    }  # fmt: skip
    return fields | given


def _fused(
    rng: np.random.Generator,
    size: Size,
    type: str,
    tile: Tile,
    shape: tuple[int, int, int],
    ta: bool = False,
    tb: bool = False,
    source: tuple[float, float] | None = None,
    batch: int = 1,
    swizzle: int = 0,
) -> Work:
    """D = A B, or alpha A B + beta C with `source` as alpha and beta; `batch` has one axis."""
    m, n, k = (
        shape if size == "small" else (shape[0] + 2 * tile.bm, shape[1] + tile.bn, shape[2] + 5 * tile.bk)
    )
    a, b = operand(rng, type, m, k, ta, batch), operand(rng, type, k, n, tb, batch)
    whole = batch > 1  # a source of the product's shape, or one row for all of its rows
    c = normal(rng, type, batch, m if whole else 1, n)
    d = poisoned((batch, m, n), DTYPES[type])
    alpha, beta = source or (1.0, 0.0)
    fields = parameters(tile, m, n, k, a, b, batch_stride_a=m * k, batch_stride_b=k * n, swizzle_log=swizzle,
                        batch_ndim=1)  # fmt: skip
    # The epilogue at an edge asks for columns only, and reads rows of C past the last one.
    arguments: list[Any] = [
        a,
        b,
        *([followed(c, tile.bm * n)] if source else []),
        d,
        struct("params", fields),
    ]
    if source:
        more = {"ldc": n if whole else 0, "fdc": 1, "batch_stride_c": c[0].size, "alpha": alpha, "beta": beta}
        arguments.append(struct("addmm", more))
    rows, columns = up(fields["tiles_m"], 1 << swizzle), fields["tiles_n"] << swizzle
    step = _step(tile, type, ta, tb, arguments, (columns, rows, batch), fields, source, has_batch=False)
    expected = plain(a, ta) @ plain(b, tb) * alpha + (values(c) * beta if source else 0)
    return Work((step,), (Output("D", d, expected, allowed(d, k)),))


def _broadcast(rng: np.random.Generator, size: Size, type: str, source: tuple[float, float] | None) -> Work:
    """Two batch axes: A is broadcast along the second, B along the first; C has both, transposed."""
    outer, inner, (m, n, k) = {"small": (2, 2, (5, 33, 18)), "large": (3, 2, (70, 33, 50))}[size]
    tile = SMALL
    a, b = operand(rng, type, m, k, False, outer), operand(rng, type, k, n, True, inner)
    c = normal(rng, type, outer, inner, n, m)
    d = poisoned((outer, inner, m, n), DTYPES[type])
    alpha, beta = source or (1.0, 0.0)
    fields = parameters(tile, m, n, k, a, b, batch_ndim=2)
    table = [m * k, 0, 0, k * n, *((inner * m * n, m * n) if source else ())]
    arguments: list[Any] = [a, b, *([followed(c, tile.bm)] if source else []), d, struct("params", fields)]
    if source:
        more = {"ldc": 1, "fdc": m, "batch_stride_c": 0, "alpha": alpha, "beta": beta}
        arguments.append(struct("addmm", more))
    arguments += [ints(outer, inner), longs(*table)]
    grid = (fields["tiles_n"], fields["tiles_m"], outer * inner)
    step = _step(tile, type, False, True, arguments, grid, fields, source, has_batch=True)
    expected = plain(a, False)[:, None] @ plain(b, True)[None] * alpha
    expected += np.swapaxes(values(c), -1, -2) * beta if source else 0
    return Work((step,), (Output("D", d, expected, allowed(d, k)),))


def _step(
    tile: Tile, type: str, ta: bool, tb: bool, arguments: list[Any], grid: tuple[int, int, int],
    fields: dict[str, int], source: tuple[float, float] | None, has_batch: bool,
) -> Step:  # fmt: skip
    m, n, k = tile.aligned(fields["M"], fields["N"], fields["K"])
    axpby = source is not None and source != (1.0, 1.0)
    return launch(
        FUSED,
        "gemm",
        (type, *tile.parameters, ta, tb),
        tuple(arguments),
        tile.threadgroup,
        grid,
        constants={10: has_batch, 100: source is not None, 110: axpby, 200: m, 201: n, 202: k},
    )


PARAMS = np.dtype(
    [(name, np.int32) for name in ("M", "N", "K", "lda", "ldb", "ldd", "tiles_n", "tiles_m")]
    + [(f"batch_stride_{name}", np.int64) for name in "abd"]
    + [(name, np.int32) for name in ("swizzle_log", "gemm_k_iterations_aligned", "batch_ndim", "")],
)
ADDMM = np.dtype(
    [("ldc", np.int32), ("fdc", np.int32), ("batch_stride_c", np.int64), ("alpha", np.float32), ("beta", np.float32)]
)  # fmt: skip
SPLIT_NAMES = (
    "M", "N", "K", "lda", "ldb", "ldc", "tiles_n", "tiles_m", "split_k_partitions",
    "split_k_partition_stride", "split_k_partition_size", "swizzle_log", "gemm_k_iterations_aligned",
)  # fmt: skip
STRUCTS = {"params": PARAMS, "addmm": ADDMM, "split": np.dtype([(name, np.int32) for name in SPLIT_NAMES])}


def struct(kind: str, fields: dict[str, Any]) -> Array:
    """The bytes of a struct that a kernel takes by pointer."""
    made = np.zeros((), STRUCTS[kind])
    for name, value in fields.items():
        made[name] = value
    return np.frombuffer(made.tobytes(), np.uint8).copy()


# M, N and K: aligned in all, in some, in none.
SHAPES = ((32, 32, 32), (32, 32, 21), (33, 32, 16), (32, 37, 16), (5, 40, 35), (35, 33, 3))


def cases() -> list[Case]:
    def case(name: str, make: Any) -> Case:
        return Case("mlx", "gemm", name, make)

    made: list[Case] = []
    for type in TYPES:
        for n, shape in enumerate(SHAPES):
            ta, tb = bool(n & 1), bool(n & 2)
            for one, other in ((ta, tb), (not ta, tb)):
                make = partial(_fused, type=type, tile=SMALL, shape=shape, ta=one, tb=other)
                label = "tn"[not one] + "tn"[not other]
                made.append(case(f"fused {label} {SHORT[type]} {'x'.join(map(str, shape))}", make))
        for n, tile in enumerate(TILES):
            shape = (tile.bm - 3 * (n % 2), tile.bn + (n == 3), tile.bk + 5 * (n != 2))
            ta, tb = (n % 3 == 1), (n % 2 == 0)
            make = partial(_fused, type=type, tile=tile, shape=shape, ta=ta, tb=tb)
            made.append(case(f"fused {SHORT[type]}, tiles {'x'.join(map(str, tile.parameters))}", make))
        for source in ((1.0, 1.0), (0.5, -2.0)):
            for shape, batch in (((32, 32, 16), 1), ((7, 34, 19), 2)):
                make = partial(
                    _fused, type=type, tile=SMALL, shape=shape, tb=True, source=source, batch=batch
                )
                name = f"fused {SHORT[type]} {'x'.join(map(str, shape))}, alpha {source[0]} beta {source[1]}"
                made.append(case(name, make))
            made.append(case(f"fused {SHORT[type]}, batch of two axes, alpha {source[0]}",
                             partial(_broadcast, type=type, source=source)))  # fmt: skip
        made.append(
            case(f"fused {SHORT[type]}, batch of two axes", partial(_broadcast, type=type, source=None))
        )
        swizzled = partial(_fused, type=type, tile=SMALL, shape=(70, 33, 16), swizzle=1)
        made.append(case(f"fused {SHORT[type]}, swizzled tiles", swizzled))
    tile = Tile(64, 32, 8, 4, 1)
    made.append(case("fused nn c64", partial(_fused, type="complex64_t", tile=tile, shape=(17, 32, 19))))
    made.append(
        case("fused nt c64", partial(_fused, type="complex64_t", tile=tile, shape=(64, 9, 8), tb=True))
    )
    return made
