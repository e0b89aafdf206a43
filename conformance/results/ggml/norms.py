"""Normalisations over rows and groups, alone and followed by a product and a sum; softmax."""

from __future__ import annotations

from functools import partial

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned, tolerance
from conformance.results.ggml.tensors import fields, launch, nb, ne, padded, powers, random_tensor, values

USE_SCALE = 1700  # function constant
EPSILON = 1e-5


def _columns(size: Size, wide: bool) -> tuple[int, int]:
    rows, columns = {"small": (2, 136), "large": (33, 4096)}[size]
    return rows, columns if wide else columns + 1


def _normalised(x: Array, kind: str) -> Array:
    if kind == "norm":
        x = x - x.mean(-1, keepdims=True)
    return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON))


def _norm(rng: np.random.Generator, size: Size, kind: str, fused: str, wide: bool) -> Work:
    """`fused`: "", "_mul", "_mul_add", or " scale" for a product with one number."""
    rows, columns = _columns(size, wide)
    x = random_tensor(rng, "f32", (2, 3, rows, columns)) + np.float32(0.3)
    weight = random_tensor(rng, "f32", (1, 1, 1, columns))
    bias = random_tensor(rng, "f32", (1, 3, rows, columns))
    out = poisoned(x.shape)
    per_row = columns // 4 if wide else columns
    given = fields(
        x,
        dst=out,
        ne00_t=per_row,
        eps=EPSILON,
        scale=0.7,
        **{f"nef{axis}": [ne(t)[axis] for t in (x, weight, bias)] for axis in (1, 2, 3)},
        **{f"nbf{axis}": [nb(t)[axis] for t in (x, weight, bias)] for axis in (1, 2, 3)},
    )
    threads = min(powers(32, per_row, 1024), padded(per_row, 32))
    suffix = "_mul" if fused == " scale" else fused
    step = launch(
        "norm",
        f"kernel_{kind}{suffix}_f32{'_4' if wide else ''}",
        (given, x, weight, bias, out),
        (rows, 3, 2),
        (threads, 1, 1),
        memory=128,
        constants={USE_SCALE: fused == " scale"},
    )
    expected = _normalised(values(x), kind)
    if fused == " scale":
        expected = expected * 0.7
    elif fused:
        expected = expected * values(weight) + (values(bias) if fused == "_mul_add" else 0)
    return Work((step,), (Output("dst", out, expected, tolerance(out)),))


def _l2_norm(rng: np.random.Generator, size: Size, wide: bool) -> Work:
    rows, columns = _columns(size, wide)
    x = random_tensor(rng, "f32", (1, 2, rows, columns))
    out = poisoned(x.shape)
    per_row = columns // 4 if wide else columns
    given = fields(x, dst=out, ne00=per_row, ne0=per_row, eps=1e-12)
    step = launch(
        "norm",
        f"kernel_l2_norm_f32_f32{'_4' if wide else ''}",
        (given, x, out),
        (rows, 2, 1),
        (powers(32, columns, 1024), 1, 1),
        memory=128,
    )
    expected = values(x) / np.sqrt((values(x) ** 2).sum(-1, keepdims=True))
    return Work((step,), (Output("dst", out, expected, tolerance(out)),))


def _group_norm(rng: np.random.Generator, size: Size, threads: int) -> Work:
    """ggml launches one SIMD-group; the kernel also has a way for more."""
    channels, rows, columns = {"small": (6, 3, 17), "large": (32, 31, 33)}[size]
    groups = channels // 2
    x = random_tensor(rng, "f32", (channels, rows, columns))
    out = poisoned(x.shape)
    given = fields(x, ngrp=groups, eps=EPSILON)
    step = launch(
        "norm", "kernel_group_norm_f32", (given, x, out), (groups, 1, 1), (threads, 1, 1), memory=128
    )
    expected = _normalised(values(x).reshape(groups, -1), "norm").reshape(x.shape)
    return Work((step,), (Output("dst", out, expected, tolerance(out)),))


def _soft_max(rng: np.random.Generator, size: Size, mask: str, wide: bool, sinks: bool, bias: float) -> Work:
    """With or without a mask (some of it minus infinity), ALiBi slopes, and one sink logit per head."""
    heads, rows, columns = {"small": (3, 2, 72), "large": (12, 40, 1024)}[size]
    columns = columns if wide else columns + 1
    x = random_tensor(rng, "f32", (2, heads, rows, columns)) * np.float32(2)
    out = poisoned(x.shape)
    masks = random_tensor(rng, mask or "f32", (1, 1, rows, columns))
    masks[..., 1::5] = -np.inf
    sink = random_tensor(rng, "f32", (heads,))
    log2 = 1 << int(np.floor(np.log2(heads)))
    m0, m1 = 2.0 ** (-bias / log2), 2.0 ** (-bias / 2 / log2)
    given = fields(x, masks, out, scale=0.8, max_bias=bias, m0=m0, m1=m1, n_head_log2=log2)
    step = launch(
        "softmax",
        f"kernel_soft_max_{mask or 'f32'}{'_4' if wide else ''}",
        (given, x, masks if mask else x, sink if sinks else x, out),
        (rows, heads, 2),
        (128, 1, 1),
        memory=128,
    )
    logits = values(x) * 0.8
    if mask:
        slopes = np.ones(heads)
        if bias:
            slopes = np.array(
                [m0 ** (h + 1) if h < log2 else m1 ** (2 * (h - log2) + 1) for h in range(heads)]
            )
        logits = logits + slopes.reshape(1, -1, 1, 1) * values(masks)
    top = logits.max(-1, keepdims=True)
    column = values(sink).reshape(1, -1, 1, 1)
    if sinks:
        top = np.maximum(top, column)
    powers_of_e = np.exp(logits - top)
    total = powers_of_e.sum(-1, keepdims=True) + (np.exp(column - top) if sinks else 0)
    return Work((step,), (Output("dst", out, powers_of_e / total, tolerance(out)),))


def cases() -> list[Case]:
    made = []
    for kind in ("norm", "rms_norm"):
        for fused in ("", "_mul", "_mul_add", " scale"):
            for wide in (False, True) if fused != " scale" else (True,):
                make = partial(_norm, kind=kind, fused=fused, wide=wide)
                made.append(Case("ggml", "norm", f"{kind}{fused}{' x4' if wide else ''}", make))
    made += [
        Case("ggml", "norm", f"l2_norm{' x4' if w else ''}", partial(_l2_norm, wide=w)) for w in (False, True)
    ]
    made.append(Case("ggml", "norm", "group_norm 32 threads", partial(_group_norm, threads=32)))
    # With more SIMD-groups (ggml launches one), the first clears sums that the others still read.
    racing = partial(_group_norm, threads=96)
    made.append(Case("ggml", "norm", "group_norm 96 threads", racing, order="race"))
    for mask, wide, sinks, bias in (
        ("", False, False, 0.0),
        ("", True, True, 0.0),
        ("f16", False, False, 8.0),
        ("f16", True, True, 0.0),
        ("f32", False, True, 0.0),
        ("f32", True, False, 8.0),
    ):
        label = (
            f"{mask or 'no'} mask{' x4' if wide else ''}{' sinks' if sinks else ''}{' alibi' if bias else ''}"
        )
        make = partial(_soft_max, mask=mask, wide=wide, sinks=sinks, bias=bias)
        made.append(Case("ggml", "soft_max", label, make))
    return made
