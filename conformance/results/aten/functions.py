"""Special functions in double precision, by series: what numpy has not."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from conformance.results.case import Array


def _each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    return lambda numbers: np.array([function(float(x)) for x in numbers])


def _bessel(order: int) -> Callable[[float], float]:
    """The modified one of the first kind, of moderate arguments."""

    def of(x: float) -> float:
        return sum(
            (x / 2) ** (2 * k + order) / (math.factorial(k) * math.factorial(k + order)) for k in range(40)
        )

    return of


def _erfinv(y: float) -> float:
    """By Newton's method: the derivative of erf is known."""
    x = 0.0
    for _ in range(60):
        x -= (math.erf(x) - y) / (2 / math.sqrt(math.pi) * math.exp(-x * x))
    return x


def _digamma(x: float) -> float:
    """Up to a large argument by its recurrence, from there by the asymptotic series."""
    below = 0.0
    while x < 20:
        below -= 1 / x
        x += 1
    return below + math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6)


def _trigamma(x: float) -> float:
    below = 0.0
    while x < 20:
        below += 1 / x**2
        x += 1
    return below + 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5) + 1 / (42 * x**7)


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "i0": _each(_bessel(0)),
    "i1": _each(_bessel(1)),
    "erfinv": _each(_erfinv),
    "lgamma": _each(math.lgamma),
    "digamma": _each(_digamma),
    "trigamma": _each(_trigamma),
}
