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


@pytest.mark.parametrize(
    ("value", "says"), [(2.5, "2.5 would lose"), (1 << 40, "does not fit"), (float("nan"), "nan would lose")]
)
def test_a_number_that_would_become_another_is_refused(value, says):
    with pytest.raises(mt.CompileError, match=f"function constant 'n' is declared int; .*{says}"):
        mt.device().library(TEXT).kernel("k", constants={"n": value})


def test_a_kernel_whose_last_buffer_is_switched_off_runs_again_and_again() -> None:
    text = """#include <metal_stdlib>
using namespace metal;
constant bool has [[function_constant(0)]];
kernel void k(device float* x [[buffer(0)]], device const float* y [[buffer(3), function_constant(has)]],
              constant float& s [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  x[i] += has ? y[i] : s;
}"""
    made = mt.device("cpu").library(text).kernel("k", constants={0: False})
    x = np.zeros(64, np.float32)
    for _ in range(40):
        made(x=x, s=2.0, grid=64, threadgroup=64)
    np.testing.assert_array_equal(x, 80)
