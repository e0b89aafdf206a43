"""Code of blocks that a known range of lanes runs, inside loops and other branches: short vectors, no masks."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import sized, vector_code, vector_stage
from metalloid.errors import KernelFault
from tests.engine.both import WIDE, launch, program, same, scalar_ir

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
ARM = codegen.Target("neoverse-n1", "", "aarch64-unknown-linux-gnu")  # which neither gathers nor scatters
# A scan in a tree: each step has half of the threads, and twice the distance. Threads put two neighbours there at once.
SCAN = """kernel void k(device const int* x, device int* y, uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]], uint n [[threads_per_threadgroup]]) {
    threadgroup int s[512];
    x += 2 * n * g; y += 2 * n * g;
    s[2 * t] = x[2 * t]; s[2 * t + 1] = x[2 * t + 1];
    uint step = 1;
    for (uint d = n; d > 0; d >>= 1) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t < d) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
        step *= 2;
    }
    if (t == 0) s[2 * n - 1] = 0;
    for (uint d = 1; d <= n; d *= 2) {
        step >>= 1;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t < d) {
            uint a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1;
            int v = s[a]; s[a] = s[b]; s[b] += v;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[2 * t] = s[2 * t]; y[2 * t + 1] = s[2 * t + 1]; }"""
STEPS = """kernel void k(device const float* x, device float* y, uint t [[thread_index_in_threadgroup]]) {
    if (t >= 3 && t < 11) y[5 * t] = x[3 * t] + x[40 - t]; }"""


def unguarded(text: str, size: int, target: codegen.Target = ARM) -> str:
    variant = ((size, 1, 1), False, False, False, False, None)
    return vector_code(sized(scalar_ir(text, "k")[0], (size, 1, 1)), variant, 0, target).text


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


@pytest.mark.parametrize("size", [32, 64, 128])
def test_a_scan_in_a_tree(size: int) -> None:
    """The steps of a tree have no masks, and no copies for gangs whose lanes would all run them."""
    x = np.random.default_rng(6).integers(-99, 99, 4 * size).astype(np.int32)
    (_, found) = same(SCAN, [x, np.full(4 * size, -1, np.int32)], 2 * size, size)
    parts = x.reshape(2, -1).astype(np.int64)
    np.testing.assert_array_equal(found.reshape(2, -1), np.cumsum(parts, 1) - parts)
    code = unguarded(SCAN, size)
    assert "llvm.masked" not in code and (size > 64 or ".all:" not in code)


def test_few_lanes_of_a_tree_are_no_gather() -> None:
    """Which takes as long for two lanes as for a register of them."""
    code = unguarded(SCAN, 32, WIDE)
    assert "masked.gather" not in code and "masked.scatter" not in code


def test_neighbours_that_a_thread_copies_one_behind_the_other_are_read_together() -> None:
    """Stores to threadgroup memory between them change no device memory."""
    text = """kernel void k(device const float* x, device float* y, uint t [[thread_index_in_threadgroup]]) {
        threadgroup float s[128];
        s[2 * t] = x[2 * t]; s[2 * t + 1] = x[2 * t + 1];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        y[t] = s[127 - t]; }"""
    same(text, [X, np.full(64, -1, np.float32)], 64, 64)
    code = unguarded(text, 64)
    assert "load float" not in code and "load <7 x float>" not in code


@pytest.mark.parametrize("width", [0, 8, 32])
def test_lanes_at_constant_steps(width: int) -> None:
    same(STEPS, [X, np.full(80, -1, np.float32)], 64, 64, widths=(width,))
    assert "llvm.masked" not in unguarded(STEPS, 32)


def test_a_step_outside_is_told_of_the_lane_that_makes_it() -> None:
    with pytest.raises(KernelFault) as caught:
        program(STEPS, "k").run(launch([X[:37].copy(), np.full(80, -1, np.float32)], 64, 64))
    assert "thread (3, 0, 0)" in str(caught.value)  # x[40 - 3]


# Each step adds what the last one left at a distance, from one half of the memory to the other. Where that memory
# starts is looked up, so it does not live in registers.
SUMS = """kernel void k(device const int* x, device int* y, device const uint* z, uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
    threadgroup int s[2][256]; uint at = t + z[0];
    uint now = 0; s[0][at] = x[i]; threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = 1; d < n; d *= 2) {
        s[1 - now][at] = t >= d ? s[now][at] + s[now][at - d] : s[now][at];
        now = 1 - now; threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    y[i] = s[now][at]; }"""


@pytest.mark.parametrize(("size", "width"), [(64, 64), (128, 128), (256, 64)])
def test_a_gang_is_the_threadgroup_where_twice_the_registers_do(size: int, width: int) -> None:
    made = vector_code(
        sized(scalar_ir(SUMS, "k")[0], (size, 1, 1)), ((size, 1, 1), *[False] * 4, None), 0, ARM
    )
    assert made.lanes.width == width and made.regions == (1 if width == size else made.regions)
    x = np.random.default_rng(7).integers(-99, 99, 2 * size).astype(np.int32)
    arrays = [x, np.full(2 * size, -1, np.int32), np.zeros(1, np.uint32)]
    _, found, _ = same(SUMS, arrays, 2 * size, size)
    np.testing.assert_array_equal(found.reshape(2, -1), np.cumsum(x.reshape(2, -1), 1))


def test_comparisons_that_no_lane_can_fail() -> None:
    """And such that lanes go down, or round, before they are compared."""
    text = """kernel void k(device const int* x, device uint* y, uint t [[thread_index_in_threadgroup]], ushort s [[thread_index_in_simdgroup]]) {
        uint bits = 0, down = 63 - t, round = (t + 5) & 63, far = t / 4 + 3;
        if (t < 64) bits |= 1; if (t > 63) bits |= 2; if (t <= 63) bits |= 4; if (t == 64) bits |= 8; if (t != 70) bits |= 16;
        if (down < 64) bits |= 32; if (round >= 64) bits |= 64; if (far < 19) bits |= 128; if (far < 18) bits |= 256;
        if (s < 32) bits |= 512; if ((t ^ 21) < 64) bits |= 1024; if (t - 1 < 63) bits |= 2048;
        y[t] = x[t] > 3 ? bits : bits + 4096; }"""
    x = np.random.default_rng(8).integers(0, 9, 64).astype(np.int32)
    same(text, [x, np.full(64, 77, np.uint32)], 64, 64, widths=(0, 8, 32))


def test_steps_of_rows_that_only_some_lanes_are_in() -> None:
    """In the first 32 lanes the multiple of the row's length is 0 everywhere."""
    text = """kernel void k(device const float* x, device float* y, constant uint& w, uint2 p [[thread_position_in_threadgroup]]) {
        if (p.y == 0) y[3 * p.x + 1] = x[w * p.y + 2 * p.x] + x[w * p.y]; }"""
    arrays = [X, np.full(120, -1, np.float32), np.array([9], np.uint32)]
    same(text, arrays, (32, 2), (32, 2), widths=(0, 64))
