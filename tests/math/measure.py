"""Measure the largest error of every function in every mode and type."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from metalloid.source import MathMode
from tests.math.cases import CASES, Case, reference
from tests.math.scalar_jit import Kernel, Module, build
from tests.math.ulp import (
    BFLOAT,
    FLOAT,
    HALF,
    Array,
    Format,
    float_pairs,
    floats,
    sixteen_bit_pairs,
    sixteen_bits,
    ulp_error,
    wide,
)

MODES: tuple[MathMode, ...] = ("safe", "relaxed", "fast")


@dataclass(frozen=True)
class Measurement:
    """`share` is the largest error divided by what is allowed there; above 1 is a failure."""

    worst: float  # ulp, where the limit applies
    share: float
    where: tuple[float, ...]
    got: float
    expected: float


@cache
def module(mode: MathMode) -> Module:
    kernels = []
    for form in (FLOAT, HALF, BFLOAT):
        for case in CASES:
            call = f"{case.name}({', '.join('ab'[: case.arity])})"
            kernels.append(Kernel(f"{case.name}_{form.metal}", (form.metal,) * (1 + case.arity), call))
    return build(kernels, mode)


def inputs(case: Case, form: Format) -> tuple[NDArray[np.generic], ...]:
    if case.arity == 1:
        return (floats() if form is FLOAT else sixteen_bits(form),)
    return float_pairs() if form is FLOAT else sixteen_bit_pairs(form)


def limit(case: Case, form: Format, mode: MathMode, x: Array, expected: Array) -> Array:
    fast = np.full_like(expected, case.fast) if isinstance(case.fast, int | float) else case.fast(x, expected)
    if form is FLOAT:
        return np.full_like(expected, case.precise) if mode == "safe" else fast
    # bfloat has the range of float, so its fast functions stop where those of float do.
    unlimited = (form is BFLOAT and mode != "safe") & np.isinf(fast)
    return np.where(unlimited, np.inf, case.half if form is HALF else 1.0)


def in_scope(
    mode: MathMode, form: Format, arguments: tuple[NDArray[np.generic], ...], expected: Array
) -> NDArray[np.bool_]:
    """Fast math promises nothing about NaN and infinity."""
    if mode != "fast":
        return np.ones(len(expected), bool)
    with np.errstate(all="ignore"):
        finite = np.isfinite(wide(expected.astype(form.dtype)))
    for a in arguments:
        finite &= np.isfinite(wide(a))
    return finite


def measure(case: Case, form: Format, mode: MathMode) -> Measurement:
    arguments = inputs(case, form)
    raw = arguments if form is not BFLOAT else tuple(a.view(np.uint16) for a in arguments)
    result = module(mode)(f"{case.name}_{form.metal}", *raw, dtype=np.dtype(f"u{form.dtype.itemsize}"))
    got = result.view(form.dtype)
    expected = reference(case, *arguments)
    error = ulp_error(got, expected, form)
    with np.errstate(all="ignore"):
        allowed = limit(case, form, mode, wide(arguments[0]), expected)
    scope = in_scope(mode, form, arguments, expected) & np.isfinite(allowed)
    error = np.where(scope, error, 0.0)
    share = error / np.where(scope, np.maximum(allowed, 1e-6), 1.0)
    i = int(np.argmax(share))
    where = tuple(float(a[i]) for a in arguments)
    return Measurement(float(error.max()), float(share[i]), where, float(got[i]), float(expected[i]))
