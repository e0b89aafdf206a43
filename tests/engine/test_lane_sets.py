"""Code of blocks that a known range of lanes runs, inside loops and other branches: short vectors, no masks."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.errors import KernelFault
from tests.engine.both import launch, program, same, scalar_ir

# The rows of a tile by the lanes of a SIMD-group, as in kernels with matrices: clang unrolls it, a branch in a branch.
COPY = """kernel void k(device const float* x, device float* y, uint lane [[thread_index_in_simdgroup]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[256];
    for (uint i = lane; i < 256; i += 32) s[i] = x[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = simd_sum(s[t + 40]) + s[224 + t]; }"""
# A loop that some lanes run, and a branch in it.
LOOP = """kernel void k(device const float* x, device float* y, device const uint* n, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[64]; s[t] = x[t]; threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 24) { for (uint i = 0; i < n[0]; i++) { s[t] += x[t + i]; if (t >= 5) y[t] += s[t] * float(i); } }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[128 + t] = s[63 - t]; }"""
X = np.random.default_rng(5).random(300, np.float32)


def test_a_tile_by_the_lanes_of_a_simdgroup() -> None:
    same(COPY, [X, np.full(64, -1, np.float32)], 32, 32, tolerance=1e-5)
    code = vector_stage(scalar_ir(COPY, "k")[0], (32, 1, 1), codegen.host())
    assert "llvm.masked" not in code


@pytest.mark.parametrize("width", [0, 8, 16, 64])
@pytest.mark.parametrize("size", [64, 50])
def test_a_loop_of_some_lanes(width: int, size: int) -> None:
    same(LOOP, [X, np.full(200, -1, np.float32), np.array([9], np.uint32)], size, size, widths=(width,))


def test_an_access_outside_is_told_of_the_lane_that_makes_it() -> None:
    arrays = [X[:30].copy(), np.full(200, -1, np.float32), np.array([9], np.uint32)]
    with pytest.raises(KernelFault) as caught:
        program(LOOP.replace("s[t] = x[t];", "s[t] = 1;"), "k").run(launch(arrays, 64, 64))
    assert "thread (23, 0, 0)" in str(caught.value)  # x[23 + 7], the first to leave
