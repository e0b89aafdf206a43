"""Sums side by side of a thread that runs alone stand in registers: several of them, of several types, of any length."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import re

import numpy as np
import pytest

import metalloid as mt
from metalloid.analysis.intervals.prove import Prover
from metalloid.analysis.intervals.values import Facts
from metalloid.backends import patience
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import HEADER, WIDE, same, scalar_ir

THREADS = 37
# Of two rows and a number of each thread, what is folded. Numbers are small and whole, so that any order has the same bits.
FOLDS = {
    "three sums": ("float p = 0, q = 0, r = 0;", "p += x * y; q += x * x; r += y;", "p + 2 * q - r"),
    "least and greatest": ("float p = 9, q = -9;", "p = min(p, x); q = max(q, x * y);", "p * 100 + q"),
    "a sum and a limit": ("float p = 3, q = 0;", "q = max(q, abs(x - y)); p += x;", "p * 100 + q"),
    "halves": ("half p = 0; float q = 0;", "p = max(p, half(x)); q += y;", "float(p) + 100 * q"),
    "greatest halves": ("half p = -8, r = 8;", "p = max(p, half(x * y)); r = fmin(r, half(y));", "float(p) + 100 * r"),
    "two steps": ("float p = 0, q = 0;", "p += x; p -= y * z; q += z * x;", "p + 100 * q"),
    "differences": ("float p = 0, q = 0;", "p -= x * y; q -= y;", "p - q"),
    "with the counter": ("float p = 0, q = 0;", "p += x * float(k & 7); q += y;", "p + 100 * q"),
    "the last one": ("float p = 0, q = 0, l = 0;", "p += x; q += y; l = x;", "p + 100 * q + l"),
    "integers": ("float p = 0; int q = 0;", "p += x * y; q += int(x);", "p + 100 * float(q)"),
}  # fmt: skip
LENGTHS = (0, 1, 7, 8, 15, 16, 17, 31, 63, 64, 65, 100, 129, 200)


def text(fold: str, kind: str) -> str:
    start, step, end = FOLDS[fold]
    return f"""kernel void k(device const {kind}* a, device const float* b, device float* o, constant int& n, constant int& count,
        uint i [[thread_position_in_grid]]) {{
        if (int(i) >= count) return;
        {start} float z = b[i];
        for (int k = 0; k < n; k++) {{ float x = a[i * n + k], y = b[i * n + k]; {step} }}
        o[i] = {end}; }}"""


def rows(n: int, kind: str) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    a, b = (rng.integers(-3, 4, THREADS * max(1, n)) for _ in range(2))
    out = np.full(THREADS + 3, np.nan, np.float32)
    dtype = {"float": np.float32, "half": np.float16, "char": np.int8}[kind]
    return [a.astype(dtype), b.astype(np.float32), out, np.int32([n]), np.int32([THREADS])]


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("kind", ["float", "half", "char"])
def test_folds_of_rows(fold: str, kind: str) -> None:
    """Guarded and in good code, and proved, which a third launch is; rows of any length."""
    with patience.measuring():
        kernel = mt.device("cpu").library(HEADER + text(fold, kind), math="fast")["k"]
        for n in LENGTHS:
            arrays = rows(n, kind)
            expected = same(text(fold, kind), arrays, 40, 32, math="fast", guard=True)[2]
            for _ in range(3):
                found = [a.copy() for a in arrays]
                kernel(*found, grid=40, threadgroup=8)
                np.testing.assert_array_equal(found[2], expected, err_msg=f"{fold}, {kind}, {n}")


def proved(source: str) -> str:
    """Code for rows of 100, which are known to be inside their memory."""
    module = canonical(scalar_ir(source, "k", "fast")[0])
    lengths = {0: 1 << 20, 1: 1 << 20, 2: 1 << 10, 3: 4, 4: 4}
    numbers = {3: np.int32([100]).tobytes(), 4: np.int32([32]).tobytes()}
    facts = Facts((32, 1, 1), (32, 1, 1), (1, 1, 1), lengths, {}, numbers)
    proof = Prover(module).prove(facts)
    return vector_code(module, ((32, 1, 1), False, False, True, False, proof), 0, WIDE).text


@pytest.mark.parametrize(
    "fold", ["three sums", "least and greatest", "a sum and a limit", "two steps", "differences"]
)
def test_registers_are_carried_as_such(fold: str) -> None:
    """No sum is put into a register after the other."""
    code = proved(text(fold, "float"))
    assert "%register" in code
    assert len(re.findall(r"load <16 x float>, ptr %t\d+, align 4", code)) >= 2
    assert not re.search(r"insertelement <16 x float> .*, float %.*, i64 7", code)


def test_a_sum_that_is_wanted_in_each_round_stays_a_number() -> None:
    source = """kernel void k(device const float* a, device float* o, constant int& n, uint i [[thread_position_in_grid]]) {
        float p = 0, q = 0;
        for (int k = 0; k < n; k++) { p += a[i * n + k]; q += p; }
        o[i] = p + q; }"""
    a = np.random.default_rng(1).integers(-3, 4, 8 * 50).astype(np.float32)
    same(source, [a, np.zeros(8, np.float32), np.int32([50])], 8, 8, math="fast", widths=(0, 1))


def test_halves_that_are_nan() -> None:
    """The greatest leaves NaNs out, where halves are computed in float as well."""
    source = """kernel void k(device const half* a, device half* o, constant int& n, uint i [[thread_position_in_grid]]) {
        half p = -INFINITY, q = INFINITY;
        for (int k = 0; k < n; k++) { p = fmax(p, a[i * n + k]); q = fmin(q, a[i * n + k]); }
        o[2 * i] = p; o[2 * i + 1] = q; }"""
    a = np.random.default_rng(1).integers(-3, 4, (8, 70)).astype(np.float16)
    a[:, ::3] = np.nan
    a[7] = np.nan
    same(source, [a, np.zeros(16, np.float16), np.int32([70])], 8, 8, widths=(0, 1, 8))
