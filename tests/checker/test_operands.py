"""M401 shows the numbers that made the NaN or infinity: of an operation, and of the call as the user wrote it."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from tests.checker.triplet import HEADER, blank, compiled

BORN = {
    "rsqrt(x[i])": "NaN is born: rsqrt(-1)",
    "precise::rsqrt(x[i] - 3)": "NaN is born: rsqrt(-2)",
    "log(x[i] * 5)": "NaN is born: log(-5)",
    "acos(x[i] + 3)": "NaN is born: acos(4)",
    "log(half(x[i]))": "NaN is born: log(-1)",
    "pow(x[i], -0.5f)": "NaN is born: pow() of -1",
    "fma(x[i] + 1, 1e38f * 10, 1.0f)": "NaN is born: fma(0, infinity, 1)",
    "x[i] / (x[i + 1] + 1)": "an infinity is born: 1 / 0",
    "half_of(x[i])": "NaN is born: rsqrt(-1)",
}


@pytest.mark.parametrize("expression", BORN)
def test_the_operands_are_shown(expression: str):
    text = f"""float half_of(float v) {{ return rsqrt(v) / 2; }}
    kernel void k(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {{
        y[i] = {expression};
    }}"""
    x = np.array([1, -1, -1, 2, 3], np.float32)
    findings = mt.check(compiled(HEADER + text, math="safe"), x, blank(4), grid=4).findings
    assert [f.message.split(";")[0] for f in findings if f.rule == "M401"][:1] == [BORN[expression]]
