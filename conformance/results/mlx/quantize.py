"""Quantising and back: affine_quantize and _dequantize, fp_quantize, fp_dequantize and both at once."""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned, tolerance
from conformance.results.mlx.quantized import AFFINE, FLOATS, HEADERS, KINDS
from conformance.results.mlx.quantized_weights import (
    FP4,
    GLOBAL,
    float_codes,
    float_scales,
    pack,
    random_weights,
)
from conformance.results.mlx.templates import DTYPES, SHORT, launch, normal, values

FLOAT = np.float32


def _threads(count: int) -> tuple[int, int, int]:
    return min(1024, count), 1, 1


def _rows(size: Size) -> int:
    return {"small": 3, "large": 50}[size]


def _affine_quantize(rng: np.random.Generator, size: Size, type: str, group: int, bits: int) -> Work:
    """Held against the same steps in float: the edge of larger magnitude is met exactly."""
    w = normal(rng, type, _rows(size), 2 * group)
    w[0] = 0  # a group of zeros, and one of positive numbers
    w[1] = np.abs(w[1])
    x = w.astype(FLOAT).reshape(-1, group)
    low, high = x.min(-1), np.maximum(x.max(-1), 0)
    bins = FLOAT((1 << bits) - 1)
    scale = np.maximum((high - low) / bins, FLOAT(1e-7))
    side = np.abs(low) > np.abs(high)
    scale, edge = np.where(side, scale, -scale), np.where(side, low, high)
    first = _round(edge / scale)
    at_zero = first == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(at_zero, scale, edge / first)
    bias = np.where(at_zero, FLOAT(0), edge)
    codes = np.minimum(_round((x - bias[:, None]) / scale[:, None]), bins).astype(np.uint8)
    packed = pack(codes.reshape(w.shape), bits).view(np.uint8)
    out = poisoned(packed.shape, np.uint8)
    scales, biases = (poisoned((x.shape[0],), DTYPES[type]) for _ in range(2))
    count = w.size // (group // 32)
    step = launch(HEADERS["affine"], "affine_quantize", (type, group, bits), (w, out, scales, biases), _threads(count),
                  grid=(count, 1, 1))  # fmt: skip
    return Work((step,), (
        Output("out", out, packed), Output("scales", scales, scale.astype(DTYPES[type])),
        Output("biases", biases, bias.astype(DTYPES[type])),
    ))  # fmt: skip


def _round(x: Array) -> Array:
    """Halves away from zero."""
    return np.trunc(x + np.copysign(FLOAT(0.5), x)).astype(FLOAT)


def _affine_dequantize(rng: np.random.Generator, size: Size, type: str, group: int, bits: int) -> Work:
    weights = random_weights(rng, "affine", type, bits, group, _rows(size), 2 * group)
    out = poisoned(weights.numbers.shape, DTYPES[type])
    count = out.size // {2: 4, 3: 8, 4: 2, 5: 8, 6: 4, 8: 1}[bits]
    step = launch(
        HEADERS["affine"],
        "affine_dequantize",
        (type, group, bits),
        (weights.packed.view(np.uint8), *weights.tensors[1:], out),
        _threads(count),
        grid=(count, 1, 1),
    )
    return Work((step,), (Output("out", out, weights.numbers, 2 * tolerance(out)),))


def _nearest4(x: Array) -> Array:
    """The code of the nearest e2m1; ties go to the even one."""
    middles = (FP4[1:] + FP4[:-1]) / 2
    size = np.abs(x).astype(np.float64)
    code = np.zeros(x.shape, np.int64)
    for n, middle in enumerate(middles):
        code = np.where((size >= middle) if n % 2 else (size > middle), n + 1, code)
    return code | np.where(np.signbit(x), 8, 0)


