"""Normalisation against float64."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid.kernels as mk
from metalloid.kernels import references
from metalloid.kernels.norm import norm_slope, norm_weight_vjp
from tests.kernels.helpers import DTYPES, ODD, close, exact, normal, same_on_oracle


def rms_norm(x, w, eps=1e-5):
    x = exact(x)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * exact(w)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rms_norm_of_odd_rows(dtype):
    for n in ODD:
        x, w = normal((3, n), dtype), normal(n, dtype, 1)
        close(mk.rms_norm(x, w, 1e-3), rms_norm(x, w, 1e-3))


def test_rows_may_lie_apart_or_backwards():
    x, w = normal((4, 6, 50)), normal(33, seed=1)
    for view in (x[..., :33], x[:, 2, 5:38], x[::2, ::3, 10:43], x[..., 32::-1], x.swapaxes(0, 1)[..., :33]):
        close(mk.rms_norm(view, w), rms_norm(view, w))
    close(mk.rms_norm(x.swapaxes(0, 2)[:33].T, w[::-1]), rms_norm(x.swapaxes(0, 2)[:33].T, w[::-1]))


def test_rms_norm_is_the_same_on_the_oracle():
    for dtype in DTYPES:
        same_on_oracle(mk.rms_norm, normal((2, 45), dtype), normal(45, dtype, 1))


def test_nothing_in_nothing_out():
    assert mk.rms_norm(normal((0, 7)), normal(7)).shape == (0, 7)
    assert mk.rms_norm(normal((3, 0)), normal(0)).shape == (3, 0)


def layer_norm(x, w, b, eps=1e-5):
    x = exact(x)
    y = x - x.mean(-1, keepdims=True)
    return y / np.sqrt((y * y).mean(-1, keepdims=True) + eps) * exact(w) + exact(b)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_layer_norm_of_odd_rows(dtype):
    for n in ODD:
        x, w, b = normal((3, n), dtype), normal(n, dtype, 1), normal(n, dtype, 2)
        close(mk.layer_norm(x, w, b, 1e-3), layer_norm(x, w, b, 1e-3))


def test_layer_norm_far_from_zero():
    x, w, b = normal((3, 257)) + 1000, normal(257, seed=1), normal(257, seed=2)
    close(mk.layer_norm(x, w, b), layer_norm(x, w, b), 50)  # x itself has only 1e-4 of its deviation


def test_layer_norm_of_strides_and_on_the_oracle():
    x, w, b = normal((4, 6, 50)), normal(33, seed=1), normal(33, seed=2)
    for view in (x[..., :33], x[:, 2, 5:38], x[::2, ::3, 10:43], x[..., 32::-1]):
        close(mk.layer_norm(view, w, b), layer_norm(view, w, b))
    for dtype in DTYPES:
        same_on_oracle(mk.layer_norm, normal((2, 45), dtype), normal(45, dtype, 1), normal(45, dtype, 2))
    assert mk.layer_norm(normal((0, 7)), normal(7), normal(7)).shape == (0, 7)


@pytest.mark.parametrize("norm", ["rms_norm", "layer_norm"])
def test_derivatives_of_odd_rows(norm):
    for n in ODD:
        x, w, g = normal((3, n)), normal(n, seed=1), normal((3, n), seed=2)
        wide = [exact(a) for a in (x, w, g)]
        for direction in ("jvp", "vjp"):
            got = norm_slope(norm, direction, x, w, g, 1e-3)
            close(got, references.norm_slope(norm, direction, *wide, 1e-3), np.abs(exact(got)).max() + 1)
        for a, b in zip(
            norm_weight_vjp(norm, x, g, 1e-3),
            references.norm_weight_vjp(norm, wide[0], wide[2], 1e-3),
            strict=True,
        ):
            close(a, b, np.abs(b).max() + 1)


@pytest.mark.parametrize("norm", ["rms_norm", "layer_norm"])
def test_derivatives_on_the_oracle(norm):
    x, w, g = normal((2, 35)), normal(35, seed=1), normal((2, 35), seed=2)
    for direction in ("jvp", "vjp"):
        same_on_oracle(norm_slope, norm, direction, x, w, g, 1e-3)
    same_on_oracle(norm_weight_vjp, norm, x, g, 1e-3)
