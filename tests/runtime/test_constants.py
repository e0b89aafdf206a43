"""A kernel whose function constants are not all known is not launched."""

import numpy as np
import pytest

import metalloid as mt

TEXT = """constant int n [[function_constant(0)]];
constant int extra [[function_constant(1)]];
constant int more = is_function_constant_defined(extra) ? extra : 5;
kernel void k(device int* o) { o[0] = n + more; }
"""


def test_a_missing_constant_is_named():
    kernel = mt.device().library(TEXT)["k"]
    out = np.zeros(1, np.int32)
    with pytest.raises(mt.LaunchError) as error:
        kernel(out, grid=1)
    assert "function constant 'n' has no value" in str(error.value)
    assert 'constants={"n": ...}' in str(error.value)
    assert out[0] == 0


@pytest.mark.parametrize(("constants", "result"), [({"n": 2}, 7), ({0: 2, "extra": 40}, 42)])
def test_given_by_name_or_index_it_runs(constants, result):
    out = np.zeros(1, np.int32)
    mt.device().library(TEXT).kernel("k", constants=constants)(out, grid=1)
    assert out[0] == result
