"""Kernels for the matrix units of Metal 4 (NAX): the launches of their older siblings, in tiles of their own.

Their host code differs in the kernel and its tiles only, so a case here is one of theirs with another source.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned
from conformance.results.mlx import attention_tiled, gemm, gemm_gather, quantized, quantized_gather
from conformance.results.mlx.gemm import Tile, allowed, operand, parameters, plain, struct
from conformance.results.mlx.templates import (
    DTYPES,
    SHORT,
    TYPES,
    launch,
    normal,
    source,
    spelled,
    up,
    values,
)  # fmt: skip

GEMM = "steel/gemm/kernels/steel_gemm_{}_nax.h"
ATTENTION = "steel/attn/kernels/steel_attention_nax.h"
QUANTIZED = {"affine": "quantized_nax.h", "fp": "fp_quantized_nax.h"}
TILE = Tile(64, 64, 256, 2, 2)  # what MLX's library has for half and bfloat
DEEP = Tile(64, 64, 64, 2, 2)
_EDGE = ("bfloat16_t", False, True)  # the products whose sizes are no multiples of their tiles


def moved(work: Work, header: str, template: str, given: tuple[Any, ...], **changed: Any) -> Work:
    """The same launch of another kernel."""
    (step,) = work.steps
    made, name = source(header, template, ", ".join(map(spelled, given)))
    return replace(work, steps=(replace(step, source=made, kernel=name, **changed),))


def _fused(
    rng: np.random.Generator,
    size: Size,
    type: str,
    shape: tuple[int, int, int],
    ta: bool,
    tb: bool,
    **more: Any,
) -> Work:
    work = gemm._fused(rng, size, type, TILE, shape, ta, tb, **more)
    return moved(work, GEMM.format("fused"), "gemm", (type, *TILE.parameters, ta, tb))


def _split(
    rng: np.random.Generator, size: Size, type: str, shape: tuple[int, int, int], ta: bool, tb: bool
) -> Work:
    """Partial products of K in float; the grid has one axis."""
    m, n, k = shape
    tile, partitions = DEEP, 2
    a, b = operand(rng, type, m, k, ta), operand(rng, type, k, n, tb)
    parts = poisoned((partitions, m, n), np.float32)
    each = up(k, partitions * tile.bk) * tile.bk
    fields = {
        "M": m, "N": n, "K": k, "lda": a.shape[-1], "ldb": b.shape[-1], "ldc": n,
        "tiles_n": up(n, tile.bn), "tiles_m": up(m, tile.bm), "split_k_partitions": partitions,
        "split_k_partition_stride": m * n, "split_k_partition_size": each, "swizzle_log": 0,
        "gemm_k_iterations_aligned": each // tile.bk,
    }  # fmt: skip
    am, an, _ = tile.aligned(m, n, k)
    step = launch(
        GEMM.format("splitk"),
        "gemm_splitk_nax",
        (type, *tile.parameters, ta, tb),
        (a, b, parts, struct("split", fields)),
        tile.threadgroup,
        (fields["tiles_n"] * fields["tiles_m"] * partitions, 1, 1),
        constants={200: am, 201: an},
    )
    expected = (plain(a, ta) @ plain(b, tb))[0]
    return Work((step,), (Output("C", parts, expected, 2e-6, look=_added),))


def _added(parts: Array) -> Array:
    return values(parts).sum(0)


def _thin(
    rng: np.random.Generator,
    size: Size,
    type: str,
    shape: tuple[int, int, int],
    tb: bool,
    axpby: tuple[float, float] | None,
) -> Work:
    """A few rows: blocks of 32x32 of one SIMD-group each, four of which share K."""
    (m, n, k), side, groups = shape, 32, 4
    a, b, c = operand(rng, type, m, k, False), operand(rng, type, k, n, tb), normal(rng, type, m, n)
    d = poisoned((m, n), DTYPES[type])
    fields = parameters(
        Tile(side, side, 64, 1, 1), m, n, k, a, b, gemm_k_iterations_aligned=up(k, 64 * groups)
    )
    arguments: list[Any] = [a, b, *([c] if axpby else []), d, struct("params", fields)]
    alpha, beta = axpby or (1.0, 0.0)
    if axpby:
        arguments.append(
            struct("addmm", {"ldc": n, "fdc": 1, "batch_stride_c": 0, "alpha": alpha, "beta": beta})
        )
    step = launch(
        GEMM.format("thin"),
        "gemm_thin_nax",
        (type, 2, 2, 1, 1, groups, tb),
        tuple(arguments),
        (32 * groups, 1, 1),
        (fields["tiles_m"] * fields["tiles_n"], 1, 1),
        constants={
            100: axpby is not None, 110: axpby is not None, 200: m % side == 0, 201: n % side == 0, 202: k % 64 == 0,
        },
    )  # fmt: skip
    expected = (plain(a, False) @ plain(b, tb))[0] * alpha + values(c) * beta
    return Work((step,), (Output("D", d, expected, allowed(d, k)),))


def _rows(rng: np.random.Generator, size: Size, type: str, tb: bool, edge: bool) -> Work:
    tile = Tile(16, 128, 128, 1, 4)
    rows, n, k = ((3, 0, 18), 130, 150) if edge else ((5, 0, 11), 128, 128)
    work = gemm_gather._rhs(rng, size, type, rows, n, k, tb, tile)
    return moved(
        work,
        GEMM.format("gather"),
        "gather_mm_rhs_nax",
        (type, *tile.parameters, False, tb),
        constants=_edges(work),
    )


def _edges(work: Work) -> dict[str | int, Any]:
    return {key: value for key, value in work.steps[0].constants.items() if key != 10}


def _segmented(
    rng: np.random.Generator, size: Size, type: str, ta: bool, tb: bool, sides: tuple[int, int]
) -> Work:
    work = gemm_gather._segmented(rng, size, type, *sides, ta, tb, True, TILE)
    return moved(work, GEMM.format("segmented"), "segmented_mm_nax", (type, *TILE.parameters, ta, tb))


def _attention(
    rng: np.random.Generator, size: Size, type: str, dim: int, kind: str, rows: int, length: int
) -> Work:
    work = attention_tiled._tiled(rng, size, type, dim, dim, 32, 1, kind, rows, length, bq=64)
    mask = "bool" if kind != "number" else type
    return moved(work, ATTENTION, "attention_nax", (type, 64, 32, dim, dim, 4, 1, mask, "float"))


def _halves(rng: np.random.Generator, size: Size, type: str, kind: str, rows: int, length: int) -> Work:
    """Two SIMD-groups for a head of 256."""
    work = attention_tiled._tiled(rng, size, type, 256, 256, 32, 2, kind, rows, length, bq=64)
    mask = "bool" if kind != "number" else type
    return moved(work, ATTENTION, "attention_nax_dsplit", (type, 64, 32, 256, 4, 2, mask, "float"))


def _quantized(
    rng: np.random.Generator, size: Size, mode: str, form: str, type: str, group: int, bits: int, batch: int
) -> Work:
    m, n, k = 33, (72 if form == "qmm_t" else 128), 128
    work = quantized._product(rng, size, mode, form, type, group, bits, (m, n, k), batch)
    m, n = work.outputs[0].actual.shape[-2:]  # larger in a large case
    given = (*((n % 64 == 0,) if form == "qmm_t" else ()), batch > 1, 64, 64, 64, 2, 2)
    grid = (up(n, 64), up(m, 64), batch)
    return moved(work, QUANTIZED[mode], f"{mode}_{form}_nax", (type, group, bits, *given), threadgroups=grid)


def _picked(
    rng: np.random.Generator, size: Size, mode: str, form: str, type: str, group: int, bits: int
) -> Work:
    m, n, k = 33, (72 if form == "qmm_t" else 128), 128
    work = quantized_gather._gather(rng, size, mode, form, type, group, bits, (m, n, k), 1)
    m, n = work.outputs[0].actual.shape[-2:]
    given = (*((n % 64 == 0,) if form == "qmm_t" else ()), 64, 64, 64, 2, 2)
    grid = (up(n, 64), up(m, 64), 2)
    return moved(
        work, QUANTIZED[mode], f"{mode}_gather_{form}_nax", (type, group, bits, *given), threadgroups=grid
    )


def _sorted(
    rng: np.random.Generator, size: Size, mode: str, type: str, group: int, bits: int, transposed: bool
) -> Work:
    tile = (64, 64, 64, 2, 2)
    work = quantized_gather._rows(
        rng, size, mode, type, group, bits, (3, 0, 65), 128, 128, transposed, tile=tile
    )
    return moved(work, QUANTIZED[mode], f"{mode}_gather_qmm_rhs_nax", (type, group, bits, *tile, transposed))


def cases() -> list[Case]:
    made: list[Case] = []

    def add(name: str, make: Any) -> None:
        made.append(Case("mlx", "nax", name, make))

    for type in TYPES[1:]:
        short = SHORT[type]
        for n, (ta, tb) in enumerate(((False, False), (False, True), (True, False), (True, True))):
            label = "nt"[ta] + "nt"[tb]
            # At edges SIMD-groups meet at barriers of different lines, and code of that kind takes minutes to make.
            edge = (type, ta, tb) == _EDGE
            shape = ((64, 64, 256), (64, 64, 300), (64, 64, 256), (64, 64, 40))[n]
            add(
                f"fused {label} {short}",
                partial(_fused, type=type, shape=(50, 70, 300) if edge else shape, ta=ta, tb=tb),
            )
            add(
                f"splitk {label} {short}",
                partial(_split, type=type, shape=(60 if edge else 64, 64, 200), ta=ta, tb=tb),
            )
            sides = (40, 70) if edge else (64, 64)
            add(f"segmented {label} {short}", partial(_segmented, type=type, ta=ta, tb=tb, sides=sides))
        add(
            f"fused {short}, alpha 0.5 beta -2",
            partial(_fused, type=type, shape=(64, 64, 64), ta=False, tb=True, source=(0.5, -2.0)),
        )
        for tb in (False, True):
            label = "nnt"[tb : tb + 2]
            add(f"thin {label} {short}", partial(_thin, type=type, shape=(40, 50, 300), tb=tb, axpby=None))
            add(
                f"thin {label} {short}, axpby",
                partial(_thin, type=type, shape=(32, 64, 256), tb=tb, axpby=(0.5, 2.0)),
            )
            edge = (type, False, tb) == _EDGE
            add(f"gather_mm_rhs {label} {short}", partial(_rows, type=type, tb=tb, edge=edge))
    for type in TYPES:
        short = SHORT[type]
        for dim, kind, rows, length in ((64, "", 64, 64), (128, "causal", 50, 70), (64, "bool", 9, 33)):
            add(
                f"attention {short}, {dim}, {kind or 'no mask'}",
                partial(_attention, type=type, dim=dim, kind=kind, rows=rows, length=length),
            )
        add(
            f"attention {short}, head of 256 in halves",
            partial(_halves, type=type, kind="causal", rows=33, length=40),
        )
        for mode, group, bits in (("affine", 64, 4), ("fp", 32, 4)):
            given = {"mode": mode, "type": type, "group": group, "bits": bits}
            for form in ("qmm_t", "qmm_n") if mode == "affine" else ("qmm_t",):
                add(f"{mode} {form} {short}", partial(_quantized, form=form, batch=1, **given))
                add(f"{mode} gather {form} {short}", partial(_picked, form=form, **given))
            add(f"{mode} rows {short}", partial(_sorted, transposed=True, **given))
    return made
