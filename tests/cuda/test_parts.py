"""Products whose sizes have no whole tiles: only threadgroups at the edges ask, and only the last round over depth."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cuda.form import gpu_form
from metalloid.backends.cuda.ptx import compile_ptx
from metalloid.backends.cuda.store_halves import halves
from metalloid.backends.cuda.variant import Variant
from metalloid.compile import scalar
from metalloid.errors import KernelFault
from metalloid.ir.intrinsics import BARRIER, ENTRY
from metalloid.ir.loops import loops
from metalloid.runtime.recording import Recording
from metalloid.source import Source
from tests.cuda.simulator.gpu import installed

linux = pytest.mark.skipif(sys.platform != "linux", reason="contexts of threads are made by glibc")
# c = a @ b.T of any size. A threadgroup has 16 rows of a and 16 of b, 16 deep; what is outside counts as zero.
PRODUCT = """
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;
struct Size { uint rows, columns, depth; };
kernel void product(device const half* a, device const half* b, device float* c, constant Size& size,
                    uint2 group [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup half left[16 * 16], right[16 * 16];
    threadgroup float out[16 * 16];
    uint row = group.y * 16, column = group.x * 16, rows = min(size.rows - row, 16u), own = t / 2, from = t % 2 * 8;
    uint columns = min(size.columns - column, 16u);
    simdgroup_float8x8 sums[2][2];
    for (uint i = 0; i < 4; i++) sums[i / 2][i % 2] = make_filled_simdgroup_matrix<float, 8, 8>(0);
    device const half* x = a + (row + min(own, rows - 1)) * size.depth + from;
    device const half* y = b + (column + min(own, columns - 1)) * size.depth + from;
    for (uint k = 0; k < size.depth; k += 16, x += 16, y += 16) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        _Pragma("unroll") for (uint j = 0; j < 8; j++) {
            left[own * 16 + from + j] = k + from + j < size.depth ? x[j] : half(0);
            right[own * 16 + from + j] = k + from + j < size.depth ? y[j] : half(0);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        _Pragma("unroll") for (uint kk = 0; kk < 2; kk++) {
            simdgroup_half8x8 one[2], two[2];
            for (uint i = 0; i < 2; i++) {
                simdgroup_load(one[i], left + i * 128 + kk * 8, 16);
                simdgroup_load(two[i], right + i * 128 + kk * 8, 16, ulong2(0), true);
            }
            for (uint i = 0; i < 4; i++)
                simdgroup_multiply_accumulate(sums[i / 2][i % 2], one[i / 2], two[i % 2], sums[i / 2][i % 2]);
        }
    }
    if (rows == 16 && columns == 16) {
        for (uint i = 0; i < 4; i++)
            simdgroup_store(sums[i / 2][i % 2], c + (row + i / 2 * 8) * size.columns + column + i % 2 * 8,
                            size.columns);
        return;
    }
    for (uint i = 0; i < 4; i++) simdgroup_store(sums[i / 2][i % 2], out + i / 2 * 128 + i % 2 * 8, 16);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = t; i < 256; i += 32)
        if (i / 16 < rows && i % 16 < columns) c[(row + i / 16) * size.columns + column + i % 16] = out[i];
}"""


def product(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    (rows, depth), columns = a.shape, len(b)
    run = Recording()
    kernel = mt.device("cuda").library(PRODUCT)["product"]
    size = {"rows": rows, "columns": columns, "depth": depth}
    run.add(kernel, a, b, c, size, threadgroups=(-(-columns // 16), -(-rows // 16)), threadgroup=32)
    run.run()
    assert not kernel.interpreted


@linux
@pytest.mark.parametrize("rows, columns, depth", [(52, 57, 40), (64, 57, 48)])
def test_products_of_any_size(rows: int, columns: int, depth: int, made: list[Variant]) -> None:
    rng = np.random.default_rng(rows)
    a, b = (rng.standard_normal((n, depth)).astype(np.float16) for n in (rows, columns))
    c = np.full((rows, columns), np.nan, np.float32)
    product(a, b, c)
    right = a.astype(float) @ b.astype(float).T
    assert np.abs(c - right).max() < 1e-5 * np.abs(right).max()
    *edges, inside = made[-1].parts
    # Tiles inside are worked on together, and begin at the first; edges are cut off along axes that have some.
    assert inside.members > 1 and [first for first, _ in inside.places or ()] == [0, 0, 0]
    assert len(edges) == (3 if rows % 16 else 1)


@linux
def test_what_is_outside_is_told_at_the_edges_as_well(made: list[Variant]) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((n, 40)).astype(np.float16) for n in (52, 57))
    with pytest.raises(KernelFault, match=r"M102[\s\S]*'c'[\s\S]*threadgroup \(3,3,0\)"):
        product(a, b, np.zeros(52 * 57 - 1, np.float32))


def test_only_the_last_round_asks() -> None:
    """All rounds but the last are one block, once it is known how many there are: the loop is there twice."""
    ir, signature = scalar(Source(PRODUCT, name="k.metal", math="fast"), "product")
    constant = [p.index for p in signature.buffers if p.space == "constant"]
    function = gpu_form(ir, constant).function[ENTRY]
    assert sum("last" in b.name for b in function.blocks) > 16
    barriers = [b.name for b in function.blocks for i in b.instructions if i.called == BARRIER]
    around = [loop for loop in loops(function).loops.values() if set(barriers) & loop.blocks]
    assert len(around) == 1 and not any("last" in name for name in around[0].blocks)
    # Another argument may be written by somebody else meanwhile: then it is not asked earlier.
    assert not any("last" in b.name for b in gpu_form(ir).function[ENTRY].blocks)


def test_halves_are_stored_in_turn_where_lanes_would_meet() -> None:
    rows_of_48 = [lane // 2 * 48 + lane % 2 * 16 for lane in range(32)]
    assert halves(rows_of_48) == 1  # every second lane begins with its second half
    assert halves([16 * lane for lane in range(32)]) is None
    assert halves([80 * lane for lane in range(32)]) is None


# Lanes leave the loop one by one, with a matrix in the lanes that stay.
PARTING = """
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;
kernel void k(device const half* a, device float* c, device int* sums, constant int& limit,
              uint lane [[thread_index_in_simdgroup]]) {
    simdgroup_half8x8 x;
    simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    simdgroup_load(x, a, 8);
    int n = 0, k = 0, end = lane < 16 ? 3 : 5;
    do {
        if (k + 1 < limit) sums[32 + lane * 8 + k] = k;
        n += simd_sum(k);
        simdgroup_multiply_accumulate(sum, x, x, sum);
    } while (++k < end);
    sums[lane] = n;
    simdgroup_store(sum, c, 8);
}"""


@linux
def test_lanes_that_leave_a_loop_one_by_one_do_each_round_together() -> None:
    a, c, sums = np.eye(8, dtype=np.float16), np.zeros((8, 8), np.float32), np.zeros(288, np.int32)
    with installed():
        kernel = mt.device("cuda").library(PARTING)["k"]
        kernel(a, c, sums, 4, grid=32, threadgroup=32)
    # Three rounds of 32 lanes, two of 16.
    assert not kernel.interpreted and sums[:32].tolist() == [96] * 16 + [96 + 16 * (3 + 4)] * 16


# Eight stores of a thread's line, and one that goes to the same place after the first of them.
BETWEEN = """
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;
kernel void k(device const half* a, device const half* one, device const int* places, device float* c,
              uint t [[thread_index_in_threadgroup]]) {
    threadgroup half tile[1024];
    threadgroup half* line = tile + t / 2 * 24 + t % 2 * 8;
    half v[8];
    for (int j = 0; j < 8; j++) v[j] = a[t * 8 + j];
    int place = places[t] & 1023;
    for (int j = 0; j < 4; j++) line[j] = v[j];
    tile[place] = 100;
    for (int j = 4; j < 8; j++) line[j] = v[j];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_half8x8 x, y;
    simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    simdgroup_load(x, tile, 24);
    simdgroup_load(y, one, 8);
    simdgroup_multiply_accumulate(sum, x, y, sum);
    simdgroup_store(sum, c, 8);
}"""


@linux
def test_a_store_between_those_of_a_line_comes_after_the_first() -> None:
    t = np.arange(32)
    a, c = np.full((32, 8), 2, np.float16), np.zeros((8, 8), np.float32)
    places = (t // 2 * 24 + t % 2 * 8 + 1).astype(np.int32)
    with installed():
        kernel = mt.device("cuda").library(BETWEEN)["k"]
        kernel(a, np.eye(8, dtype=np.float16), places, c, grid=32, threadgroup=32)
    assert not kernel.interpreted and c[0].tolist() == [2, 100, 2, 2, 2, 2, 2, 2]


DOTS = """
#include <metal_stdlib>
using namespace metal;
kernel void k(device const uint* a, device const uint* b, device int* out, uint i [[thread_position_in_grid]]) {
    char4 x = as_type<char4>(a[i]), y = as_type<char4>(b[i]);
    uchar4 u = as_type<uchar4>(a[i] >> 4 & 0x0f0f0f0f), v = as_type<uchar4>(b[i]);
    int one = int(x.x) * y.x + int(x.y) * y.y + int(x.z) * y.z + int(x.w) * y.w;
    int two = int(u.x) * v.x + int(u.y) * v.y + int(u.z) * v.z + int(u.w) * v.w;
    out[i] = one * 3 + two;
}"""


def test_sums_of_products_of_bytes_are_one_instruction() -> None:
    made = compile_ptx(scalar(Source(DOTS), "k")[0], variant=Variant((64, 1, 1)))
    assert made.text.count("dp4a") == 2


@linux
def test_and_they_are_right() -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.integers(0, 1 << 32, 256, np.uint64).astype(np.uint32) for _ in range(2))
    out = np.full(256, -1, np.int32)
    with installed():
        mt.device("cuda").library(DOTS)["k"](a, b, out, grid=256, threadgroup=64)
    signed = (a.view(np.int8).astype(int) * b.view(np.int8)).reshape(-1, 4).sum(1)
    high = ((a >> 4 & 0x0F0F0F0F).view(np.uint8).astype(int) * b.view(np.uint8)).reshape(-1, 4).sum(1)
    assert (out == signed * 3 + high).all()
