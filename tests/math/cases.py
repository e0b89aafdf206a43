"""Every float function of the header: its reference in float64, and the error it may have.

float64 functions are right to 2^-50 or so, enough to judge a float32 to a millionth of an ulp;
test_accuracy.py compares them with mpmath where that is not obvious (powers, huge angles).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tests.math.bounds import (
    CROSS,
    DOT,
    EXACT_NO_NAN,
    EXP,
    LENGTH,
    LOG,
    MIX,
    NORMALIZE,
    ONE_IF_FINITE,
    SIN,
    SMOOTHSTEP,
    TAN,
    Bound,
)
from tests.math.ulp import Array, wide


@dataclass(frozen=True)
class Case:
    """Limits are in ulp; 0 is exact, 0.5 correctly rounded. `{T}` in `call` is the type under test."""

    name: str
    reference: Callable[..., Array]
    precise: float | Bound
    fast: float | Bound
    arity: int = 1
    half: float | Bound = 1.0
    bfloat: float | Bound | None = None  # that of half, unless given
    call: str = ""
    integer_last: bool = False  # the last argument is an int
    integer_result: bool = False
    native: bool = False  # the reference depends on the type, so it sees it

    @property
    def plain(self) -> bool:
        return not self.call

    def expression(self, metal: str) -> str:
        call = self.call or f"{self.name}({', '.join('abcd'[: self.arity])})"
        return call.replace("{T}", metal)

    @property
    def identifier(self) -> str:
        return re.sub(r"\W+", "_", self.name)


def _round_half_away(x: Array) -> Array:
    return np.asarray(np.copysign(np.floor(np.abs(x) + 0.5), x))


def _sinpi(x: Array) -> Array:
    r = np.fmod(x, 2.0)
    r = np.where(np.abs(r) > 1, r - np.copysign(2.0, r), r)
    r = np.where(np.abs(r) > 0.5, np.copysign(1.0, r) - r, r)
    return np.asarray(np.where(np.isinf(x), np.nan, np.sin(np.pi * r)))


def _cospi(x: Array) -> Array:
    r = np.abs(np.fmod(x, 2.0))
    r = np.where(r > 1, 2 - r, r)
    return np.asarray(np.where(np.isinf(x), np.nan, np.sin(np.pi * (0.5 - r))))


def _tanpi(x: Array) -> Array:
    return _sinpi(x) / _cospi(x)


def _fract(x: NDArray[np.generic]) -> Array:
    """In [0, 1): just below 1 where the difference rounds up."""
    top = 1 - float(ml_dtypes.finfo(x.dtype).epsneg)
    w = x.astype(np.float64)
    return np.where(np.isinf(w), 0.0, np.minimum(w - np.floor(w), top))


def _sign(x: Array) -> Array:
    return np.where(np.isnan(x), 0.0, np.sign(x))


def _powr(x: Array, y: Array) -> Array:
    return np.where(x < 0, np.nan, np.power(x, y))


def _fdim(x: Array, y: Array) -> Array:
    return np.where(x <= y, 0.0, x - y)


def _clamp(x: Array, low: Array, high: Array) -> Array:
    return np.fmin(np.fmax(x, low), high)


def _saturate(x: Array) -> Array:
    return _clamp(x, np.float64(0), np.float64(1))


def _median(x: Array, y: Array, z: Array) -> Array:
    return np.asarray(np.sort(np.stack([x, y, z]), axis=0)[1])


def _max3(x: Array, y: Array, z: Array) -> Array:
    return np.asarray(np.fmax(np.fmax(x, y), z))


def _min3(x: Array, y: Array, z: Array) -> Array:
    return np.asarray(np.fmin(np.fmin(x, y), z))


def _smoothstep(low: Array, high: Array, x: Array) -> Array:
    t = _saturate((x - low) / (high - low))
    return np.asarray(t * t * (3 - 2 * t))


def _step(edge: Array, x: Array) -> Array:
    return np.where(x < edge, 0.0, 1.0)


def _exponent(x: Array) -> Array:
    return np.where(np.isfinite(x), np.frexp(x)[1], 0).astype(np.float64)


def _ilogb(x: Array) -> Array:
    exponent = np.where(np.isinf(x), 2.0**31 - 1, np.frexp(x)[1] - 1.0)
    return np.where((x == 0) | np.isnan(x), -(2.0**31), exponent)


def _length(*x: Array) -> Array:
    infinite = np.any(np.isinf(np.stack(x)), axis=0)
    return np.where(infinite, np.inf, np.sqrt(sum(v * v for v in x)))


def _normalize(x: Array, y: Array, z: Array) -> Array:
    size = np.sqrt(x * x + y * y + z * z)
    return np.where(size == 0, x, x / size)


def _nextafter(x: NDArray[np.generic], y: NDArray[np.generic]) -> Array:
    return np.asarray(np.nextafter(x, y).astype(np.float64))


ARITHMETIC = (
    Case("sum, x + y", np.add, 0.5, 0.5, arity=2, half=0.5, call="a + b"),
    Case("difference, x - y", np.subtract, 0.5, 0.5, arity=2, half=0.5, call="a - b"),
    Case("product, x * y", np.multiply, 0.5, 0.5, arity=2, half=0.5, call="a * b"),
    Case("quotient, x / y", np.divide, 0.5, 2.5, arity=2, half=0.5, call="a / b"),
)
ONE = (
    Case("abs", np.abs, 0, 0, half=0),
    Case("acos", np.arccos, 4, 5),
    Case("acosh", np.arccosh, 4, 4),
    Case("asin", np.arcsin, 4, 5),
    Case("asinh", np.arcsinh, 4, 4),
    Case("atan", np.arctan, 5, 5),
    Case("atanh", np.arctanh, 5, 5),
    Case("ceil", np.ceil, 0, 0, half=0),
    Case("cos", np.cos, 4, SIN),
    Case("cosh", np.cosh, 4, 4),
    Case("cospi", _cospi, 4, 4),
    Case("exp", np.exp, 4, EXP),
    Case("exp10", lambda x: np.power(10.0, x), 4, 4),
    Case("exp2", np.exp2, 4, 4),
    Case("fabs", np.abs, 0, 0, half=0),
    Case("floor", np.floor, 0, 0, half=0),
    Case("fract", _fract, 0.5, 0.5, half=0.5, native=True),
    Case("frexp", lambda x: np.frexp(x)[0], 0, 0, half=0, call="({ int e; frexp(a, e); })"),
    Case(
        "frexp, exponent", _exponent, 0, 0, half=0, call="({ int e; frexp(a, e); e; })", integer_result=True
    ),
    Case("ilogb", _ilogb, 0, 0, half=0, integer_result=True),
    Case("log", np.log, 4, LOG),
    Case("log10", np.log10, 4, 4),
    Case("log2", np.log2, 4, 4),
    Case("modf", lambda x: np.modf(x)[0], 0, 0, half=0, call="({ {T} w; modf(a, w); })"),
    Case("modf, whole", lambda x: np.modf(x)[1], 0, 0, half=0, call="({ {T} w; modf(a, w); w; })"),
    Case("rint", np.rint, 0, 0, half=0),
    Case("round", _round_half_away, 0, 0, half=0),
    Case("rsqrt", lambda x: 1 / np.sqrt(x), 0.5, 2, half=0.5, bfloat=1),
    Case("saturate", _saturate, 0, 0, half=0),
    Case("sign", _sign, 0, 0, half=0),
    Case("sin", np.sin, 4, SIN),
    Case("sincos", np.sin, 4, SIN, call="({ {T} c; sincos(a, c); })"),
    Case("sincos, cosine", np.cos, 4, SIN, call="({ {T} c; sincos(a, c); c; })"),
    Case("sinh", np.sinh, 4, 4),
    Case("sinpi", _sinpi, 4, 4),
    Case("sqrt", np.sqrt, 0.5, 0.5, half=0.5),
    Case("tan", np.tan, 6, TAN),
    Case("tanh", np.tanh, 5, 5),
    Case("tanpi", _tanpi, 6, 6),
    Case("trunc", np.trunc, 0, 0, half=0),
)
TWO = (
    Case("atan2", np.arctan2, 6, 6, arity=2),
    Case("copysign", np.copysign, 0, 0, arity=2, half=0),
    Case("divide", np.divide, 0.5, 2.5, arity=2, half=0.5),
    Case("fdim", _fdim, 0.5, 0.5, arity=2, half=0.5),
    Case("fmax", np.fmax, 0, 0, arity=2, half=0),
    Case("fmin", np.fmin, 0, 0, arity=2, half=0),
    Case("fmod", np.fmod, 0, 0, arity=2, half=0),
    Case("ldexp", np.ldexp, 0.5, 0.5, arity=2, half=0.5, integer_last=True),
    Case("max", np.fmax, 0, 0, arity=2, half=0),
    Case("min", np.fmin, 0, 0, arity=2, half=0),
    Case("nextafter", _nextafter, 0, 0, arity=2, half=0, native=True),
    Case("pow", np.power, 16, 16, arity=2),
    Case("powr", _powr, 16, 16, arity=2),
    Case("step", _step, 0, 0, arity=2, half=0),
)
THREE = (
    Case("clamp", _clamp, 0, 0, arity=3, half=0),
    Case("fma", lambda x, y, z: x * y + z, 0.5, 0.5, arity=3, half=0.5),
    Case("fmax3", _max3, 0, 0, arity=3, half=0),
    Case("fmedian3", _median, EXACT_NO_NAN, EXACT_NO_NAN, arity=3, half=EXACT_NO_NAN),
    Case("fmin3", _min3, 0, 0, arity=3, half=0),
    Case("max3", _max3, 0, 0, arity=3, half=0),
    Case("median3", _median, EXACT_NO_NAN, EXACT_NO_NAN, arity=3, half=EXACT_NO_NAN),
    Case("min3", _min3, 0, 0, arity=3, half=0),
    Case("mix", lambda x, y, a: x + (y - x) * a, MIX, MIX, arity=3, half=MIX),
    Case("smoothstep", _smoothstep, SMOOTHSTEP, SMOOTHSTEP, arity=3, half=SMOOTHSTEP),
)
# Vectors, made of the arguments.
GEOMETRY = (
    Case(
        "cross",
        lambda x, y, z, w: x * w - y * z,
        CROSS,
        CROSS,
        arity=4,
        half=CROSS,
        call="cross({T}3(a, b, 0), {T}3(c, d, 0)).z",
    ),
    Case(
        "distance",
        lambda x, y, z, w: _length(x - z, y - w),
        3,
        LENGTH,
        arity=4,
        half=ONE_IF_FINITE,
        call="distance({T}2(a, b), {T}2(c, d))",
    ),
    Case(
        "dot",
        lambda x, y, z, w: x * z + y * w,
        DOT,
        DOT,
        arity=4,
        half=DOT,
        call="dot({T}2(a, b), {T}2(c, d))",
    ),
    Case("length", _length, 3, LENGTH, arity=3, half=ONE_IF_FINITE, call="length({T}3(a, b, c))"),
    Case("normalize", _normalize, 3, NORMALIZE, arity=3, call="normalize({T}3(a, b, c)).x"),
)
CASES = ARITHMETIC + ONE + TWO + THREE + GEOMETRY


def reference(case: Case, *arguments: NDArray[np.generic]) -> Array:
    integer = case.integer_last
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = arguments if case.native else tuple(wide(a) for a in arguments)
        return np.asarray(case.reference(*values[:-1], arguments[-1]) if integer else case.reference(*values))
