"""Activations and their slopes against float64."""

from __future__ import annotations

from math import erfc

import numpy as np
import pytest

import metalloid as mt
import metalloid.kernels as mk
from metalloid.kernels.activation import gelu_slope, silu_slope, swiglu_vjp
from tests.kernels.helpers import DTYPES, ODD, close, exact, normal, same_on_oracle


def silu(x):
    with np.errstate(over="ignore"):
        return x / (1 + np.exp(-x))


def gelu(x, tanh=False):
    if tanh:
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * 0.5 * np.vectorize(erfc)(-x / np.sqrt(2))


VALUES = {
    "silu": (mk.silu, silu),
    "gelu": (mk.gelu, gelu),
    "gelu_tanh": (lambda x: mk.gelu(x, tanh=True), lambda x: gelu(x, True)),
}
SLOPES = {
    "silu": silu_slope,
    "gelu": gelu_slope,
    "gelu_tanh": lambda x, g: gelu_slope(x, g, tanh=True),
}


def slope(f, x, step=1e-5):
    return (f(x + step) - f(x - step)) / (2 * step)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", VALUES)
def test_values_and_slopes(name, dtype):
    ours, f = VALUES[name]
    for n in ODD:
        x, g = normal(n, dtype) * dtype.type(4), normal(n, dtype, 1)
        close(ours(x), f(exact(x)))
        close(SLOPES[name](x, g), slope(f, exact(x)) * exact(g))


@pytest.mark.parametrize("name", VALUES)
def test_tails_keep_their_digits(name):
    ours, f = VALUES[name]
    x = np.linspace(-7, 7, 1001).astype(np.float32)
    wanted = f(exact(x))
    close(ours(x), wanted, np.maximum(np.abs(wanted), 1e-9))
    big = np.array([-3e38, -200, -90, 90, 200, 3e38], np.float32)
    if name != "gelu_tanh":
        assert (ours(big) == np.where(big > 0, big, 0)).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_swiglu(dtype):
    for n in ODD:
        a, b, g = (normal((2, n), dtype, s) for s in range(3))
        close(mk.swiglu(a, b), silu(exact(a)) * exact(b))
        to_a, to_b = swiglu_vjp(a, b, g)
        close(to_a, exact(g) * exact(b) * slope(silu, exact(a)))
        close(to_b, exact(g) * silu(exact(a)))


def test_halves_of_one_array_are_read_where_they_lie():
    both = normal((5, 66))
    close(mk.swiglu(both[:, :33], both[:, 33:]), silu(exact(both[:, :33])) * exact(both[:, 33:]))
    close(mk.silu(both.T), silu(exact(both.T)))
    close(mk.gelu(both[::-1, ::-3]), gelu(exact(both[::-1, ::-3])))
    close(mk.silu(np.float32(0.7) * np.ones((), np.float32)), silu(np.float64(np.float32(0.7))))


def test_the_oracle_agrees():
    for dtype in DTYPES:
        x, y = normal(35, dtype), normal(35, dtype, 1)
        for f in (mk.silu, mk.gelu, VALUES["gelu_tanh"][0]):
            same_on_oracle(f, x)
        for f in (*SLOPES.values(), mk.swiglu):
            same_on_oracle(f, x, y)
        same_on_oracle(swiglu_vjp, x, y, y)


def test_nothing_in_and_refusals():
    assert mk.silu(normal((0, 3))).shape == (0, 3)
    with pytest.raises(mt.LaunchError, match=r"\[swiglu\] expected up of shape \(2, 3\), got \(3,\)"):
        mk.swiglu(normal((2, 3)), normal(3))
