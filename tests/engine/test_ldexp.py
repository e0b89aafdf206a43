"""x * 2^n, and the exponentials made with it: the same bits on every processor, for every number."""

from __future__ import annotations

import time

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends import patience
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import HEADER, LESSER, launch, same, scalar_ir

RNG = np.random.default_rng(5)
TARGETS = ("host", *LESSER)
SPECIAL = np.array(
    [0, -0.0, 1, -1.5, 2**-149, -(2**-130) * 1.25, 2**-126, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32
)
LDEXP = """kernel void k(device const float* x, device const int* n, device float* out,
    uint i [[thread_position_in_grid]]) { out[i] = __builtin_elementwise_ldexp(x[i], n[i]); }"""
ONE = """kernel void k(constant float& x, constant int& n, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = __builtin_elementwise_ldexp(x, n); }"""
EXPONENTIALS = """kernel void k(device const float* x, device float* out, uint i [[thread_position_in_grid]]) {
    float a = x[i];
    out[6 * i] = exp(a); out[6 * i + 1] = fast::exp(a); out[6 * i + 2] = exp2(a); out[6 * i + 3] = exp10(a);
    out[6 * i + 4] = tanh(a); out[6 * i + 5] = pow(1.37f, a);
}"""


def run(text: str, arrays: list[np.ndarray], count: int, target: str, width: int = 0) -> np.ndarray:
    chosen = codegen.limited(target) if target != "host" else None
    made = [a.copy() for a in arrays]
    cpu_program(*scalar_ir(text, "k"), width, chosen).run(launch(made, count, 64))
    return made[-1]


def pairs() -> tuple[np.ndarray, np.ndarray]:
    """Special numbers with all powers, and random bits with powers that lead everywhere, denormals above all."""
    powers = np.array([*range(-310, 311), 10**6, -(10**6), 2**31 - 1, -(2**31)], np.int32)
    x = np.concatenate(
        [np.repeat(SPECIAL, len(powers)), RNG.integers(0, 2**32, 20000, np.uint32).view(np.float32)]
    )
    return x, np.concatenate([np.tile(powers, len(SPECIAL)), RNG.integers(-160, 130, 20000).astype(np.int32)])


@pytest.mark.parametrize("target", TARGETS)
def test_scaling_is_rounded_once(target):
    x, n = pairs()
    with np.errstate(all="ignore"):
        exact = np.ldexp(x.astype(np.float64), np.clip(n, -900, 900)).astype(np.float32)
    got = run(LDEXP, [x, n, np.full(len(x), 7, np.float32)], len(x), target)
    np.testing.assert_array_equal(got, exact)


@pytest.mark.parametrize("target", TARGETS)
def test_scaling_one_number(target):
    for x, n in ((1.7, -140), (-3e-39, 12), (1.5, 127), (0.7, -149)):
        arrays = [np.array([x], np.float32), np.array([n], np.int32), np.zeros(64, np.float32)]
        got = run(ONE, arrays, 64, target)
        assert (got == np.float32(np.ldexp(np.float64(np.float32(x)), n))).all()


@pytest.mark.parametrize("target", TARGETS)
def test_exponentials_have_the_same_bits(target):
    """The least normal number is e^-87.3 and 2^-126, the least of all e^-103.3 and 2^-149."""
    signs = np.array([0xFFC00000, 0xFFFFFFFF, 0x7FFFFFFF, 0x7F800001], np.uint32).view(np.float32)
    edges = [RNG.uniform(low, low + 2, 100) for low in (-88, -105, -127, -150, -151, -39, -46)]
    plain = np.concatenate([*edges, RNG.uniform(-160, 130, 500)]).astype(np.float32)
    x = np.concatenate([SPECIAL, signs, plain])
    arrays = [x, np.full(6 * len(x), 7, np.float32)]
    expected = same(EXPONENTIALS, arrays, len(x), 64)[1]
    np.testing.assert_array_equal(run(EXPONENTIALS, arrays, len(x), target), expected)


@pytest.mark.skipif(len(TARGETS) == 1, reason="x86 levels")
def test_no_exponential_goes_lane_by_lane():
    module = canonical(scalar_ir(EXPONENTIALS, "k")[0])
    for target in (codegen.host(), codegen.limited("avx2")):
        code = vector_code(module, ((64, 1, 1), False, False, False, False, None), 8, target)
        assert "ldexpf" not in codegen.to_assembly(code.text, target)


LDEXP_OF_METAL = """kernel void k(device const float* x, device const int* n, device float* out,
    uint i [[thread_position_in_grid]]) { out[i] = ldexp(x[i], n[i]); }"""


@pytest.mark.parametrize("target", TARGETS)
def test_metals_own_ldexp(target):
    """It scales numbers below zero as well."""
    x, n = pairs()
    with np.errstate(all="ignore"):
        exact = np.ldexp(x.astype(np.float64), np.clip(n, -900, 900)).astype(np.float32)
    got = run(LDEXP_OF_METAL, [x, n, np.full(len(x), 7, np.float32)], len(x), target)
    np.testing.assert_array_equal(got, exact)


def test_what_is_below_all_normal_numbers_takes_no_longer():
    """A result that is no normal number takes a hundred cycles, on processors of Intel's."""
    kernel = mt.device("cpu").library(HEADER + EXP)["k"]
    out, times = np.zeros(1 << 15, np.float32), {}
    with patience.measuring():
        for x in (-1.0, -95.0, -200.0, -np.inf):
            a = np.full(1 << 15, x, np.float32)
            runs = []
            for _ in range(30):
                start = time.perf_counter()
                kernel(a, out, grid=1 << 15, threadgroup=256)
                runs.append(time.perf_counter() - start)
            times[x] = min(runs)
    assert max(times.values()) < 3 * times[-1.0], times


EXP = """kernel void k(device const float* a, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = exp(a[i]); }"""
