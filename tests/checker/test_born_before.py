"""An infinity that is in the input is not born in the function that hands it on."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt

INFINITE = np.array([1, np.inf, 3, np.inf], np.float32)
# Of x = infinity and y = 2, all of which are infinite.
PASSING = (
    *("select(y, x, x > y)", "copysign(x, y)", "copysign(y, x) + x", "round(x)", "rint(x)", "trunc(x)", "floor(x)"),
    *("ceil(x)", "fabs(x)", "exp(x)", "exp2(x)", "exp10(x)", "log(x)", "log2(x)", "log10(x)", "sqrt(x)", "pow(x, y)"),
    *("powr(x, y)", "fma(x, y, y)", "ldexp(x, 3)", "asinh(x)", "acosh(x)", "sinh(x)", "cosh(x)", "max(x, y)"),
    *("fmin3(x, x, x)", "float(half(x))", "nextafter(x, x)", "fdim(x, y)", "x - y"),
)  # fmt: skip
BORN = ("log(y - 2)", "exp(y * 100)", "select(1 / (y - 2), y, y > 5)", "copysign(1 / (y - 2), -1.0f)")


def rules(expression: str) -> set[str]:
    text = f"""#include <metal_stdlib>
    using namespace metal;
    kernel void k(device const float* a, device const float* b, device float* o, uint i [[thread_position_in_grid]]) {{
        float x = a[i], y = b[i];
        o[i] = {expression};
    }}"""
    kernel = mt.device("cpu").library(text, math="safe")["k"]
    arrays = [INFINITE.copy(), np.full(4, 2, np.float32), np.zeros(4, np.float32)]
    report = mt.check(kernel, *arrays, grid=4, threadgroup=4)
    return {f.rule for f in report.findings}


@pytest.mark.parametrize("expression", PASSING)
def test_what_was_infinite_before_is_not_born(expression):
    assert "M401" not in rules(expression)


@pytest.mark.parametrize("expression", BORN)
def test_what_was_finite_before_is(expression):
    assert "M401" in rules(expression)
