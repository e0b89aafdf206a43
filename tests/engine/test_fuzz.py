"""Oracle against engine on programs nobody wrote."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from metalloid.backends import interpret
from metalloid.compile import cpu_program, scalar
from metalloid.errors import KernelFault
from metalloid.source import Source
from tests.engine.both import HEADER, launch
from tests.engine.programs import program

# (grid, threadgroup): whole, ragged, tiny, not a multiple of anything
SIZES = [(64, 32), (100, 64), (33, 33), (7, 7), (96, 96), (150, 50), (40, 8)]


@st.composite
def cases(draw):
    text = program(lambda low, high: draw(st.integers(low, high)))
    size = draw(st.sampled_from(SIZES))
    width = draw(st.sampled_from((32, 32, 64, 8, 1)))
    return text, size, width, draw(st.booleans()), draw(st.integers(0, 2**32 - 1))


def check(case) -> None:
    text, (grid, group), width, backwards, seed = case
    if width < 32 and ("simd_" in text or "quad_" in text):
        width = 32
    random = np.random.default_rng(seed)
    a = random.integers(0, 2**32, grid, dtype=np.uint32) >> random.integers(0, 31, grid).astype(np.uint32)
    b = random.integers(-50, 50, grid).astype(np.float32) / 4
    arrays = [a, b, np.zeros(grid * 8, np.uint32), random.integers(0, 10, 2, dtype=np.uint32)]
    ir, signature = scalar(Source(HEADER + text, math="safe"), "k")
    expected = [x.copy() for x in arrays]
    try:
        interpret.run(ir, launch(expected, grid, group))
    except KernelFault as error:
        # Only a remainder by zero may lead here: clang takes `x % y` for `x & (y - 1)` where y is a power of
        # two or zero, and drops the mask that kept an index inside, or saw the division coming altogether.
        assert "undefined behaviour" in str(error) or ("%" in text and "private" in str(error)), text
        return
    got = [x.copy() for x in arrays]
    cpu_program(ir, signature, width).run(launch(got, grid, group), backwards=backwards)
    wrong = np.flatnonzero(expected[2] != got[2])
    wrong = [w for w in wrong if w % 8 != 6 or not _both_nan(expected[2][w], got[2][w])]
    assert not wrong, f"{text}\nat {wrong[:8]}: {expected[2][wrong[:4]]} expected, {got[2][wrong[:4]]} got"


def _both_nan(x: np.uint32, y: np.uint32) -> bool:
    """Two NaNs differ in bits that nobody promises."""
    return (int(x) ^ int(y)) in (0x80000000, 0x00400000, 0x80400000, 0)


SETTINGS = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": (Phase.explicit, Phase.generate, Phase.shrink),
    "print_blob": False,
    "database": None,
}


@settings(max_examples=300, derandomize=True, **SETTINGS)
@given(cases())
@pytest.mark.timeout(900)
def test_programs(case):
    check(case)


@pytest.mark.fuzz
@settings(max_examples=5000, **SETTINGS)
@given(cases())
@pytest.mark.timeout(20000)
def test_many_programs(case):
    check(case)
