"""Limits that are not a number: they depend on the arguments, or hold in a part of the domain only.

Where a function is defined by a formula (mix, dot), the roundings inside it are relative to its terms, not to
what is left when they cancel; the limit adds them up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.math.ulp import FLOAT, Array, Format, ulp_size


@dataclass(frozen=True)
class Bound:
    """`ulp(form, reference, *arguments)`; infinite where nothing is promised."""

    words: str
    ulp: Callable[..., Array]


LARGEST = float(np.finfo(np.float32).max)
HALF_STEP = 2.0**-24  # one rounding of a float, relative


def _exp(_: Format, __: Array, x: Array) -> Array:
    return np.asarray(3 + np.floor(np.abs(2 * x)))


def _log(_: Format, reference: Array, x: Array) -> Array:
    return np.where((x >= 0.5) & (x <= 2), np.maximum(2.0**-21 / ulp_size(reference, FLOAT), 0.5), 3.0)


def _up_to_2_16(ulp: float) -> Callable[..., Array]:
    """Metal promises 2^-13 in [-pi, pi] and nothing beyond; metalloid promises this up to 2^16."""
    return lambda form, reference, x: np.where(np.abs(x) <= 2.0**16, ulp, np.inf)


def _no_nan(_: Format, __: Array, *arguments: Array) -> Array:
    return np.where(np.any(np.isnan(np.stack(arguments)), axis=0), np.inf, 0.0)


def _finite(_: Format, __: Array, *arguments: Array) -> Array:
    return np.where(np.all(np.isfinite(np.stack(arguments)), axis=0), 1.0, np.inf)


def _terms(form: Format, reference: Array, inner: Array, fits: Array) -> Array:
    return np.where(fits, 1 + inner / ulp_size(reference, form), np.inf)


def _mix(form: Format, reference: Array, x: Array, y: Array, a: Array) -> Array:
    return _terms(form, reference, HALF_STEP * np.abs((y - x) * a), np.abs(y - x) <= LARGEST)


def _dot(form: Format, reference: Array, x: Array, y: Array, z: Array, w: Array) -> Array:
    return _terms(form, reference, HALF_STEP * np.abs(x * z) + 2.0**-150, np.abs(x * z) <= LARGEST)


def _cross(form: Format, _: Array, x: Array, y: Array, z: Array, w: Array) -> Array:
    fits = (np.abs(x * w) <= LARGEST) & (np.abs(y * z) <= LARGEST)
    return np.where(fits, 3.0 if form is FLOAT else 1.0, np.inf)


def _smoothstep(form: Format, _: Array, low: Array, high: Array, x: Array) -> Array:
    fits = (low < high) & (high - low <= LARGEST) & (np.abs(x - low) <= LARGEST)
    return np.where(fits, 8.0 if form is FLOAT else 1.0, np.inf)


def _squares_fit(ulp: float) -> Callable[..., Array]:
    def bound(_: Format, __: Array, *arguments: Array) -> Array:
        if len(arguments) == 4:  # two points
            arguments = (arguments[0] - arguments[2], arguments[1] - arguments[3])
        total = np.asarray(sum(v * v for v in arguments))
        return np.where((total >= 2.0**-96) & (total <= LARGEST / 2), ulp, np.inf)

    return bound


EXP = Bound("3 + floor(\\|2x\\|)", _exp)
LOG = Bound("2^-21 in [1/2, 2], else 3", _log)
SIN = Bound("4, to 2^16", _up_to_2_16(4))
TAN = Bound("6, to 2^16", _up_to_2_16(6))
EXACT_NO_NAN = Bound("0, no NaN", _no_nan)
ONE_IF_FINITE = Bound("1, finite arguments", _finite)
MIX = Bound("1 + rounding of (y-x)a", _mix)
DOT = Bound("1 + rounding of a product", _dot)
CROSS = Bound("3; 16-bit 1", _cross)
SMOOTHSTEP = Bound("8; 16-bit 1", _smoothstep)
LENGTH = Bound("3, while squares fit", _squares_fit(3))
NORMALIZE = Bound("4, while squares fit", _squares_fit(4))
