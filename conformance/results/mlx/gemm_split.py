"""Products split along K: partial products in float, and a kernel that adds them up, with or without a source."""

from __future__ import annotations

from functools import partial

import numpy as np

from conformance.results.case import Case, Output, Size, Work, poisoned
from conformance.results.mlx.gemm import Tile, allowed, operand, plain, struct
from conformance.results.mlx.templates import (
    DTYPES,
    SHORT,
    TYPES,
    block_dims,
    launch,
    normal,
    up,
    values,
)

SPLIT = "steel/gemm/kernels/steel_gemm_splitk.h"


def _split(
    rng: np.random.Generator, size: Size, type: str, shape: tuple[int, int, int], ta: bool, tb: bool, axpby: bool
) -> Work:  # fmt: skip
    """Partitions of K give partial products in float, which a second kernel adds up."""
    m, n, k = shape if size == "small" else (shape[0] + 40, shape[1] + 40, shape[2] + 160)
    tile = Tile(16 if m < 40 else 32, 16 if n < 40 else 32, 16, 2, 2)
    whole = k // 16
    partitions = 2 if whole < 16 else 4 if whole < 32 else 8 if whole < 64 else 16
    iterations = whole // partitions
    a, b = operand(rng, type, m, k, ta), operand(rng, type, k, n, tb)
    c, partial_type = normal(rng, type, m, n), "complex64_t" if type == "complex64_t" else "float"
    parts, d = poisoned((partitions, m, n), DTYPES[partial_type]), poisoned((m, n), DTYPES[type])
    fields = {
        "M": m, "N": n, "K": k, "lda": a.shape[-1], "ldb": b.shape[-1], "ldc": n,
        "tiles_n": up(n, tile.bn), "tiles_m": up(m, tile.bm), "split_k_partitions": partitions,
        "split_k_partition_stride": m * n, "split_k_partition_size": iterations * 16, "swizzle_log": 0,
        "gemm_k_iterations_aligned": iterations,
    }  # fmt: skip
    am, an, ak = tile.aligned(m, n, k)
    products = launch(
        SPLIT,
        "gemm_splitk",
        (type, partial_type, *tile.parameters, ta, tb, am and an, ak),
        (a, b, parts, struct("split", fields)),
        tile.threadgroup,
        (fields["tiles_n"], fields["tiles_m"], partitions),
    )
    alpha, beta = (0.5, 3.0) if axpby else (1.0, 0.0)
    sums = launch(
        SPLIT,
        "gemm_splitk_accum_axpby" if axpby else "gemm_splitk_accum",
        (partial_type, type),
        (parts, d, partitions, m * n, n, *((c, n, 1, alpha, beta) if axpby else ())),
        block_dims(n, m, 1),
        grid=(n, m, 1),
    )
    expected = (plain(a, ta) @ plain(b, tb))[0] * alpha + (values(c) * beta if axpby else 0)
    return Work((products, sums), (Output("D", d, expected, 2 * allowed(d, k)),))


CASES = (
    ((16, 16, 128), False, False, False), ((17, 16, 130), False, True, True),
    ((7, 19, 144), True, False, False), ((16, 32, 137), True, True, True),
)  # fmt: skip


def cases() -> list[Case]:
    made: list[Case] = []
    for type in (*TYPES, "complex64_t"):
        for shape, ta, tb, axpby in (
            CASES if type != "complex64_t" else (((17, 16, 130), False, False, False),)
        ):
            make = partial(_split, type=type, shape=shape, ta=ta, tb=tb, axpby=axpby)
            label = "tn"[not ta] + "tn"[not tb]
            name = f"splitk {label} {SHORT[type]} {'x'.join(map(str, shape))}{', axpby' * axpby}"
            made.append(Case("mlx", "gemm", name, make))
    return made
