"""Sums, maxima and softmax against float64."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
import metalloid.kernels as mk
from metalloid.kernels.reduce import LONG, softmax_slope
from tests.kernels.helpers import DTYPES, ODD, close, exact, normal, same_on_oracle


def softmax(x, axis=-1):
    p = np.exp(exact(x) - exact(x).max(axis, keepdims=True))
    return p / p.sum(axis, keepdims=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_of_odd_sizes(dtype):
    for n in (*ODD, LONG + 7):
        x, g = normal((3, n), dtype), normal((3, n), dtype, 1)
        close(mk.sum(x), exact(x).sum(-1), np.abs(exact(x)).sum(-1))
        assert (mk.max(x) == x.max(-1)).all()
        assert (mk.argmax(x) == exact(x).argmax(-1)).all()
        close(mk.softmax(x * dtype.type(5)), softmax(x * dtype.type(5)))
        y = softmax(x).astype(dtype)
        wanted = exact(y) * (exact(g) - (exact(y) * exact(g)).sum(-1, keepdims=True))
        close(softmax_slope(y, g), wanted, np.abs(exact(y)))


def test_the_first_of_equals_and_nan():
    x = np.array([[3, 7, 1, 7], [-1, -1, -1, -2], [1, np.nan, 5, np.nan]], np.float32)
    assert mk.argmax(x).tolist() == [1, 0, 1]
    assert mk.max(x)[:2].tolist() == [7, -1] and np.isnan(mk.max(x)[2])
    x = np.full(300, -np.inf, np.float32)
    assert mk.argmax(x) == 0
    x[257] = -1
    assert mk.argmax(x) == 257
    ties = np.zeros(LONG + 100, np.float32)
    ties[[40, LONG, 33]] = 1
    assert mk.argmax(ties) == 33


def test_masked_scores_have_no_share():
    x = normal((2, 40))
    x[:, 7:] = -np.inf
    got = mk.softmax(x)
    assert (got[:, 7:] == 0).all()
    close(got, softmax(x))


def test_other_axes_and_strides():
    x = normal((5, 33, 7))
    for axis in (0, 1, 2, -2):
        close(mk.softmax(x, axis), softmax(x, axis))
        close(mk.sum(x, axis), exact(x).sum(axis), np.abs(exact(x)).sum(axis))
        assert (mk.argmax(x, axis) == x.argmax(axis)).all()
    close(mk.softmax(x[::2, ::-3, 1:5]), softmax(x[::2, ::-3, 1:5]))
    assert (mk.max(x[:, 3]) == x[:, 3].max(-1)).all()


def test_the_oracle_agrees():
    for dtype in DTYPES:
        x, y = normal((2, 39), dtype), normal((2, 39), dtype, 1)
        for f in (mk.sum, mk.max, mk.argmax, mk.softmax):
            same_on_oracle(f, x)
        same_on_oracle(softmax_slope, x, y)


def test_nothing_in_and_refusals():
    assert mk.softmax(normal((3, 0))).shape == (3, 0)
    assert mk.sum(normal((3, 0))).tolist() == [0, 0, 0]
    assert mk.max(normal((0, 3))).shape == (0,)
    with pytest.raises(mt.LaunchError, match=r"\[argmax\] expected an axis with elements, got \(3, 0\)"):
        mk.argmax(normal((3, 0)))
    with pytest.raises(mt.LaunchError, match=r"\[softmax\] expected an axis of 2, got 2"):
        mk.softmax(normal((3, 4)), 2)
