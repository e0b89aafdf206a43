"""Matrices and vectors picked by index (gemv_gather, gemv_t_gather), and a few vectors at once (gemv_wide)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Case, Output, Size, Step, Work, poisoned
from conformance.results.mlx.gemv import HEADER, allowed, blocks, groups_of, matrix_of, product
from conformance.results.mlx.templates import (
    DTYPES,
    SHORT,
    TYPES,
    indices,
    ints,
    launch,
    longs,
    normal,
    strides,
    up,
    values,
)  # fmt: skip


def _gather(
    rng: np.random.Generator, size: Size, type: str, transposed: bool, out: int, k: int, axes: int
) -> Work:
    """Matrices and vectors picked by index; the indices may have two axes, one broadcast."""
    if size == "large":
        out, k = out * 3, k * 2 + 3
    picked = (
        blocks(True, k, out) if transposed else (8 if out >= 4096 else 4, 1, 1, 32, 1 if out < 4 else 4, 4)
    )
    matrices = matrix_of(rng, type, transposed, (2, 2), out, k)
    vectors = normal(rng, type, 3, 1, k)
    picks = indices(3, 0, 2), indices(2, 0, 1)
    shape = (3,) if axes == 1 else (2, 3)
    which = np.broadcast_to(picks[0], shape), np.broadcast_to(picks[1], shape)
    index_strides = longs(1, 1) if axes == 1 else longs(0, 1, 0, 1)
    result = poisoned((*shape, out), DTYPES[type])
    bias = normal(rng, type, 1)
    step = launch(
        HEADER,
        "gemv_t_gather" if transposed else "gemv_gather",
        (type, *picked),
        (
            matrices, vectors, bias, result, k, out, matrices.shape[-1], 1.0, 0.0,
            axes, ints(*shape), index_strides,
            1, ints(3), longs(k), 2, ints(2, 2), longs(*strides(matrices)[:2]), picks[1], picks[0],
        ),
        (32, picked[1], picked[0]),
        (groups_of(picked, transposed, out), 1, int(np.prod(shape))),
    )  # fmt: skip
    chosen = matrices.reshape(4, *matrices.shape[2:])[which[0]]
    expected = product(chosen, vectors[which[1], 0], transposed)
    return Work((step,), (Output("out", result, expected, allowed(result, k)),))


def _wide(
    rng: np.random.Generator, size: Size, type: str, vectors: int, lanes: int, rows: int, k: int, axpby: bool,
    batched: bool,
) -> Work:  # fmt: skip
    """A few vectors against the rows of one matrix: `lanes` lanes sum a row, four elements at a time."""
    out = {"small": 9, "large": 77}[size]
    outer, inner = (2, 2) if batched else (1, 2)
    matrix = normal(rng, type, outer, out, k)
    x = normal(rng, type, inner, rows, k)
    bias = normal(rng, type, outer * inner, rows, out)
    result = poisoned((outer * inner, rows, out), DTYPES[type])
    shape = (2, 2) if batched else (2,)
    vector_strides = (0, rows * k) if batched else (rows * k,)
    matrix_strides = (out * k, 0) if batched else (0,)
    bias_strides = (2 * rows * out, rows * out) if batched else (rows * out,)
    per_group = (32 // lanes) * (lanes // 8)
    alpha, beta = 0.5, 2.0
    arguments: tuple[Any, ...] = (
        matrix, x, *((bias,) if axpby else ()), result, k, out, rows, k, k,
        *((alpha, beta) if axpby else ()),
        len(shape), ints(*shape), longs(*vector_strides), longs(*matrix_strides),
        *((longs(*bias_strides), out, 1) if axpby else ()),
    )  # fmt: skip
    step = launch(
        HEADER,
        "gemv_wide",
        (type, vectors, lanes),
        arguments,
        (32, lanes // 8, 1),
        (max(1, up(rows, vectors) - 1), up(out, per_group), outer * inner),
        constants={0: batched, 1: axpby},
    )
    product = np.einsum("onk,imk->oimn", values(matrix), values(x)).reshape(outer * inner, rows, out)
    expected = product * alpha + values(bias) * beta if axpby else product
    return Work((step,), (Output("out", result, expected, 2 * allowed(result, k)),))


def _wide_gather(rng: np.random.Generator, size: Size, type: str, vectors: int, lanes: int) -> Work:
    out, k, rows = {"small": (9, 68, 3), "large": (77, 260, 7)}[size]
    matrices, x = normal(rng, type, 4, out, k), normal(rng, type, 3, rows, k)
    picks = indices(3, 0, 2), indices(2, 0, 1)
    result = poisoned((3, rows, out), DTYPES[type])
    step: Step = launch(
        HEADER,
        "gemv_wide_gather",
        (type, vectors, lanes),
        (
            matrices, x, normal(rng, type, 1), result, k, out, rows, k, k,
            1, ints(3), longs(1, 1), 1, ints(3), longs(rows * k), 1, ints(4), longs(out * k),
            picks[1], picks[0],
        ),
        (32, lanes // 8, 1),
        (up(rows, vectors), up(out, (32 // lanes) * (lanes // 8)), 3),
        constants={0: False, 1: False},
    )  # fmt: skip
    expected = np.einsum("bnk,bmk->bmn", values(matrices[picks[0]]), values(x[picks[1]]))
    return Work((step,), (Output("out", result, expected, allowed(result, k)),))


PICKED = ((False, 7, 70, 1), (False, 3, 70, 2), (True, 9, 33, 1), (True, 2, 20, 2))
WIDE = (
    ("bfloat16_t", 2, 16, 3, 68, False, False), ("bfloat16_t", 4, 16, 5, 520, True, False),
    ("float16_t", 4, 32, 7, 132, False, True), ("float", 4, 16, 9, 60, True, True),
    ("float", 2, 32, 2, 1028, False, False), ("float16_t", 3, 16, 4, 64, True, False),
)  # fmt: skip


def cases() -> list[Case]:
    made: list[Case] = []

    def add(name: str, make: Any) -> None:
        made.append(Case("mlx", "gemv", name, make))

    for type in TYPES:
        for transposed, out, k, axes in PICKED:
            make = partial(_gather, type=type, transposed=transposed, out=out, k=k, axes=axes)
            add(f"{'gemv_t' if transposed else 'gemv'}_gather {SHORT[type]}, {axes} axes", make)
        add(f"gemv_wide_gather {SHORT[type]}", partial(_wide_gather, type=type, vectors=2, lanes=16))
    for type, vectors, lanes, rows, k, axpby, batched in WIDE:
        words = f"{', axpby' * axpby}{', batched' * batched}"
        given = {"vectors": vectors, "lanes": lanes, "rows": rows, "k": k, "axpby": axpby, "batched": batched}
        add(
            f"gemv_wide {SHORT[type]} {vectors} x {lanes}, {rows} of {k}{words}",
            partial(_wide, type=type, **given),
        )
    return made
