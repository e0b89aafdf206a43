"""Products with block masks: a block of the result or of an operand is left out, or scaled by its mask.

gemv_masked and gemv_t_masked take the vector's side of it, block_masked_gemm the matrix's.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned
from conformance.results.mlx.gemm import Tile, allowed, operand, parameters, plain, struct
from conformance.results.mlx.templates import (
    DTYPES,
    SHORT,
    TYPES,
    ints,
    launch,
    longs,
    normal,
    strides,
    up,
    values,
)  # fmt: skip

GEMV, GEMM = "gemv_masked.h", "steel/gemm/kernels/steel_gemm_masked.h"
NONE = "nomask_t"


def _mask(rng: np.random.Generator, kind: str, *shape: int) -> Array:
    """Zeros and ones, or zeros and scales; a byte nobody reads where there is no mask."""
    if kind == NONE:
        return np.zeros(1, np.uint8)
    set_ = rng.random(shape) < 0.7
    set_.reshape(-1)[0] = True
    return set_ if kind == "bool" else (set_ * rng.uniform(0.5, 2, shape)).astype(DTYPES[kind])


def _spread(mask: Array, kind: str, block: int, rows: int, columns: int) -> Array | float:
    """The mask of every element."""
    if kind == NONE:
        return 1.0
    wide = np.repeat(np.repeat(values(mask), block, -2), block, -1)
    return wide[..., :rows, :columns]


def _gemv(
    rng: np.random.Generator, size: Size, type: str, out_mask: str, operand_mask: str, block: int, out: int, k: int,
    transposed: bool, axes: int,
) -> Work:  # fmt: skip
    """`axes` batch axes; with two, the vector and its mask are broadcast along the first."""
    if size == "large":
        out, k = out * 2 + 3, k * 2 + 1
    if transposed:
        bm, bn, sm, sn, tm, tn = 1, 2, 8, 4, 4 if block == 32 else 8, 1 if out < 4 else 4
        groups = up(out, bn * sn * tn)
    else:
        bm, bn, sm, sn = (2, 1, 4, 8) if block == 32 else (2, 1, 2, 16)
        tm, tn = 1 if out < 4 else 4, 4
        groups = up(out, bm * sm * tm)
    batch = (2,) if axes == 1 else (2, 2)
    matrix = normal(rng, type, *batch, *((k, out) if transposed else (out, k)))
    vector = normal(rng, type, 2, k)
    rows, columns = up(out, block), up(k, block)
    masks = (
        _mask(rng, out_mask, *batch, rows, 1),
        _mask(rng, operand_mask, *batch, *((columns, rows) if transposed else (rows, columns))),
        _mask(rng, operand_mask, 2, columns, 1),
    )
    result = poisoned((*batch, out), DTYPES[type])
    along = (k,) if axes == 1 else (0, k)
    steps, mask_batches = [], []
    if out_mask != NONE:
        steps += [1, 1]  # one block wide: the strides of both axes
        mask_batches += list(strides(masks[0])[:axes])
    if operand_mask != NONE:
        row, column = strides(masks[1])[-2:]
        steps += [column, row, 1, 1]
        vector_mask = (columns,) if axes == 1 else (0, columns)
        mask_batches += [*strides(masks[1])[:axes], *vector_mask]
    step = launch(
        GEMV,
        "gemv_t_masked" if transposed else "gemv_masked",
        (type, out_mask, operand_mask, bm, bn, sm, sn, tm, tn, axes > 1),
        (
            matrix, vector, result, k, out, matrix.shape[-1], axes, ints(*batch), longs(*along),
            longs(*strides(matrix)[:axes]), *masks, ints(*steps), longs(*mask_batches),
        ),
        (32, bn, bm),
        (groups, 1, 2**axes),
    )  # fmt: skip
    numbers = np.swapaxes(values(matrix), -1, -2) if transposed else values(matrix)
    matrix_mask = _spread(masks[1], operand_mask, block, *matrix.shape[-2:])
    if transposed and operand_mask != NONE:
        matrix_mask = np.swapaxes(matrix_mask, -1, -2)
    vector_scale = 1.0 if operand_mask == NONE else _spread(masks[2], operand_mask, block, k, 1)[..., 0]
    expected = np.einsum("...ij,...j->...i", numbers * matrix_mask, values(vector) * vector_scale)
    if out_mask != NONE:
        expected = expected * _spread(masks[0], out_mask, block, out, 1)[..., 0]
    return Work((step,), (Output("out", result, expected, 3 * allowed(result, k)),))


def _gemm(
    rng: np.random.Generator, size: Size, type: str, out_mask: str, operand_mask: str, block: int,
    shape: tuple[int, int, int], ta: bool, tb: bool, axes: int, old: bool = False,
) -> Work:  # fmt: skip
    """`old` is the template whose masks are always bool."""
    m, n, k = shape if size == "small" else (shape[0] + 2 * block, shape[1] + block, shape[2] + 3 * block)
    tile = Tile(block, block, 16, 2, 2)
    batch = (2,) if axes == 1 else (2, 2)
    count = 2**axes
    a, b = operand(rng, type, m, k, ta, count), operand(rng, type, k, n, tb, count)
    d = poisoned((count, m, n), DTYPES[type])
    rows, columns, depth = up(m, block), up(n, block), up(k, block)
    masks = (
        _mask(rng, out_mask, count, rows, columns),
        _mask(rng, operand_mask, count, rows, depth),
        _mask(rng, operand_mask, count, depth, columns),
    )
    present = [
        m_ for m_, kind in zip(masks, (out_mask, operand_mask, operand_mask), strict=True) if kind != NONE
    ]
    mask_steps = [s for mask in present for s in (1, mask.shape[-1])]
    batch_strides: list[int] = []
    for array in (a, b, *present):
        one = array.shape[-2] * array.shape[-1]
        batch_strides += [one] if axes == 1 else [2 * one, one]
    fields = parameters(tile, m, n, k, a, b, batch_stride_a=m * k, batch_stride_b=k * n, batch_ndim=axes)
    am, an, ak = tile.aligned(m, n, k)
    kinds = () if old else (out_mask, operand_mask)
    step = launch(
        GEMM,
        "block_masked_gemm",
        (type, *kinds, *tile.parameters, ta, tb, am and an, ak, *((operand_mask != NONE,) if old else ())),
        (
            a,
            b,
            d,
            struct("params", fields),
            ints(*batch),
            longs(*batch_strides),
            *masks,
            ints(*(mask_steps or [0])),
        ),
        tile.threadgroup,
        (fields["tiles_n"], fields["tiles_m"], count),
    )
    left = plain(a, ta) * _spread(masks[1], operand_mask, block, m, k)
    right = plain(b, tb) * _spread(masks[2], operand_mask, block, k, n)
    expected = left @ right * _spread(masks[0], out_mask, block, m, n)
    scaled = 1 if {out_mask, operand_mask} <= {"bool", NONE} else 3
    return Work((step,), (Output("D", d, expected, scaled * allowed(d, k)),))


def cases() -> list[Case]:
    def case(name: str, make: Any) -> Case:
        return Case("mlx", "masked", name, make)

    made: list[Case] = []
    kinds = (("bool", NONE), (NONE, "bool"), ("bool", "bool"), ("T", "T"))
    for type in TYPES:
        short = SHORT[type]
        for n, (out_kind, op_kind) in enumerate(kinds):
            out, op = (
                out_kind.replace("T", type) if out_kind == "T" else out_kind,
                type if op_kind == "T" else op_kind,
            )
            words = f"out {out.replace('_t', '')}, operands {op.replace('_t', '')}"
            for transposed in (False, True):
                label = "gemv_t" if transposed else "gemv"
                make = partial(
                    _gemv, type=type, out_mask=out, operand_mask=op, block=(32, 64)[n % 2], out=(37, 70, 3, 33)[n],
                    k=(64, 70, 33, 96)[n], transposed=transposed, axes=1 + (n == 2),
                )  # fmt: skip
                made.append(case(f"{label} {short}, {words}", make))
            make = partial(
                _gemm, type=type, out_mask=out, operand_mask=op, block=(32, 32, 32, 64)[n],
                shape=((32, 32, 32), (33, 32, 40), (5, 40, 35), (64, 64, 20))[n], ta=n == 1, tb=n != 1,
                axes=1 + (n == 2),
            )  # fmt: skip
            made.append(case(f"gemm {short}, {words}", make))
    for operand_mask, shape in (("bool", (32, 32, 32)), (NONE, (35, 32, 19)), ("bool", (7, 33, 20))):
        make = partial(_gemm, type="float", out_mask="bool", operand_mask=operand_mask, block=32, shape=shape, ta=False,
                       tb=True, axes=1, old=True)  # fmt: skip
        made.append(
            case(f"gemm f32, masks of bool, operands {operand_mask}, {'x'.join(map(str, shape))}", make)
        )
    return made
