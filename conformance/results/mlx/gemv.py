"""Matrix times vector: gemv and gemv_t, with the blocks the host chooses.

A batch may have one axis, or two with broadcasting strides; with axpby the result is alpha A x + beta c.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned, tolerance
from conformance.results.mlx.templates import (
    DTYPES,
    SHORT,
    TYPES,
    ints,
    launch,
    longs,
    normal,
    up,
    values,
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


def groups_of(chosen: Blocks, transposed: bool, out: int) -> int:
    bm, bn, sm, sn, tm, tn = chosen
    return up(out, bn * sn * tn if transposed else bm * sm * tm)


def matrix_of(
    rng: np.random.Generator, type: str, transposed: bool, batch: tuple[int, ...], out: int, k: int
):
    return normal(rng, type, *batch, *((k, out) if transposed else (out, k)))


def product(matrix: Array, vector: Array, transposed: bool) -> Array:
    m = values(matrix)
    return np.einsum("...ij,...j->...i", np.swapaxes(m, -1, -2) if transposed else m, values(vector))


def allowed(out: Array, k: int) -> float:
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
    matrix = matrix_of(rng, type, transposed, (batch,), out, k)
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
        (groups_of(picked, transposed, out), 1, batch),
    )  # fmt: skip
    expected = product(matrix, vector, transposed) * alpha + (values(bias) * beta if axpby else 0)
    factor = 3 if axpby else 1
    return Work((step,), (Output("out", result, expected, factor * allowed(result, k)),))


def _batched(rng: np.random.Generator, size: Size, type: str, transposed: bool, axpby: bool) -> Work:
    """Two batch axes: the vector is broadcast along the first, the matrix along the second."""
    out, k, outer, inner = {"small": (13, 37, 2, 3), "large": (70, 133, 3, 4)}[size]
    picked = blocks(transposed, k, out)
    matrix = matrix_of(rng, type, transposed, (outer,), out, k)
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
        (groups_of(picked, transposed, out), 1, outer * inner),
    )  # fmt: skip
    expected = product(matrix[:, None], vector[None], transposed) * alpha
    expected += np.swapaxes(values(bias), 0, 1) * beta if axpby else 0
    return Work((step,), (Output("out", result, expected, (3 if axpby else 1) * allowed(result, k)),))


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
    for transposed, out, k in ((False, 5, 60), (False, 3, 90), (True, 5, 20)):
        make = partial(_gemv, type="complex64_t", transposed=transposed, out=out, k=k)
        made.append(case(f"{'gemv_t' if transposed else 'gemv'} c64 {out} of {k}", make))
    return made
