"""Steel's products of picked matrices: gather_mm, gather_mm_rhs over sorted groups of rows, segmented_mm."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Case, Output, Size, Work, poisoned
from conformance.results.mlx.gemm import SMALL, Tile, allowed, operand, parameters, plain, struct
from conformance.results.mlx.templates import (
    DTYPES,
    SHORT,
    TYPES,
    indices,
    ints,
    launch,
    longs,
    up,
    values,
)  # fmt: skip

GATHER = "steel/gemm/kernels/steel_gemm_gather.h"
SEGMENTED = "steel/gemm/kernels/steel_gemm_segmented.h"
ROWS = Tile(16, 64, 16, 1, 2)  # what the host takes for gather_mm_rhs
WIDE = Tile(64, 32, 32, 2, 2)


def _gather(
    rng: np.random.Generator, size: Size, type: str, tile: Tile, shape: tuple[int, int, int], ta: bool, tb: bool,
    axes: int,
) -> Work:  # fmt: skip
    """Matrices by index; with two axes the left index is broadcast, and batches of A have two axes."""
    m, n, k = shape if size == "small" else (shape[0] + tile.bm, shape[1] + 2 * tile.bn, shape[2] + 40)
    a, b = operand(rng, type, m, k, ta, 4), operand(rng, type, k, n, tb, 3)
    left, right = indices(3, 1), indices(2, 0) if axes == 1 else indices(2, 0, 1, 2)
    shape_of = (2,) if axes == 1 else (2, 2)
    strides = (longs(1), longs(1)) if axes == 1 else (longs(0, 1), longs(2, 1))
    c = poisoned((*shape_of, m, n), DTYPES[type])
    fields = parameters(tile, m, n, k, a, b, batch_ndim=axes, batch_stride_a=int(strides[0][0]),
                        batch_stride_b=int(strides[1][0]))  # fmt: skip
    am, an, ak = tile.aligned(m, n, k)
    step = launch(
        GATHER,
        "gather_mm",
        (type, *tile.parameters, ta, tb),
        (
            a, b, left, right, c, struct("params", fields), ints(*shape_of), *strides,
            2, ints(2, 2), longs(2 * m * k, m * k), 1, ints(3), longs(k * n),
        ),
        tile.threadgroup,
        (fields["tiles_n"], fields["tiles_m"], 2**axes),
        constants={10: axes > 1, 200: am, 201: an, 202: ak},
    )  # fmt: skip
    expected = plain(a, ta)[np.broadcast_to(left, shape_of)] @ plain(b, tb)[right.reshape(shape_of)]
    return Work((step,), (Output("C", c, expected, allowed(c, k)),))


def _rhs(
    rng: np.random.Generator, size: Size, type: str, groups: tuple[int, ...], n: int, k: int, tb: bool,
    tile: Tile = ROWS,
) -> Work:  # fmt: skip
    """Rows sorted by the matrix they are multiplied with; `groups` says how many rows each has."""
    if size == "large":
        groups, n, k = tuple(3 * g for g in groups), n + 64, k + 50
    m = sum(groups)
    starts = np.cumsum([0, *groups[:-1]]).astype(np.int32)
    a, b = operand(rng, type, m, k, False)[0], operand(rng, type, k, n, tb, len(groups))
    c = poisoned((m, n), DTYPES[type])
    fields = parameters(tile, m, n, k, a, b, batch_stride_b=k * n, batch_stride_d=0)
    am, an, ak = tile.aligned(m, n, k)
    step = launch(
        GATHER,
        "gather_mm_rhs",
        (type, *tile.parameters, False, tb),
        (a, b, starts, c, struct("params", fields), len(groups)),
        tile.threadgroup,
        (fields["tiles_n"], up(m, tile.bm) + len(groups) - 1, 1),
        constants={10: False, 200: am, 201: an, 202: ak},
    )
    picks = np.repeat(np.arange(len(groups)), groups)
    expected = np.einsum("mk,mkn->mn", values(a), plain(b, tb)[picks])
    return Work((step,), (Output("C", c, expected, allowed(c, k)),))


def _segmented(
    rng: np.random.Generator, size: Size, type: str, m: int, n: int, ta: bool, tb: bool, contiguous: bool,
    tile: Tile = SMALL,
) -> Work:  # fmt: skip
    """Products over segments of K, one of them empty; or neighbours that share their ends."""
    k = {"small": 50, "large": 300}[size]
    ends = [(0, 16), (3, 40), (20, 20), (k - 7, k)] if contiguous else [(0, 5), (5, 37), (37, k)]
    table = np.array(ends if contiguous else [0, *(end for _, end in ends)], np.uint32)
    a, b = operand(rng, type, m, k, ta)[0], operand(rng, type, k, n, tb)[0]
    c = poisoned((len(ends), m, n), DTYPES[type])
    fields = parameters(tile, m, n, k, a, b, gemm_k_iterations_aligned=0)
    am, an, _ = tile.aligned(m, n, k)
    step = launch(
        SEGMENTED,
        "segmented_mm",
        (type, *tile.parameters, ta, tb),
        (a, b, table, c, struct("params", fields)),
        tile.threadgroup,
        (fields["tiles_n"], fields["tiles_m"], len(ends)),
        constants={199: contiguous, 200: am, 201: an},
    )
    left, right = plain(a, ta), plain(b, tb)
    expected = np.stack([left[:, start:end] @ right[start:end] for start, end in ends])
    return Work((step,), (Output("C", c, expected, allowed(c, k)),))


def cases() -> list[Case]:
    def case(name: str, make: Any) -> Case:
        return Case("mlx", "gemm_gather", name, make)

    made: list[Case] = []
    for type in TYPES:
        short = SHORT[type]
        for tile, shape, ta, tb, axes in (
            (SMALL, (32, 32, 16), False, False, 1), (SMALL, (5, 35, 19), False, True, 2),
            (SMALL, (33, 32, 20), True, False, 1), (WIDE, (9, 32, 35), False, True, 2),
        ):  # fmt: skip
            make = partial(_gather, type=type, tile=tile, shape=shape, ta=ta, tb=tb, axes=axes)
            label = "tn"[not ta] + "tn"[not tb]
            made.append(case(f"gather_mm {label} {short} {'x'.join(map(str, shape))}, {axes} axes", make))
        for groups, n, k, tb in (
            ((3, 0, 5), 64, 16, False), ((16, 1), 70, 21, True), ((17, 2), 64, 21, False), ((4, 0, 0, 9), 33, 32, True),
        ):  # fmt: skip
            make = partial(_rhs, type=type, groups=groups, n=n, k=k, tb=tb)
            label = "nt" if tb else "nn"
            made.append(case(f"gather_mm_rhs {label} {short}, groups of {', '.join(map(str, groups))}", make))
        for m, n, ta, tb, contiguous in (
            (32, 32, False, False, True), (9, 32, True, False, True), (32, 11, False, True, False),
            (7, 35, True, True, True),
        ):  # fmt: skip
            make = partial(_segmented, type=type, m=m, n=n, ta=ta, tb=tb, contiguous=contiguous)
            made.append(case(f"segmented_mm {short} {m}x{n}{'' if contiguous else ', shared ends'}", make))
    many = partial(_rhs, type="float", groups=(1, *([0] * 33), 2, 1), n=17, k=16, tb=True)
    made.append(case("gather_mm_rhs nt f32, more groups than lanes", many))
    large = partial(
        _gather, type="float", tile=Tile(64, 64, 16, 2, 2), shape=(10, 65, 17), ta=True, tb=True, axes=1
    )
    made.append(case("gather_mm tt f32, tiles of 64", large))
    return made
