"""Matrix times vector: gemv, gemv_t, their gathered forms and gemv_wide, with the blocks the host chooses.

A batch may have one axis, or two with broadcasting strides; with axpby the result is alpha A x + beta c.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Step, Work, poisoned, tolerance
from conformance.results.mlx.templates import (
    DTYPES, SHORT, TYPES, indices, ints, launch, longs, normal, strides, up, values,
)  # fmt: skip

HEADER = "gemv.h"
Blocks = tuple[int, int, int, int, int, int]  # bm, bn, sm, sn, tm, tn


def blocks(transposed: bool, length: int, out: int) -> Blocks:
    """What MLX's host code takes for a vector of `length` and a result of `out`."""
    if transposed:
        sm, sn = (4, 8) if length >= 8192 and out >= 2048 else (8, 4)
        bn = 16 if out >= 2048 else 4 if out >= 512 else 2
        return 1, bn, sm, sn, 4, 1 if out < 4 else 4
    tm = 1 if out < 4 else 4
    if length <= 64:
        return 1, 1, 8, 4, tm, 4
    if length >= 16 * out:
        return 1, 8, 1, 32, tm, 4
    return 8 if out >= 4096 else 4, 1, 1, 32, tm, 4


def _groups(chosen: Blocks, transposed: bool, out: int) -> int:
    bm, bn, sm, sn, tm, tn = chosen
    return up(out, bn * sn * tn if transposed else bm * sm * tm)


def _matrix(rng: np.random.Generator, type: str, transposed: bool, batch: tuple[int, ...], out: int, k: int):
    return normal(rng, type, *batch, *((k, out) if transposed else (out, k)))


def _product(matrix: Array, vector: Array, transposed: bool) -> Array:
    m = values(matrix)
    return np.einsum("...ij,...j->...i", np.swapaxes(m, -1, -2) if transposed else m, values(vector))


def _allowed(out: Array, k: int) -> float:
    """Rounded once to the result's type; sums of k products drift by a few roundings of float."""
    return max(tolerance(out, 1.5), 1e-7 * (2 + k**0.5)) if out.dtype.kind != "c" else 1e-6 * k**0.5


def _gemv(
    rng: np.random.Generator,
    size: Size,
    type: str,
    transposed: bool,
    out: int,
    k: int,
    batch: int = 1,
    axpby: bool = False,
    chosen: Blocks | None = None,
) -> Work:
    """One batch axis; `chosen` where the host would take these blocks only for far larger sizes."""
    if size == "large":
        out, k, batch = out * 2 + 1 if out > 3 else out, k * 2 + 1, batch + 1
    picked = chosen or blocks(transposed, k, out)
    matrix = _matrix(rng, type, transposed, (batch,), out, k)
    vector, bias = normal(rng, type, batch, k), normal(rng, type, batch, out)
    result = poisoned((batch, out), DTYPES[type])
    alpha, beta = (0.5, -2.0) if axpby else (1.0, 0.0)
    step = launch(
        HEADER,
        "gemv_t" if transposed else "gemv",
        (type, *picked, False, axpby),
        (
            matrix, vector, bias, result, k, out, matrix.shape[-1], alpha, beta,
            1, ints(batch), longs(k), longs(out * k), longs(out), 1,
        ),
        (32, picked[1], picked[0]),
        (_groups(picked, transposed, out), 1, batch),
    )  # fmt: skip
    expected = _product(matrix, vector, transposed) * alpha + (values(bias) * beta if axpby else 0)
    factor = 3 if axpby else 1
    return Work((step,), (Output("out", result, expected, factor * _allowed(result, k)),))


def _batched(rng: np.random.Generator, size: Size, type: str, transposed: bool, axpby: bool) -> Work:
    """Two batch axes: the vector is broadcast along the first, the matrix along the second."""
    out, k, outer, inner = {"small": (13, 37, 2, 3), "large": (70, 133, 3, 4)}[size]
    picked = blocks(transposed, k, out)
    matrix = _matrix(rng, type, transposed, (outer,), out, k)
    vector = normal(rng, type, inner, k)
    bias = normal(rng, type, inner, outer, out)  # its batch axes are swapped
    result = poisoned((outer, inner, out), DTYPES[type])
    alpha, beta = (1.5, 0.75) if axpby else (1.0, 0.0)
    step = launch(
        HEADER,
        "gemv_t" if transposed else "gemv",
        (type, *picked, True, axpby),
        (
            matrix, vector, bias, result, k, out, matrix.shape[-1], alpha, beta,
            2, ints(outer, inner), longs(0, k), longs(out * k, 0), longs(out, outer * out), 1,
        ),
        (32, picked[1], picked[0]),
        (_groups(picked, transposed, out), 1, outer * inner),
    )  # fmt: skip
    expected = _product(matrix[:, None], vector[None], transposed) * alpha
    expected += np.swapaxes(values(bias), 0, 1) * beta if axpby else 0
    return Work((step,), (Output("out", result, expected, (3 if axpby else 1) * _allowed(result, k)),))


