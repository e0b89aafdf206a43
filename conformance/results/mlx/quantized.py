"""Products with quantised matrices: qmv (quad, fast, wide), qvm, qmm and their split forms, affine and fp.

`_t` forms and qmv multiply by the transpose, whose groups lie along K; qvm and qmm_n have groups along N.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned, tolerance
from conformance.results.mlx.quantized_weights import Weights, random_weights
from conformance.results.mlx.templates import DTYPES, SHORT, ints, launch, longs, normal, strides, up, values

HEADERS = {"affine": "quantized.h", "fp": "fp_quantized.h"}
WITHOUT_GLOBAL = (
    "qmv_quad",
    "qmv_wide",
    "qvm_split_k",
    "qmm_t_splitk",
    "qmm_n",
)  # fp kernels with no such buffer


@dataclass(frozen=True)
class Form:
    """A kernel's launch: what follows type, group and bits in the template, and the grid for M, N and batches."""

    kernel: str
    transposed: bool
    takes_m: bool = False  # whether M is a parameter of its own
    split: int = 1


FORMS = {
    "qmv_quad": Form("qmv_quad", True),
    "qmv_fast": Form("qmv_fast", True),
    "qmv": Form("qmv", True),
    "qmv_wide": Form("qmv_wide", True, takes_m=True),
    "qvm": Form("qvm", False),
    "qmm_t": Form("qmm_t", True, takes_m=True),
    "qmm_n": Form("qmm_n", False, takes_m=True),
}


