"""Loops of a thread alone whose counters are narrow and go round, whose steps pass a limit by, or whose places move with
the counter and back: neighbours are only what cannot be anything else."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import warnings

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends import interpret, patience
from tests.engine.both import HEADER, launch, scalar_ir

ROWS = 9
RNG = np.random.default_rng(19)
RINGS = """kernel void k(device const float* x, device float* y, constant int& from, constant int& to, uint i [[thread_position_in_grid]]) {{
    {kind} j = {kind}(from), end = {kind}(to);
    {body} }}"""
BODIES = {
    "written": "do {{ y[i * 256 + {j}] = x[{j}] * 2; j++; }} while (j != end);",
    "by threes": "do {{ y[i * 256 + {j}] = x[{j}]; y[i * 256 + uchar({j} + 1)] = x[uchar({j} + 1)]; y[i * 256 + uchar({j} + 2)] = x[uchar({j} + 2)]; j += 3; }} while (j != end);",
    "a sum": "float s = 0; do {{ s += x[i * 256 + {j}]; j++; }} while (j != end); y[i] = s;",
    "two sums": "float s = 0, q = 0; do {{ s += x[i * 256 + {j}]; q += x[{j}] * x[{j}]; j++; }} while (j != end); y[i] = s; y[i + 20] = q;",
    "limits": "float s = -99, q = 99; do {{ s = max(s, x[i * 256 + {j}]); q = min(q, x[{j}] * x[{j}]); j++; }} while (j != end); y[i] = s; y[i + 20] = q;",
}  # fmt: skip
PLACES = """kernel void k(device const float* x, device float* y, constant int& n, constant int& m, uint i [[thread_position_in_grid]]) {{ {body} }}"""
MOVED = {
    "up and down": "for (int j = 0; j < n; j++) { device const float* p = x + j; y[i * n + j] = p[m + int(i) - j] + x[i * n + j]; }",
    "down and up": "for (int j = 0; j < n; j++) { device const float* p = x + (n - j); y[i * n + j] = p[m + j] * x[i * n + j]; }",
    "unsigned": "for (uint j = 0; j < uint(n); j++) { device const float* p = x + j; y[i * n + j] = p[m + i + n - j] * x[i * n + j]; }",
    "from below zero": "device const float *p = x + i * 100 + m, *q = x + 100; float s = 0, t = 0; int j = -m; do { s += p[j] * float(min(uint(j), 5u)); t += q[j] * float(min(j, 5)); j++; } while (j < n); y[i] = s; y[i + 20] = t;",
    "from above the greatest": "device const float *p = x + i * 100 - 2147483600ul, *q = x - 2147483600ul; float s = 0, t = 0; uint j = 2147483600u, e = j + uint(n + m); do { s += p[j] * float(max(int(j), 2147483640) & 255); t += q[j]; j++; } while (j < e); y[i] = s; y[i + 20] = t;",
}  # fmt: skip
BEFORE = {  # where a buffer begins: reads of nothing, then of elements
    "a sum": "float s = 0; uint j = i * 16 - 2, end = j + n; do { s += x[j]; j++; } while (j != end); y[i] = s;",
    "a sum and a limit": "float s = 0, q = 0; for (int j = 0; j < n; j++) { s += x[i * 16 - 2 + j]; q = max(q, x[i * 16 - 3 + j]); } y[i] = s; y[i + 20] = q;",
    "written": "for (int j = 0; j < n; j++) y[i * n + j] = x[i * 16 - 2 + j] + 1;",
}  # fmt: skip


def check(text: str, x: np.ndarray, numbers: tuple[int, int], robust: bool = False) -> None:
    """The first launch, and those of the same sizes after it, which have proofs."""
    y = np.full(ROWS * 256, 77, np.float32)
    expected = [x, y.copy(), *(np.int32([n]) for n in numbers)]
    bound = launch(expected, ROWS, ROWS)
    ir = scalar_ir(text, "k", "fast")[0]
    for _ in interpret.run_robust(ir, bound) if robust else [interpret.run(ir, bound)]:
        pass
    with patience.measuring(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = mt.device("cpu").library(HEADER + text, math="fast")["k"]
        for _ in range(3):
            got = y.copy()
            kernel(x, got, *numbers, grid=ROWS, threadgroup=8, guard="robust" if robust else True)
            np.testing.assert_array_equal(got, expected[1], err_msg=f"{numbers}")


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize(("kind", "form"), [("uchar", "j"), ("char", "(128 + int(j))"), ("uint", "uchar(j)")])
def test_counters_that_go_round(body: str, kind: str, form: str) -> None:
    text = RINGS.format(kind=kind, body=body.format(j=form))
    x = RNG.integers(-5, 6, ROWS * 256).astype(np.float32)
    less = 128 if kind == "char" else 0
    for start, end in ((250, 3), (0, 0), (3, 200), (129, 127), (0, 1)):
        if kind == "uint":  # which would take 2^32 rounds
            end = start + (end - start) % 256 * 3 + (0 if end - start else 96)
        check(text, x, (start - less, end - less))


@pytest.mark.parametrize("body", MOVED.values(), ids=MOVED)
def test_places_that_move_with_the_counter_and_back(body: str) -> None:
    x = RNG.integers(-5, 6, 4000).astype(np.float32)
    for n in (3, 19, 64, 150):
        check(PLACES.format(body=body), x, (n, 70))


@pytest.mark.parametrize("body", BEFORE.values(), ids=BEFORE)
def test_rows_that_begin_before_their_memory(body: str) -> None:
    """As a GPU does it, what is not there reads as zero; what comes behind that is there."""
    x = RNG.integers(-5, 6, 500).astype(np.float32)
    for n in (3, 5, 17, 40, 100):
        check(PLACES.format(body=body), x, (n, 0), robust=True)