def _gather(
    rng: np.random.Generator, size: Size, type: str, transposed: bool, out: int, k: int, axes: int
) -> Work:
    """Matrices and vectors picked by index; the indices may have two axes, one broadcast."""
    if size == "large":
        out, k = out * 3, k * 2 + 3
    picked = blocks(transposed, max(k, 65), max(out, k // 15)) if not transposed else blocks(True, k, out)
    matrices = _matrix(rng, type, transposed, (2, 2), out, k)
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
        (_groups(picked, transposed, out), 1, int(np.prod(shape))),
    )  # fmt: skip
    chosen = matrices.reshape(4, *matrices.shape[2:])[which[0]]
    expected = _product(chosen, vectors[which[1], 0], transposed)
    return Work((step,), (Output("out", result, expected, _allowed(result, k)),))


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
    return Work((step,), (Output("out", result, expected, 2 * _allowed(result, k)),))


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
    return Work((step,), (Output("out", result, expected, _allowed(result, k)),))


# Results and lengths that the host meets with blocks of their own.
PLAIN = ((1, 5), (3, 64), (5, 64), (33, 61), (7, 65), (13, 128), (21, 300), (3, 70), (2, 129), (9, 150))
TRANSPOSED = ((1, 7), (3, 33), (4, 5), (5, 64), (33, 61), (65, 12))
BIG: tuple[tuple[bool, Blocks, int, int], ...] = (
    (False, (8, 1, 1, 32, 4, 4), 37, 70),
    (True, (1, 4, 8, 4, 4, 4), 67, 35),
    (True, (1, 16, 4, 8, 4, 4), 130, 18),
    (True, (1, 16, 8, 4, 4, 4), 257, 9),
)


def cases() -> list[Case]:
    def case(name: str, make: Any) -> Case:
        return Case("mlx", "gemv", name, make)

    made: list[Case] = []
    for type in TYPES:
        short = SHORT[type]
        for transposed, shapes in ((False, PLAIN), (True, TRANSPOSED)):
            kind = "gemv_t" if transposed else "gemv"
            for out, k in shapes:
                make = partial(_gemv, type=type, transposed=transposed, out=out, k=k)
                made.append(case(f"{kind} {short} {out} of {k}", make))
            for axpby in (False, True):
                name = f"{kind} {short}, batch of two axes{', axpby' * axpby}"
                made.append(case(name, partial(_batched, type=type, transposed=transposed, axpby=axpby)))
            out, k = shapes[3]
            make = partial(_gemv, type=type, transposed=transposed, out=out, k=k, batch=3, axpby=True)
            made.append(case(f"{kind} {short}, batch of 3, axpby", make))
        made.append(case(f"gemv {short}, bn 8, batch, axpby",
                         partial(_gemv, type=type, transposed=False, out=6, k=140, batch=2, axpby=True)))  # fmt: skip
        for transposed, chosen, out, k in BIG:
            make = partial(_gemv, type=type, transposed=transposed, out=out, k=k, chosen=chosen)
            label = "gemv_t" if transposed else "gemv"
            made.append(case(f"{label} {short}, blocks {'x'.join(map(str, chosen))}", make))
        for transposed, out, k, axes in ((False, 7, 70, 1), (False, 3, 70, 2), (True, 9, 33, 1), (True, 2, 20, 2)):
            make = partial(_gather, type=type, transposed=transposed, out=out, k=k, axes=axes)
            made.append(case(f"{'gemv_t' if transposed else 'gemv'}_gather {short}, {axes} axes", make))
    for transposed, out, k in ((False, 5, 60), (False, 3, 90), (True, 5, 20)):
        make = partial(_gemv, type="complex64_t", transposed=transposed, out=out, k=k)
        made.append(case(f"{'gemv_t' if transposed else 'gemv'} c64 {out} of {k}", make))
    for type, vectors, lanes, rows, k, axpby, batched in (
        ("bfloat16_t", 2, 16, 3, 68, False, False), ("bfloat16_t", 4, 16, 5, 520, True, False),
        ("float16_t", 4, 32, 7, 132, False, True), ("float", 4, 16, 9, 60, True, True),
        ("float", 2, 32, 2, 1028, False, False), ("float16_t", 3, 16, 4, 64, True, False),
    ):  # fmt: skip
        name = f"gemv_wide {SHORT[type]} {vectors} x {lanes}, {rows} of {k}{', axpby' * axpby}{', batched' * batched}"
        make = partial(_wide, type=type, vectors=vectors, lanes=lanes, rows=rows, k=k, axpby=axpby, batched=batched)
        made.append(case(name, make))
    for type in TYPES:
        made.append(case(f"gemv_wide_gather {SHORT[type]}", partial(_wide_gather, type=type, vectors=2, lanes=16)))
    return made
