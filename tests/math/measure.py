"""Measure the largest error of every function in every mode and type."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from metalloid.source import MathMode
from tests.math.bounds import Bound
from tests.math.cases import CASES, Case, reference
from tests.math.scalar_jit import Kernel, Module, build
from tests.math.ulp import (
    BFLOAT,
    FLOAT,
    HALF,
    WHOLE,
    Array,
    Format,
    float_pairs,
    floats,
    shifts,
    sixteen_bit_pairs,
    sixteen_bits,
    tuples,
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
            last = "int" if case.integer_last else form.metal
            types = ("int" if case.integer_result else form.metal, *(form.metal,) * (case.arity - 1), last)
            kernels.append(Kernel(f"{case.identifier}_{form.metal}", types, case.expression(form.metal)))
    return build(kernels, mode)


def inputs(case: Case, form: Format) -> tuple[NDArray[np.generic], ...]:
    single = floats() if form is FLOAT else sixteen_bits(form)
    if case.integer_last:
        return single, shifts(len(single))
    if case.arity == 1:
        return (single,)
    if case.arity == 2:
        return float_pairs() if form is FLOAT else sixteen_bit_pairs(form)
    return tuples(form, case.arity)


def limit(case: Case, form: Format, mode: MathMode, arguments: tuple[Array, ...], expected: Array) -> Array:
    def ulp(bound: float | Bound) -> Array:
        if isinstance(bound, Bound):
            return bound.ulp(form, expected, *arguments)
        return np.full_like(expected, bound)

    fast = ulp(case.fast)
    if form is FLOAT:
        return ulp(case.precise) if mode == "safe" else fast
    if form is HALF:
        return ulp(case.half)
    # bfloat has the range of float, so its fast functions stop where those of float do.
    narrow = ulp(case.half if case.bfloat is None else case.bfloat)
    return np.where(np.isinf(fast), np.inf, narrow) if mode != "safe" else narrow


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


def bits_of(a: NDArray[np.generic]) -> NDArray[np.generic]:
    return a.view(np.uint16) if a.dtype == BFLOAT.dtype else a


def measure(case: Case, form: Format, mode: MathMode) -> Measurement:
    arguments = inputs(case, form)
    raw = arguments if form is not BFLOAT else tuple(bits_of(a) for a in arguments)
    dtype = np.dtype(np.int32) if case.integer_result else form.dtype
    result = module(mode)(f"{case.identifier}_{form.metal}", *raw, dtype=f"u{dtype.itemsize}")
    got = result.view(dtype)
    expected = reference(case, *arguments)
    error = ulp_error(got, expected, WHOLE if case.integer_result else form)
    with np.errstate(all="ignore"):
        allowed = limit(case, form, mode, tuple(wide(a) for a in arguments), expected)
    scope = in_scope(mode, form, arguments, expected) & np.isfinite(allowed)
    error = np.where(scope, error, 0.0)
    share = error / np.where(scope, np.maximum(allowed, 1e-6), 1.0)
    i = int(np.argmax(share))
    where = tuple(float(a[i]) for a in arguments)
    return Measurement(float(error.max()), float(share[i]), where, float(got[i]), float(expected[i]))
