"""Rotary embedding against complex numbers in float64."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
import metalloid.kernels as mk
from tests.kernels.helpers import DTYPES, close, exact, normal, same_on_oracle


def reference(x, dims, interleaved, base=10000.0, scale=1.0, offset=0, frequencies=None):
    x = exact(x).copy()
    speed = base ** (-np.arange(0, dims, 2) / dims) if frequencies is None else frequencies
    turn = np.exp(1j * scale * (np.arange(x.shape[-2]) + offset)[:, None] * speed)
    pairs = np.s_[..., 0:dims:2], np.s_[..., 1:dims:2]
    if not interleaved:
        pairs = np.s_[..., : dims // 2], np.s_[..., dims // 2 : dims]
    z = (x[pairs[0]] + 1j * x[pairs[1]]) * turn
    x[pairs[0]], x[pairs[1]] = z.real, z.imag
    return x


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sizes_and_offsets(dtype, interleaved):
    for n, size, dims, offset in ((1, 2, 2, 0), (17, 32, 32, 5), (33, 64, 30, 250), (3, 127, 64, 100_003)):
        x = normal((2, 3, n, size), dtype)
        got = mk.rope(x, dims, interleaved=interleaved, offset=offset, base=500000.0, scale=0.5)
        close(got, reference(x, dims, interleaved, 500000.0, 0.5, offset))


def test_frequencies_of_ones_own():
    x, speed = normal((5, 16)), np.linspace(0.3, 2.0, 8)
    close(mk.rope(x, frequencies=speed), reference(x, 16, False, frequencies=speed))


def test_heads_between_time_and_dimension_are_not_copied():
    x = normal((9, 4, 32))  # time, head, dimension
    close(mk.rope(x.swapaxes(0, 1), offset=3), reference(x.swapaxes(0, 1), 32, False, offset=3))
    x = normal((2, 9, 4, 33))
    close(mk.rope(x.swapaxes(1, 2)[..., :32]), reference(x.swapaxes(1, 2)[..., :32], 32, False))


def test_inverse_turns_back():
    for interleaved in (False, True):
        x = normal((3, 40, 32))
        back = mk.rope(
            mk.rope(x, interleaved=interleaved, offset=7), interleaved=interleaved, offset=7, inverse=True
        )
        close(back, exact(x))


def test_the_oracle_agrees():
    for dtype in DTYPES:
        for interleaved in (False, True):
            same_on_oracle(mk.rope, normal((2, 3, 10), dtype), 8, interleaved=interleaved, offset=2)


def test_nothing_in_and_refusals():
    assert mk.rope(normal((2, 0, 8))).shape == (2, 0, 8)
    with pytest.raises(mt.LaunchError, match=r"\[rope\] expected an even number of dims up to 8, got 7"):
        mk.rope(normal((2, 8)), 7)
    with pytest.raises(mt.LaunchError, match=r"\[rope\] expected frequencies of shape \(4,\), got \(3,\)"):
        mk.rope(normal((2, 8)), frequencies=np.ones(3))
    with pytest.raises(mt.LaunchError, match=r"\[rope\] expected \(..., time, dimension\), got \(8,\)"):
        mk.rope(normal(8))
