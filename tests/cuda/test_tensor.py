"""Products of halves and bfloats on tensor cores: the same numbers, in tiles as large as the kernel allows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cuda.ptx import compile_ptx
from metalloid.backends.cuda.variant import Variant
from metalloid.compile import scalar
from metalloid.source import Source
from tests.cuda.simulator.gpu import installed

HEADER = "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\nusing namespace metal;\n"
TYPES: dict[str, Any] = {"half": np.float16, "bfloat": ml_dtypes.bfloat16}
linux = pytest.mark.skipif(sys.platform != "linux", reason="contexts of threads are made by glibc")

# Two by two matrices, deep as `n`, which a loop goes along in steps of 16.
BLOCKS = """
kernel void mm(device const KIND* a, device const KIND* b, device float* c, constant uint& n,
               uint l [[thread_index_in_simdgroup]]) {
    simdgroup_matrix<KIND, 8, 8> x[2], y[2];
    simdgroup_float8x8 z[2][2];
    for (int i = 0; i < 4; i++) z[i / 2][i % 2] = make_filled_simdgroup_matrix<float, 8, 8>(0.5f);
    for (uint k = 0; k < n; k += 16)
        for (uint kk = 0; kk < 16; kk += 8) {
            for (int i = 0; i < 2; i++) simdgroup_load(x[i], a + 8 * i * n + k + kk, n);
            for (int i = 0; i < 2; i++) simdgroup_load(y[i], b + (k + kk) * 16 + 8 * i, 16);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++) simdgroup_multiply_accumulate(z[i][j], x[i], y[j], z[i][j]);
        }
    for (int i = 0; i < 4; i++) {
        MORE
        simdgroup_store(z[i / 2][i % 2], c + 128 * (i / 2) + 8 * (i % 2), 16);
    }
}"""
# One matrix; elements come from threadgroup memory, which holds b in rows, in columns or in rows of an odd length.
ELEMENTS = """
kernel void mm(device const half* a, device const half* b, device float* c, constant uint& n,
               uint l [[thread_index_in_simdgroup]]) {
    threadgroup half as[8 * 20], bs[16 * 20];
    simdgroup_float8x8 z = make_filled_simdgroup_matrix<float, 8, 8>(0.5f);
    uint quad = l / 4, fm = (quad & 4) + l / 2 % 4, fn = (quad & 2) * 2 + l % 2 * 2;
    for (uint k = 0; k < n; k += 16) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = l; i < 128; i += 32) as[i / 16 * 20 + i % 16] = a[i / 16 * n + k + i % 16];
        for (uint i = l; i < 128; i += 32) bs[i / 8 * DOWN + i % 8 * ACROSS] = b[(k + i / 8) * 8 + i % 8];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        threadgroup const half* p = as + fm * 20 + fn;
        threadgroup const half* q = bs + fm * DOWN + fn * ACROSS;
        for (uint kk = 0; kk < 16; kk += 8) {
            simdgroup_float8x8 x, y;
            for (int e = 0; e < 2; e++) {
                x.thread_elements()[e] = float(p[kk + e]);
                y.thread_elements()[e] = float(q[kk * DOWN + e * ACROSS]);
            }
            simdgroup_multiply_accumulate(z, x, y, z);
        }
    }
    simdgroup_store(z, c, 8);
}"""


@pytest.fixture
def gpu() -> Iterator[None]:
    with installed():
        yield


def blocks(kind: str, more: str = "") -> str:
    return HEADER + BLOCKS.replace("KIND", kind).replace("MORE", more)


def ptx(text: str, size: tuple[int, int, int] = (32, 1, 1), flat: bool = False, math: str = "fast") -> str:
    ir = scalar(Source(text, name="k.metal", math=math), "mm")[0]
    return compile_ptx(ir, "sm_90", Variant(size, flat, False, True, even=True)).text


def some(kind: str, *shape: int) -> Any:
    return np.random.default_rng(1).standard_normal(shape).astype(TYPES[kind])


@linux
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("guard", [True, False])
@pytest.mark.parametrize(
    "more",
    [
        "",
        "z[i / 2][i % 2].thread_elements()[1] *= float(l);",
        # Read where not all lanes come.
        "thread float& v = z[i / 2][i % 2].thread_elements()[1]; if (l % 3 != 0) v = v * l; else v *= float(l);",
    ],
)
@pytest.mark.parametrize("kind", TYPES)
def test_products_are_the_same(kind: str, more: str, guard: bool) -> None:
    n = 48
    a, b, c = some(kind, 16, n), some(kind, n, 16), np.full((16, 16), np.nan, np.float32)
    made = mt.device("cuda").library(blocks(kind, more))["mm"]
    made(a, b, c, n, grid=32, threadgroup=32, guard=guard)
    assert not made.interpreted
    right = a.astype(float) @ b.astype(float) + 0.5
    if more:  # lane l has row and column as Metal says
        for i in range(4):
            for n in range(32):
                row, column = (n >> 4 & 1) * 4 + (n >> 1 & 3), (n >> 3 & 1) * 4 + (n & 1) * 2 + 1
                right[i // 2 * 8 + row, i % 2 * 8 + column] *= n
    np.testing.assert_allclose(c, right, rtol=2e-6, atol=2e-5)


@linux
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(("down", "across"), [("20", "1"), ("1", "20"), ("11", "1")])
def test_elements_are_read_where_other_lanes_have_them(down: str, across: str) -> None:
    n = 32
    a, b, c = some("half", 8, n), some("half", n, 8), np.full((8, 8), np.nan, np.float32)
    text = HEADER + ELEMENTS.replace("DOWN", down).replace("ACROSS", across)
    mt.device("cuda").library(text)["mm"](a, b, c, n, grid=32, threadgroup=32)
    np.testing.assert_allclose(c, a.astype(float) @ b.astype(float) + 0.5, rtol=2e-6, atol=2e-5)


@pytest.mark.parametrize(("kind", "short"), [("half", "f16"), ("bfloat", "bf16")])
def test_four_products_are_one_instruction(kind: str, short: str) -> None:
    text = ptx(blocks(kind))
    assert (
        text.count(f"mma.sync.aligned.m16n8k16.row.col.f32.{short}.{short}.f32") == 2
    )  # of eight in a round
    assert "fma.rn.f32" not in text and "movmatrix" not in text
    assert text.count("shfl.sync") == 8  # the sums, when all is done


def test_addresses_change_lanes_and_elements_do_not() -> None:
    text = ptx(HEADER + ELEMENTS.replace("DOWN", "20").replace("ACROSS", "1"))
    assert "mma.sync.aligned.m16n8k16" in text and "movmatrix" not in text
    assert text.count("shfl.sync") == 8  # three addresses of two words, and the sums when all is done


@pytest.mark.parametrize(
    ("text", "more"),
    [
        (blocks("half"), {"math": "safe"}),  # each product rounded as the oracle does
        (blocks("float"), {}),  # more bits than tensor cores take
        (blocks("half"), {"size": (16, 1, 1)}),  # no whole SIMD-group
        (blocks("half"), {"flat": True}),  # one that may end early
        (
            blocks("half").replace("for (uint k = 0;", "if (l < c[0]) for (uint k = 0;"),
            {},
        ),  # some lanes pass by
    ],
    ids=["safe math", "floats", "half a SIMD-group", "a ragged grid", "some lanes"],
)
def test_others_are_fused_multiply_adds(text: str, more: dict[str, Any]) -> None:
    made = ptx(text, **more)
    assert "mma.sync" not in made and "fma.rn.f32" in made
