"""Where the first NaN or infinity of a large output is."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from metalloid.checker.finite import PIECE, not_finite


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
@pytest.mark.parametrize("mark", [np.nan, np.inf, -np.inf])
def test_it_is_found_wherever_it_is(dtype, mark):
    values = np.linspace(-100, 100, 3 * PIECE + 5).astype(dtype)
    assert not_finite(values).size == 0
    for at in (0, PIECE - 1, PIECE, 3 * PIECE + 4):
        with_one = values.copy()
        with_one[at] = mark
        assert not_finite(with_one).tolist() == [at]


def test_numbers_whose_sum_does_not_fit_are_finite_all_the_same():
    assert not_finite(np.full(100, 3e38, np.float32)).size == 0
    assert not_finite(np.full(100, 65504, np.float16)).size == 0
