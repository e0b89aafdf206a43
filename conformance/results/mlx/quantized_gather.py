"""Products with quantised matrices picked by index: gather_qmv, gather_qvm, gather_qmm, and rows sorted by matrix."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned
from conformance.results.mlx.quantized import FLOATS, HEADERS, KINDS, allowed, batch_table, globally, grid_of
from conformance.results.mlx.quantized_weights import Weights, random_weights
from conformance.results.mlx.templates import DTYPES, SHORT, indices, ints, launch, longs, normal, up, values


def _gather(
    rng: np.random.Generator, size: Size, mode: str, form: str, type: str, group: int, bits: int,
    shape: tuple[int, int, int], axes: int, scale: float = 0.0,
) -> Work:  # fmt: skip
    """Indices of one axis, or of two of which the left ones are broadcast; matrices then have two axes, too."""
    m, n, k = shape
    if size == "large":
        m, n, k = m + 3, n * 3, k * 3
    transposed = form in ("qmv", "qmv_fast", "qmm_t")
    rows, columns = (n, k) if transposed else (k, n)
    lots = (4,) if axes == 1 else (2, 2)
    weights = random_weights(rng, mode, type, bits, group, *lots, rows, columns, global_scale=scale)
    x = normal(rng, type, 3, m, k)
    left, right = indices(2, 0), indices(3, 1) if axes == 1 else indices(3, 1, 0, 3)
    picked = (2,) if axes == 1 else (2, 2)
    table = (longs(1), longs(1)) if axes == 1 else (longs(0, 1), longs(2, 1))
    y = poisoned((*picked, m, n), DTYPES[type])
    more = (n % 32 == 0,) if form == "qmm_t" else ()
    kernel = f"gather_{form}"
    groups, threads = grid_of(form, m, n, 2**axes, group)
    step = launch(
        HEADERS[mode],
        f"{mode}_{kernel}",
        (type, group, bits, *more, bool(scale)),
        (
            *weights.tensors, *globally(weights, kernel, scale), x, left, right, y, k, n,
            *((m,) if "qmm" in form else ()), *batch_table(x, weights), axes, ints(*picked), *table,
        ),
        threads,
        groups,
    )  # fmt: skip
    numbers = weights.numbers.reshape(4, rows, columns)[right.reshape(picked)]
    matrix = np.swapaxes(numbers, -1, -2) if transposed else numbers
    expected = values(x)[np.broadcast_to(left, picked)] @ matrix
    return Work((step,), (Output("y", y, expected, allowed(y, k, "qmm" in form)),))


def _rows(
    rng: np.random.Generator, size: Size, mode: str, type: str, group: int, bits: int, counts: tuple[int, ...], n: int,
    k: int, transposed: bool, scale: float = 0.0, tile: tuple[int, int, int, int, int] = (16, 32, 32, 1, 2),
) -> Work:  # fmt: skip
    """Rows sorted by the matrix they meet, `counts` of them each."""
    if size == "large":
        counts, n, k = tuple(3 * c for c in counts), n + group, k + group
    bm, bn, bk, wm, wn = tile
    m, lots = sum(counts), len(counts)
    weights = random_weights(
        rng, mode, type, bits, group, lots, *((n, k) if transposed else (k, n)), global_scale=scale
    )
    each = np.full(lots, scale or 1.0, np.float32)  # a global scale for every matrix
    x, y = normal(rng, type, m, k), poisoned((m, n), DTYPES[type])
    starts = np.cumsum([0, *counts[:-1]]).astype(np.int32)
    step = launch(
        HEADERS[mode],
        f"{mode}_gather_qmm_rhs",
        (type, group, bits, bm, bn, bk, wm, wn, transposed, *((bool(scale),) if mode == "fp" else ())),
        (x, *with_room(weights), *((each,) if mode == "fp" else ()), starts, y, m, n, k, lots),
        (32, wn, wm),
        (up(n, bn), up(m, bm) + lots - 1, 1),
        constants={200: m % bm == 0, 201: n % bn == 0, 202: k % bk == 0},
    )
    picks = np.repeat(np.arange(lots), counts)
    matrix = np.swapaxes(weights.numbers, -1, -2) if transposed else weights.numbers
    expected = np.einsum("mk,mkn->mn", values(x), matrix[picks])
    return Work((step,), (Output("y", y, expected, allowed(y, k, True)),))


def with_room(weights: Weights) -> tuple[Array, ...]:
    """The kernels for floats of few bits look at weights and scales behind the last ones, for a tile that nobody uses
    (docs/found-in-the-wild.md)."""
    if weights.mode == "affine":
        return weights.tensors
    return tuple(np.concatenate([t.reshape(-1), poisoned(64, t.dtype)]) for t in weights.tensors)


def cases() -> list[Case]:
    made: list[Case] = []

    def add(mode: str, name: str, make: Any) -> None:
        made.append(
            Case("mlx", "quantized_gather" if mode == "affine" else "fp_quantized_gather", name, make)
        )

    affine = [(4, 64, "4 bits"), (8, 32, "8 bits"), (3, 32, "3 bits")]
    for mode, kinds in (("affine", affine), ("fp", list(FLOATS))):
        for n, (bits, group, words) in enumerate(kinds):
            type = KINDS[n]
            given = {"mode": mode, "type": type, "group": group, "bits": bits}
            label, wide = f"{SHORT[type]}, {words}", max(group, 32)
            for form, shape, axes in (
                ("qmv", (1, 9, 2 * wide), 1), ("qmv", (2, 3, wide), 2), ("qmv_fast", (1, 8, 512), 1),
                ("qvm", (1, wide, 37), 2), ("qmm_t", (5, 33, wide), 1), ("qmm_n", (5, wide, 40), 1),
            ):  # fmt: skip
                name = f"{form} {label}, {'x'.join(map(str, shape))}, {axes} axes"
                add(mode, name, partial(_gather, form=form, shape=shape, axes=axes, **given))
            for counts, columns, k, transposed in (
                ((3, 0, 5), 33, wide, True), ((16, 1), 32, 2 * wide, True), ((4, 13), wide, 40, False),
            ):  # fmt: skip
                name = (
                    f"rows {label}, {'nt' if transposed else 'nn'}, groups of {', '.join(map(str, counts))}"
                )
                add(mode, name, partial(_rows, counts=counts, n=columns, k=k, transposed=transposed, **given))
    scaled = {"mode": "fp", "type": "float", "group": 16, "bits": 4, "scale": 300.0}
    add(
        "fp",
        "rows f32, nvfp4, global scales",
        partial(_rows, counts=(3, 2), n=33, k=64, transposed=True, **scaled),
    )
    return made