def _encode(w: Array, group: int, bits: int, scale: float) -> tuple[Array, Array, Array]:
    """Codes, bytes of scale, and the numbers they stand for, by the steps of the format in float."""
    x = w.astype(FLOAT).reshape(-1, group)
    encode = FLOAT(GLOBAL) / FLOAT(scale) if scale else FLOAT(1)
    size = np.abs(x).max(-1) / FLOAT(6 if bits == 4 else 448)
    if scale:
        size = size * encode
    if group == 32:
        with np.errstate(divide="ignore"):
            marks = np.clip(np.ceil(np.log2(size.astype(np.float64))), -127, 127) + 127
        marks = marks.astype(np.uint8)
    else:
        marks = size.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    meant = float_scales(marks, group).astype(FLOAT)
    with np.errstate(divide="ignore"):
        factor = np.where(meant == 0, FLOAT(0), encode / meant)
    y = x * factor[:, None]
    codes = (
        _nearest4(y) if bits == 4 else np.clip(y, -448, 448).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    )
    numbers = float_codes(codes, bits) * meant[:, None].astype(np.float64) / float(encode)
    return codes.reshape(w.shape), marks, numbers.reshape(w.shape)


def _fp_quantize(
    rng: np.random.Generator, size: Size, type: str, group: int, bits: int, scale: float
) -> Work:
    w = normal(rng, type, _rows(size), 64)
    codes, marks, _ = _encode(w, group, bits, scale)
    packed = pack(codes, bits).view(np.uint8)
    out, scales = poisoned(packed.shape, np.uint8), poisoned(marks.shape, np.uint8)
    step = launch(HEADERS["fp"], "fp_quantize", (type, group, bits, bool(scale)),
                  (w, out, scales, np.array([scale or 1], FLOAT)), _threads(w.size), grid=(w.size, 1, 1))  # fmt: skip
    return Work((step,), (Output("scales", scales, marks), Output("out", out, packed)))


def _fp_dequantize(
    rng: np.random.Generator, size: Size, type: str, group: int, bits: int, scale: float
) -> Work:
    weights = random_weights(rng, "fp", type, bits, group, _rows(size), 64, global_scale=scale)
    out = poisoned(weights.numbers.shape, DTYPES[type])
    count = out.size * bits // 8
    step = launch(HEADERS["fp"], "fp_dequantize", (type, group, bits, bool(scale)),
                  (weights.packed.view(np.uint8), weights.scales, np.array([scale or 1], FLOAT), out), _threads(count),
                  grid=(count, 1, 1))  # fmt: skip
    return Work((step,), (Output("out", out, weights.numbers, tolerance(out)),))


def _fp_both(rng: np.random.Generator, size: Size, type: str, group: int, bits: int, scale: float) -> Work:
    w = normal(rng, type, _rows(size), 64)
    _, _, numbers = _encode(w, group, bits, scale)
    out = poisoned(w.shape, DTYPES[type])
    step = launch(HEADERS["fp"], "fp_quantize_dequantize", (type, group, bits, bool(scale)),
                  (w, np.array([scale or 1], FLOAT), out), _threads(w.size), grid=(w.size, 1, 1))  # fmt: skip
    return Work((step,), (Output("out", out, values(numbers), tolerance(out)),))


def cases() -> list[Case]:
    made: list[Case] = []

    def add(name: str, make: Any) -> None:
        made.append(Case("mlx", "quantize", name, make))

    for n, (bits, group) in enumerate((*AFFINE, (4, 64), (8, 32), (5, 32), (3, 128))):
        for type in {KINDS[n % 3], KINDS[(n + 1) % 3]}:
            words = f"{SHORT[type]}, {bits} bits, groups of {group}"
            add(f"affine_quantize {words}", partial(_affine_quantize, type=type, group=group, bits=bits))
            add(f"affine_dequantize {words}", partial(_affine_dequantize, type=type, group=group, bits=bits))
    for bits, group, words in FLOATS:
        for type in KINDS:
            for scale in (0.0, 5.0) if group == 16 else (0.0,):
                given = {"type": type, "group": group, "bits": bits, "scale": scale}
                label = f"{words} {SHORT[type]}{', global scale' if scale else ''}"
                add(f"fp_quantize {label}", partial(_fp_quantize, **given))
                add(f"fp_dequantize {label}", partial(_fp_dequantize, **given))
                add(f"fp_quantize_dequantize {label}", partial(_fp_both, **given))
    made.sort(key=lambda case: case.name)
    return made
