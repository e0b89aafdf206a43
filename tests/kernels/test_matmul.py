"""Matrix products against float64, in every variant."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
import metalloid.kernels as mk
from metalloid.kernels.matmul import VARIANTS
from tests.kernels.helpers import BFLOAT16, DTYPES, close, exact, normal, same_on_oracle

# (rows, columns, inner): every odd size once on each axis, tails in all combinations of tile and rest.
SIZES = (
    (1, 1, 1),
    (1, 257, 33),
    (15, 16, 17),
    (16, 31, 32),
    (17, 33, 15),
    (31, 17, 256),
    (33, 1, 31),
    (32, 64, 1),
    (67, 127, 61),
    (13, 255, 257),
)


def check(a, b, transpose_b=False, variant=None):
    wide = np.swapaxes(exact(b), -1, -2) if transpose_b and b.ndim > 1 else exact(b)
    close(
        mk.matmul(a, b, transpose_b, variant),
        exact(a) @ wide,
        np.maximum(np.abs(exact(a)) @ np.abs(wide), 1e-30),
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("variant", [None, *VARIANTS])
def test_products_of_odd_sizes(variant, dtype):
    for m, n, k in SIZES:
        a, b = normal((m, k), dtype), normal((k, n), dtype, 1)
        check(a, b, False, variant)
        check(a, np.ascontiguousarray(b.T), True, variant)


@pytest.mark.parametrize("variant", [None, "registers", "direct"])
def test_weights_of_16_bits_with_activations_of_32(variant):
    for dtype in (np.float16, BFLOAT16):
        a, b = normal((18, 45)), normal((37, 45), dtype, 1)
        check(a, b, True, variant)
        check(a, np.ascontiguousarray(b.T), False, variant)


@pytest.mark.parametrize("variant", [None, *VARIANTS])
def test_batches(variant):
    for dtype in DTYPES:
        a, b = normal((2, 3, 17, 21), dtype), normal((2, 3, 21, 34), dtype, 1)
        check(a, b, False, variant)
        check(a, b.swapaxes(-1, -2), True, variant)
        check(a, b[0, 0], False, variant)  # one matrix for all
        check(a[0, 0], b, False, variant)
        check(a, b[:1], False, variant)
        check(a[:, :1], b[:1], False, variant)


@pytest.mark.parametrize("variant", [None, *VARIANTS])
def test_strides(variant):
    a, b = normal((40, 60)), normal((60, 50), seed=1)
    for x in (a, a[::2], a[3:20, 5:38], a[:, ::-1], normal((60, 40)).T, a[::-1]):
        k = x.shape[1]
        for y in (b[:k], b[:k, 3:36], b[:k, ::2], np.ascontiguousarray(b[:k].T).T, b[:k, ::-1]):
            check(x, y, False, variant)
    heads = normal((2, 9, 3, 16))  # as attention has them: batch, time, head, dim
    check(heads.swapaxes(1, 2), heads.swapaxes(1, 2), True, variant)


def test_vectors():
    a = normal((19, 35))
    check(a, normal(35, seed=1))
    check(normal(19, seed=1), a)
    check(normal(35), normal(35, seed=1))
    check(normal((2, 19, 35)), normal(35, seed=1))
    for dtype in DTYPES:
        w, x = normal((129, 77), dtype), normal(77, np.float32, 1)
        close(mk.matvec(w, x), exact(w) @ exact(x), np.abs(exact(w)) @ np.abs(exact(x)))
        close(
            mk.matvec(w, x.astype(dtype)),
            exact(w) @ exact(x.astype(dtype)),
            np.abs(exact(w)) @ np.abs(exact(x)),
        )


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_oracle_agrees(variant):
    for dtype in DTYPES if variant in ("registers", "direct") else DTYPES[:1]:
        a, b = normal((5, 19), dtype), normal((19, 9), dtype, 1)
        same_on_oracle(mk.matmul, a, b, variant=variant)
        same_on_oracle(mk.matmul, a, np.ascontiguousarray(b.T), transpose_b=True, variant=variant)


def test_nothing_in():
    assert mk.matmul(normal((0, 3)), normal((3, 4))).shape == (0, 4)
    assert mk.matmul(normal((2, 3)), normal((3, 0))).shape == (2, 0)
    assert (mk.matmul(normal((2, 0)), normal((0, 4))) == np.zeros((2, 4))).all()
    assert mk.matmul(normal((0, 2, 3)), normal((0, 3, 4))).shape == (0, 2, 4)


def test_refusals_show_both_sides():
    with pytest.raises(
        mt.LaunchError,
        match=r"\[matmul\] expected \(..., m, k\) and \(..., k, n\), got \(2, 3\) and \(4, 5\)",
    ):
        mk.matmul(normal((2, 3)), normal((4, 5)))
    with pytest.raises(mt.LaunchError, match=r"\[matmul\] expected b of float16 like a, got float32"):
        mk.matmul(normal((2, 3), np.float16), normal((3, 5)))
    with pytest.raises(mt.LaunchError, match=r"\[matmul\] expected a variant of tile16, .*, got 'fastest'"):
        mk.matmul(normal((2, 3)), normal((3, 5)), variant="fastest")
    with pytest.raises(
        mt.LaunchError, match=r"\[matmul\] expected b of float32 like a for variant 'tile16', got float16"
    ):
        mk.matmul(normal((2, 3)), normal((3, 5), np.float16), variant="tile16")
    with pytest.raises(mt.LaunchError, match=r"\[matmul\] expected batches that go together"):
        mk.matmul(normal((2, 2, 3)), normal((3, 3, 5)))
