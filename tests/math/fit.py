"""Find the polynomials of the math headers.

Each entry of TABLE is a smooth function on an interval; `fit` gives the float32 coefficients, lowest
first, that keep the largest weighted error small. Run `python -m tests.math.fit` to print all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mpmath
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Real = Callable[[mpmath.mpf], mpmath.mpf]


@dataclass(frozen=True)
class Target:
    """`function(x) ~ sum c[k] * x**k` for `low <= x <= high`; `weight` is how much an error at x matters."""

    function: Real
    low: float
    high: float
    degree: int
    weight: Real


def minimax(x: Array, y: Array, w: Array, degree: int) -> Array:
    """Lawson's iteration: least squares whose weights grow where the error is largest."""
    scale = float(np.max(np.abs(x)))
    basis = np.vander(x / scale, degree + 1, increasing=True)
    lawson = np.full(len(x), 1.0 / len(x))
    best, best_error = np.zeros(degree + 1), np.inf
    for _ in range(200):
        rows = np.sqrt(lawson) * w
        solution = np.linalg.lstsq(basis * rows[:, None], y * rows, rcond=None)[0]
        error = np.abs(basis @ solution - y) * w
        if error.max() < best_error:
            best, best_error = solution, float(error.max())
        lawson = lawson * error
        lawson /= lawson.sum()
    return best / scale ** np.arange(degree + 1)


def fit(target: Target, points: int = 600) -> tuple[list[np.float32], float]:
    """Round the coefficients one by one, each time fitting the rest again to what the rounding left."""
    nodes = np.cos(np.pi * (np.arange(points) + 0.5) / points)
    x = (target.low + target.high) / 2 + (target.high - target.low) / 2 * nodes
    with mpmath.workdps(60):
        y = np.array([float(target.function(mpmath.mpf(v))) for v in x])
        w = np.array([float(target.weight(mpmath.mpf(v))) for v in x])
    rounded: list[np.float32] = []
    rest, power = y.copy(), np.ones_like(x)
    for degree in range(target.degree, -1, -1):
        coefficient = np.float32(minimax(x, rest, w * np.abs(power), degree)[0])
        rounded.append(coefficient)
        rest = (rest - float(coefficient)) / x
        power = power * x
    value = sum(float(c) * x**k for k, c in enumerate(rounded))
    return rounded, float(np.max(np.abs((value - y) * w)))


def _odd(f: Real) -> Real:
    """(f(r) - r) / r^3 as a function of r^2."""
    return lambda s: (f(mpmath.sqrt(s)) - mpmath.sqrt(s)) / mpmath.sqrt(s) ** 3


def _odd_weight(f: Real) -> Real:
    return lambda s: mpmath.sqrt(s) ** 3 / f(mpmath.sqrt(s))


def _cos_tail(s: mpmath.mpf) -> mpmath.mpf:
    return (mpmath.cos(mpmath.sqrt(s)) - 1 + s / 2) / s**2


def _sinpi(r: mpmath.mpf) -> mpmath.mpf:
    return mpmath.sin(mpmath.pi * r)


_LN2 = float(np.log(2.0))
_QUARTER_PI = float(np.pi / 4)
_ROOT = (0.5**0.5 - 1, 2**0.5 - 1)
_EPS = 1e-10

TABLE = {
    "exp": Target(
        lambda r: (mpmath.exp(r) - 1 - r) / r**2, -_LN2 / 2 - 1e-3, _LN2 / 2 + 1e-3, 4, lambda r: r**2
    ),
    "exp2": Target(lambda r: (2**r - 1) / r, -0.5, 0.5, 5, lambda r: abs(r)),
    "log": Target(
        lambda f: (mpmath.log1p(f) - f + f**2 / 2) / f**3, *_ROOT, 7, lambda f: abs(f**3 / mpmath.log1p(f))
    ),
    "log2": Target(
        lambda f: mpmath.log1p(f) / f / mpmath.log(2), *_ROOT, 9, lambda f: abs(f / mpmath.log1p(f))
    ),
    "log10": Target(
        lambda f: mpmath.log1p(f) / f / mpmath.log(10), *_ROOT, 9, lambda f: abs(f / mpmath.log1p(f))
    ),
    "log_tail": Target(
        lambda f: (mpmath.log1p(f) - f + f**2 / 2 - f**3 / 3) / f**4,
        *_ROOT,
        7,
        lambda f: abs(f**4 / mpmath.log1p(f)),
    ),
    "sin": Target(_odd(mpmath.sin), _EPS, (_QUARTER_PI + 1e-3) ** 2, 2, _odd_weight(mpmath.sin)),
    "cos": Target(_cos_tail, _EPS, (_QUARTER_PI + 1e-3) ** 2, 2, lambda s: s**2),
    "tan": Target(_odd(mpmath.tan), _EPS, (_QUARTER_PI + 1e-3) ** 2, 5, _odd_weight(mpmath.tan)),
    "asin": Target(_odd(mpmath.asin), _EPS, 0.25, 4, _odd_weight(mpmath.asin)),
    "atan": Target(_odd(mpmath.atan), _EPS, 1.0, 8, _odd_weight(mpmath.atan)),
    "sinh": Target(_odd(mpmath.sinh), _EPS, 1.0, 3, _odd_weight(mpmath.sinh)),
    "tanh": Target(_odd(mpmath.tanh), _EPS, 0.625**2, 5, _odd_weight(mpmath.tanh)),
}


def main() -> None:
    for name, target in TABLE.items():
        coefficients, error = fit(target)
        print(f"{name}: error 2^{np.log2(error):.1f}")
        for c in coefficients:
            print(f"    {float(c).hex()}f")


if __name__ == "__main__":
    main()
