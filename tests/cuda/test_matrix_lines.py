"""Matrices in threadgroup memory whose lines tensor cores load at once: which are, and that numbers are the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cuda.lanes import Lanes
from metalloid.backends.cuda.lines import holder
from metalloid.backends.cuda.ptx import compile_ptx
from metalloid.backends.cuda.variant import Variant
from metalloid.compile import scalar
from metalloid.ir.intrinsics import ENTRY
from metalloid.source import Source
from metalloid.transforms.canonicalize import canonical
from tests.cuda.simulator.gpu import installed

HEADER = "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\nusing namespace metal;\n"
linux = pytest.mark.skipif(sys.platform != "linux", reason="contexts of threads are made by glibc")

# c = a @ b by four SIMD-groups, each with 16 by 16 of it. Elements are loaded one by one, or as whole matrices.
PRODUCT = """
kernel void mm(device const half* a, device const half* b, device float* c, constant uint& n,
               uint l [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]],
               uint t [[thread_index_in_threadgroup]]) {
    threadgroup half as[32 * 40 + 8], bs[32 * 40 + 8];
    simdgroup_float8x8 z[2][2];
    for (int i = 0; i < 4; i++) z[i / 2][i % 2] = make_filled_simdgroup_matrix<float, 8, 8>(0.5f);
    uint quad = l / 4, fm = (quad & 4) + l / 2 % 4, fn = (quad & 2) * 2 + l % 2 * 2;
    for (uint k = 0; k < n; k += 16) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = t; i < 512; i += 128)
            as[FIRST + i / 16 * DOWN_A + i % 16 * ACROSS_A] = a[i / 16 * n + k + i % 16];
        for (uint i = t; i < 512; i += 128)
            bs[FIRST + i / 32 * DOWN_B + i % 32 * ACROSS_B] = b[(k + i / 32) * 32 + i % 32];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        threadgroup const half* p = as + FIRST + 16 * (s / 2) * DOWN_A;
        threadgroup const half* q = bs + FIRST + 16 * (s % 2) * ACROSS_B;
        for (uint kk = 0; kk < 16; kk += 8) {
            simdgroup_matrix<half, 8, 8> x[2], y[2];
            for (int i = 0; i < 2; i++) {
                LOADS
            }
            for (int i = 0; i < 4; i++)
                simdgroup_multiply_accumulate(z[i / 2][i % 2], x[i / 2], y[i % 2], z[i / 2][i % 2]);
        }
    }
    for (int i = 0; i < 4; i++)
        simdgroup_store(z[i / 2][i % 2], c + (16 * (s / 2) + 8 * (i / 2)) * 32 + 16 * (s % 2) + 8 * (i % 2), 32);
}"""
BY_ELEMENTS = """
    threadgroup const half* u = p + fm * DOWN_A + fn * ACROSS_A;
    threadgroup const half* v = q + fm * DOWN_B + fn * ACROSS_B;
    for (int e = 0; e < 2; e++) {
        x[i].thread_elements()[e] = u[8 * i * DOWN_A + (kk + e) * ACROSS_A];
        y[i].thread_elements()[e] = v[kk * DOWN_B + (8 * i + e) * ACROSS_B];
    }"""
WHOLE = """
    simdgroup_load(x[i], p + 8 * i * DOWN_A + kk * ACROSS_A, ulong(STRIDE_A), ulong2(0), ACROSS_A != 1);
    simdgroup_load(y[i], q + kk * DOWN_B + 8 * i * ACROSS_B, ulong(STRIDE_B), ulong2(0), ACROSS_B != 1);"""


def source(loads: str, a: tuple[int, int], b: tuple[int, int], first: int = 0) -> str:
    text = HEADER + PRODUCT.replace("LOADS", loads)
    words = {"DOWN_A": a[0], "ACROSS_A": a[1], "DOWN_B": b[0], "ACROSS_B": b[1], "FIRST": first,
             "STRIDE_A": max(a), "STRIDE_B": max(b)}  # fmt: skip
    for word, value in words.items():
        text = text.replace(word, str(value))
    return text


@pytest.fixture
def gpu() -> Iterator[None]:
    with installed():
        yield


def ptx(text: str) -> str:
    ir = scalar(Source(text, name="k.metal", math="fast"), "mm")[0]
    return compile_ptx(ir, "sm_90", Variant((128, 1, 1), False, False, True, even=True)).text


ROWS, COLUMNS = {"a": (24, 1), "b": (40, 1)}, {"a": (1, 40), "b": (1, 24)}


@linux
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("loads", [BY_ELEMENTS, WHOLE], ids=["elements", "whole"])
@pytest.mark.parametrize(
    ("a", "b", "first"),
    [
        (ROWS["a"], ROWS["b"], 0),
        (COLUMNS["a"], COLUMNS["b"], 0),
        (ROWS["a"], COLUMNS["b"], 8),
        (ROWS["a"], ROWS["b"], 2),  # not at a multiple of 16 bytes
        ((20, 1), (36, 1), 0),  # nor are lines
        ((17, 1), (35, 1), 1),
    ],
)
def test_products_are_the_same(loads: str, a: tuple[int, int], b: tuple[int, int], first: int) -> None:
    n = 32
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal(s).astype(np.float16) for s in ((32, n), (n, 32)))
    c = np.full((32, 32), np.nan, np.float32)
    made = mt.device("cuda").library(source(loads, a, b, first))["mm"]
    made(x, y, c, n, grid=128, threadgroup=128)
    assert not made.interpreted
    np.testing.assert_allclose(c, x.astype(float) @ y.astype(float) + 0.5, rtol=2e-6, atol=2e-5)


@pytest.mark.parametrize("loads", [BY_ELEMENTS, WHOLE], ids=["elements", "whole"])
@pytest.mark.parametrize(
    ("a", "b", "plain", "turned"),
    [
        (ROWS["a"], ROWS["b"], True, True),  # the right side wants columns
        (ROWS["a"], COLUMNS["b"], True, False),
        (COLUMNS["a"], COLUMNS["b"], True, True),
        (COLUMNS["a"], ROWS["b"], False, True),
    ],
)
def test_lines_are_loaded_at_once(
    loads: str, a: tuple[int, int], b: tuple[int, int], plain: bool, turned: bool
) -> None:
    text = ptx(source(loads, a, b))
    assert ("m8n8.x4.shared.b16" in text) == plain and ("m8n8.x4.trans.shared.b16" in text) == turned
    assert text.count("ldmatrix") == 2  # for sixteen products in four instructions
    assert (
        text.count("mma.sync.aligned.m16n8k16") == 2 and "movmatrix" not in text and "ld.shared" not in text
    )


@pytest.mark.parametrize(("a", "b", "first"), [(ROWS["a"], ROWS["b"], 2), ((20, 1), (36, 1), 0)])
def test_what_is_no_line_is_not(a: tuple[int, int], b: tuple[int, int], first: int) -> None:
    assert "ldmatrix" not in ptx(source(BY_ELEMENTS, a, b, first))


def test_lanes_are_told_apart() -> None:
    """A value for each lane, beside one that all share, against what arithmetic says."""
    text = """kernel void k(device int* out, uint l [[thread_index_in_simdgroup]],
                            uint s [[simdgroup_index_in_threadgroup]], uint t [[thread_index_in_threadgroup]]) {
        uint fm = ((l / 4) & 4) + l / 2 % 4, fn = ((l / 4) & 2) * 2 + l % 2 * 2;
        out[((s & 2) * 4 + fm) * 24 + fn] = 0; out[t * 3 + 5] = 0; out[(t & 31) << 4] = 0;
        out[t * t] = 0; out[t / 8] = 0;
    }"""
    entry = canonical(scalar(Source(HEADER + text, name="k.metal"), "k")[0]).function[ENTRY]
    lanes = Lanes(entry, (128, 1, 1))
    values = [lanes.of(i.operands[1]) for i in entry.instructions() if i.opcode == "getelementptr"]
    known = [v for v in values if v is not None]
    assert {v.own for v in known} >= {
        tuple(24 * r + c for r, c in map(place, range(32))),
        tuple(3 * n for n in range(32)),
        tuple(16 * n for n in range(32)),
        tuple(n // 8 for n in range(32)),
    }
    shared = next(v for v in known if v.own == tuple(24 * r + c for r, c in map(place, range(32))))
    assert (shared.lo, shared.hi, shared.align) == (0, 192, 64)
    assert len(values) == 5 and len(known) == 4  # a square is not known


def place(lane: int) -> tuple[int, int]:
    return next((r, c) for r in range(8) for c in (0, 2, 4, 6) if holder(r, c) == lane)
