"""How far a result may be from the reference.

The reference is computed in float64 (integers in int64, exactly). A result r of a float type is right when

    |result - r|  <=  ulps * eps(output) * |r|  +  n * eps(accumulate) * max|r|  +  tiny(output)

The first part is the rounding of the result itself and of the functions in it (4 ulp is what Metal allows
exp, log, sin); the second the rounding of a sum of n terms that is accumulated in `accumulate`, float32
unless told otherwise, which is why a kernel that accumulates in half fails; tiny is the smallest normal
number, since Metal may flush denormals to zero. n is `length`: a number, or the names of the sizes whose
product it is; where it is not given, the largest size of the case. Infinities must be the same, NaNs at
the same places, integers equal; where the reference is beyond the type, infinity is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from metalloid.comparing.inputs import Array, finfo, is_float
from metalloid.errors import LaunchError


@dataclass(frozen=True)
class Tolerance:
    """The parts of the formula that a caller can set."""

    length: int | str | None = None
    accumulate: str = "float32"
    ulps: float = 4.0

    def terms(self, sizes: Mapping[str, int]) -> int:
        """How many terms are summed."""
        if isinstance(self.length, int):
            return max(1, self.length)
        if self.length is None:
            return max(1, *sizes.values(), 1)
        names = self.length.replace("*", " ").split()
        if missing := [name for name in names if name not in sizes]:
            raise LaunchError(
                f"[compare] length names {', '.join(missing)}; the sizes of the cases are"
                f" {', '.join(sizes) or 'none'}."
            )
        return max(1, prod(sizes[name] for name in names))

    def of(self, expected: Array, dtype: np.dtype[Any], sizes: Mapping[str, int]) -> Array:
        """The allowed difference of every element."""
        if not is_float(dtype):
            return np.zeros(expected.shape)
        size = np.abs(expected)
        finite = np.where(np.isfinite(size), size, 0.0)
        most = float(finite.max(initial=0.0))
        sums = self.terms(sizes) * float(finfo(self.accumulate).eps) * most
        kind = finfo(dtype)
        allowed: Array = self.ulps * float(kind.eps) * finite + sums + float(kind.smallest_normal)
        return allowed


@dataclass(frozen=True)
class Verdict:
    """One output beside its reference."""

    wrong: Array  # of bool
    error: Array  # |result - reference|; infinite where one is not finite and the other differs
    allowed: Array

    @property
    def worst(self) -> float:
        """The largest error in units of what is allowed."""
        with np.errstate(all="ignore"):
            ratio = self.error / np.maximum(self.allowed, np.finfo(np.float64).tiny)
        return float(ratio.max(initial=0.0))


def judged(got: Array, expected: Array, tolerance: Tolerance, sizes: Mapping[str, int]) -> Verdict:
    """Element by element; both have the same shape."""
    if not is_float(got.dtype):
        wrong = got != _wrapped(expected, got.dtype)
        return Verdict(wrong, np.where(wrong, _distance(got, expected), 0.0), np.zeros(got.shape))
    exact = np.asarray(expected, np.float64)
    with np.errstate(all="ignore"):
        rounded = exact.astype(got.dtype).astype(np.float64)
        result = got.astype(np.float64)
        allowed = tolerance.of(rounded, got.dtype, sizes)
        same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
        beyond = np.isinf(result) & (np.abs(exact) + allowed >= float(finfo(got.dtype).max))
        same |= beyond & (np.sign(result) == np.sign(exact))
        plain = np.isfinite(result) & np.isfinite(rounded)
        error = np.where(same, 0.0, np.where(plain, np.abs(result - np.where(plain, exact, 0.0)), np.inf))
    return Verdict(error > allowed, error, allowed)


def _wrapped(expected: Array, dtype: np.dtype[Any]) -> Array:
    """The reference as the output's integers, which wrap as int64 does."""
    with np.errstate(all="ignore"):
        return np.asarray(expected).astype(dtype)


def _distance(got: Array, expected: Array) -> Array:
    with np.errstate(all="ignore"):
        far: Array = np.abs(got.astype(np.float64) - np.asarray(expected, np.float64))
    return np.where(far > 0, far, 1.0)
