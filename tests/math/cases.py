"""Every float function of the header: its reference in float64, and the error it may have.

float64 functions are right to 2^-50 or so, enough to judge a float32 to a millionth of an ulp;
test_accuracy.py compares them with mpmath where that is not obvious (powers, huge angles).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Limit = Callable[[Array, Array], Array]  # argument, reference -> ulp


@dataclass(frozen=True)
class Case:
    name: str
    reference: Callable[..., Array]
    precise: float  # ulp; 0 is exact, 0.5 correctly rounded
    fast: float | Limit
    note: str = ""  # the fast limit in words, where it is not a number
    arity: int = 1
    half: float = 1.0  # ulp of half


def _exp_limit(x: Array, _: Array) -> Array:
    return np.asarray(3 + np.floor(np.abs(2 * x)))


def _log_limit(x: Array, reference: Array) -> Array:
    size = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(reference), 2.0**-126))) - 23)
    return np.where((x >= 0.5) & (x <= 2), np.maximum(2.0**-21 / size, 0.5), 3.0)


def _trig_limit(x: Array, reference: Array) -> Array:
    """Metal promises 2^-13 in [-pi, pi] and nothing beyond; metalloid promises 4 ulp up to 2^16."""
    return np.where(np.abs(x) <= 2.0**16, 4.0, np.inf)


def _tan_limit(x: Array, reference: Array) -> Array:
    return np.where(np.abs(x) <= 2.0**16, 6.0, np.inf)


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


def _fract(x: Array) -> Array:
    return np.where(np.isinf(x), 0.0, x - np.floor(x))


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


ONE = (
    Case("acos", np.arccos, 4, 5),
    Case("acosh", np.arccosh, 4, 4),
    Case("asin", np.arcsin, 4, 5),
    Case("asinh", np.arcsinh, 4, 4),
    Case("atan", np.arctan, 5, 5),
    Case("atanh", np.arctanh, 5, 5),
    Case("ceil", np.ceil, 0, 0, half=0),
    Case("cos", np.cos, 4, _trig_limit, "4, to 2^16"),
    Case("cosh", np.cosh, 4, 4),
    Case("cospi", _cospi, 4, 4),
    Case("exp", np.exp, 4, _exp_limit, "3 + floor(2x)"),
    Case("exp10", lambda x: np.power(10.0, x), 4, 4),
    Case("exp2", np.exp2, 4, 4),
    Case("fabs", np.abs, 0, 0, half=0),
    Case("floor", np.floor, 0, 0, half=0),
    Case("fract", _fract, 1, 1),
    Case("log", np.log, 4, _log_limit, "2^-21 in [1/2, 2], else 3"),
    Case("log10", np.log10, 4, 4),
    Case("log2", np.log2, 4, 4),
    Case("rint", np.rint, 0, 0, half=0),
    Case("round", _round_half_away, 0, 0, half=0),
    Case("rsqrt", lambda x: 1 / np.sqrt(x), 0.5, 2, half=0.5),
    Case("saturate", _saturate, 0, 0, half=0),
    Case("sign", _sign, 0, 0, half=0),
    Case("sin", np.sin, 4, _trig_limit, "4, to 2^16"),
    Case("sinh", np.sinh, 4, 4),
    Case("sinpi", _sinpi, 4, 4),
    Case("sqrt", np.sqrt, 0.5, 0.5, half=0.5),
    Case("tan", np.tan, 6, _tan_limit, "6, to 2^16"),
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
    Case("pow", np.power, 16, 16, arity=2),
    Case("powr", _powr, 16, 16, arity=2),
)
CASES = ONE + TWO


def reference(case: Case, *arguments: NDArray[np.generic]) -> Array:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(case.reference(*(a.astype(np.float64) for a in arguments)))