def grid_of(kernel: str, m: int, n: int, batches: int, group: int, wide: tuple[int, int] = (1, 8)):
    """Threadgroups, and the threads of one."""
    if "qmm" in kernel:
        return (up(n, 32), up(m, 32), batches), (32, 2, 2)
    if "quad" in kernel:
        return (m, up(n, 64), batches), (32, 1, 1)
    if "wide" in kernel:
        return (up(m, wide[0]), up(n, 2 * 32 // wide[1]), batches), (32, 2, 1)
    if "qvm" in kernel:
        return (m, up(n, 2 * min(group, 32)), batches), (32, 2, 1)
    return (m, up(n, 8), batches), (32, 2, 1)


def allowed(out: Array, k: int, tiled: bool) -> float:
    """Tiled forms round the numbers of the matrix to the type before they multiply."""
    return max(tolerance(out, 3.0 if tiled else 1.5), 4e-7 * (4 + k**0.5))


def batch_table(x: Array, weights: Weights) -> tuple[Any, ...]:
    """The batch axes of x and of the matrix, as the host hands them over."""
    axes = weights.packed.ndim - 2
    table = [axes, ints(*weights.packed.shape), *(longs(*strides(t)) for t in weights.tensors)]
    return (x.ndim - 2, ints(*x.shape), longs(*strides(x)), *table)


def globally(weights: Weights, kernel: str, scale: float) -> tuple[Array, ...]:
    """The buffer of the global scale, where the kernel has one."""
    if weights.mode == "affine" or kernel in WITHOUT_GLOBAL:
        return ()
    return (np.array([scale or 1.0], np.float32),)


def _product(
    rng: np.random.Generator, size: Size, mode: str, form: str, type: str, group: int, bits: int,
    shape: tuple[int, int, int], batch: int = 1, wide: tuple[int, int] = (1, 8), scale: float = 0.0,
    partial_rows: bool = False,
) -> Work:  # fmt: skip
    """x of (batch, M, K) with a matrix of its own for every batch."""
    m, n, k = shape
    if size == "large":
        m, n, k = m + 3, n * 3, k if "quad" in form else k * 3
    chosen = FORMS[form]
    rows, columns = (n, k) if chosen.transposed else (k, n)
    weights = random_weights(rng, mode, type, bits, group, batch, rows, columns, global_scale=scale)
    x, y = normal(rng, type, batch, m, k), poisoned((batch, m, n), DTYPES[type])
    batched = batch > 1
    more: dict[str, tuple[Any, ...]] = {
        "qmv_quad": (k, batched),
        "qmv_wide": (*wide, batched),
        "qmv_fast": (batched, partial_rows, bool(scale)),
        "qmv": (batched, False, bool(scale)),
        "qvm": (batched, bool(scale)),
        "qmm_t": (n % 32 == 0, batched, bool(scale)),
        "qmm_n": (batched,),
    }
    groups, threads = grid_of(form, m, n, batch, group, wide)
    step = launch(
        HEADERS[mode],
        f"{mode}_{form}",
        (type, group, bits, *more[form]),
        (
            *weights.tensors, *globally(weights, form, scale), x, y, k, n, *((m,) if chosen.takes_m else ()),
            *batch_table(x, weights),
        ),
        threads,
        groups,
    )  # fmt: skip
    matrix = np.swapaxes(weights.numbers, -1, -2) if chosen.transposed else weights.numbers
    return Work((step,), (Output("y", y, values(x) @ matrix, allowed(y, k, "qmm" in form)),))


def _qvm_split(
    rng: np.random.Generator, size: Size, mode: str, type: str, group: int, bits: int, k: int, split: int
) -> Work:
    """Partitions of K, the last one shorter; their sums are the result (the host adds them with a reduction)."""
    m, n = {"small": (1, max(32, group)), "large": (3, 128)}[size]
    part = up(k, split)
    weights = random_weights(rng, mode, type, bits, group, k, n)
    x, y = normal(rng, type, m, k), poisoned((split, m, n), DTYPES[type])
    table = [longs(part * t.shape[-1], t.shape[-1], 1) for t in weights.tensors]
    groups, threads = grid_of("qvm", m, n, split, group)
    step = launch(
        HEADERS[mode],
        f"{mode}_qvm_split_k",
        (type, group, bits, split),
        (
            *weights.tensors, x, y, part, n, 1, ints(split, m, k // split), longs(part, part, 1),
            1, ints(split, k, weights.packed.shape[-1]), *table, k - (split - 1) * part,
        ),
        threads,
        groups,
    )  # fmt: skip
    expected = values(x) @ weights.numbers
    return Work((step,), (Output("y", y, expected, 2 * allowed(y, k, False), look=_added),))


def _qmm_split(
    rng: np.random.Generator,
    size: Size,
    mode: str,
    type: str,
    group: int,
    bits: int,
    m: int,
    n: int,
    parts: int,
) -> Work:
    """Partitions of K, whole groups each; partial products in float."""
    if size == "large":
        m, n = m + 32, n + 64
    k = parts * max(group, 32) * (1 if size == "small" else 2)
    weights = random_weights(rng, mode, type, bits, group, n, k)
    x, y = normal(rng, type, m, k), poisoned((parts, m, n))
    groups, threads = grid_of("qmm_t", m, n, parts, group)
    step = launch(
        HEADERS[mode],
        f"{mode}_qmm_t_splitk",
        (type, group, bits, n % 32 == 0),
        (*weights.tensors, x, y, k, n, m, k // parts, m * n),
        threads,
        groups,
    )
    rough = poisoned((1,), DTYPES[type])
    expected = values(x) @ weights.numbers.T
    return Work((step,), (Output("y", y, expected, allowed(rough, k, True), look=_added),))


def _added(parts: Array) -> Array:
    return values(parts).sum(0)


AFFINE = tuple((bits, (64, 32, 128)[n % 3]) for n, bits in enumerate((2, 3, 4, 5, 6, 8)))
FLOATS = ((4, 32, "mxfp4"), (8, 32, "mxfp8"), (4, 16, "nvfp4"))
KINDS = ("float", "float16_t", "bfloat16_t")


def _names(mode: str) -> list[tuple[int, int, str]]:
    if mode == "fp":
        return list(FLOATS)
    return [(bits, group, f"{bits} bits, groups of {group}") for bits, group in AFFINE]


def cases() -> list[Case]:
    made: list[Case] = []

    def add(mode: str, name: str, make: Any) -> None:
        made.append(Case("mlx", "quantized" if mode == "affine" else "fp_quantized", name, make))

    for mode in ("affine", "fp"):
        for n, (bits, group, words) in enumerate(_names(mode)):
            kinds = KINDS if mode == "fp" else (KINDS[n % 3],)
            for type in kinds:
                given = {"mode": mode, "type": type, "group": group, "bits": bits}
                label = f"{SHORT[type]}, {words}"
                two = 2 if group == 32 else 1
                for form, shape, more in (
                    ("qmv", (1, 13, 3 * two * group), {}), ("qmv", (2, 3, group), {"batch": 2}),
                    ("qmv_fast", (1, 8, 512), {}), ("qvm", (1, max(two * group, 32), 37), {}),
                    ("qvm", (1, max(group, 32), 32), {"batch": 2}),
                    ("qmm_t", (5, 33, max(group, 32)), {}), ("qmm_t", (33, 32, max(group, 32)), {"batch": 2}),
                    ("qmm_n", (5, max(two * group, 32), 40), {}), ("qmv_wide", (5, 9, 2 * group), {"wide": (4, 8)}),
                ):  # fmt: skip
                    batch = f", batch of {more['batch']}" if "batch" in more else ""
                    name = f"{form} {label}, {'x'.join(map(str, shape))}{batch}"
                    add(mode, name, partial(_product, form=form, shape=shape, **given, **more))
                if bits & (bits - 1) == 0:
                    depth = 128 if n % 2 else 64
                    if depth >= group:
                        make = partial(_product, form="qmv_quad", shape=(2, 64, depth), **given)
                        add(mode, f"qmv_quad {label}, K {depth}", make)
                add(mode, f"qvm_split_k {label}", partial(_qvm_split, k=100, split=8, **given))
                add(mode, f"qmm_t_splitk {label}", partial(_qmm_split, m=5, n=33, parts=2, **given))
    extra = {"mode": "affine", "type": "float", "group": 32, "bits": 4}
    add("affine", "qmv_fast f32, rows that are no multiple of 8",
        partial(_product, form="qmv_fast", shape=(1, 11, 512), partial_rows=True, **extra))  # fmt: skip
    add(
        "affine",
        "qmv_fast f32, batched",
        partial(_product, form="qmv_fast", shape=(1, 8, 512), batch=2, **extra),
    )
    add("affine", "qmv_quad f32, rows past the end",
        partial(_product, form="qmv_quad", shape=(1, 67, 64), **extra))  # fmt: skip
    add(
        "affine",
        "qmv_quad f32, batched",
        partial(_product, form="qmv_quad", shape=(1, 64, 128), batch=2, **extra),
    )
    for type in KINDS:
        scaled = {"mode": "fp", "type": type, "group": 16, "bits": 4, "scale": 300.0}
        for form, shape in (
            ("qmv", (1, 13, 96)),
            ("qmv_fast", (1, 8, 512)),
            ("qvm", (1, 64, 33)),
            ("qmm_t", (5, 33, 64)),
        ):
            add(
                "fp",
                f"{form} {SHORT[type]}, nvfp4, global scale",
                partial(_product, form=form, shape=shape, **scaled),
            )
    add("affine", "qvm_split_k f32, 32 parts", partial(_qvm_split, k=500, split=32, **extra))
    wide_batch = partial(_product, form="qmv_wide", shape=(3, 7, 64), batch=2, wide=(2, 16), **extra)
    add("affine", "qmv_wide f32, batched", wide_batch)
    return made
