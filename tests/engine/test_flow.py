"""Control flow: lanes that part, meet, loop and leave at different times."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.ir import read
from metalloid.ir.loops import loops
from tests.engine.both import same, scalar_ir

WIDTHS = (1, 8, 32)


def ints(n: int, seed: int = 0, top: int = 100) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, top, n, dtype=np.int32)


def test_thread_ids_are_written_by_each_thread():
    same(
        "kernel void k(device uint* out, uint i [[thread_position_in_grid]]) { out[i] = i; }",
        [np.zeros(100, np.uint32)],
        100,
        32,
        widths=WIDTHS,
    )


@pytest.mark.parametrize("n", [1, 7, 32, 33, 100, 257])
def test_a_ragged_grid_with_an_early_return(n):
    text = """kernel void k(device const float* a, device float* b, constant uint& n, uint i [[thread_position_in_grid]]) {
        if (i >= n) return;
        b[i] = a[i] * 2.0f + 1.0f;
    }"""
    a = np.random.default_rng(n).normal(size=n).astype(np.float32)
    same(text, [a, np.zeros(n, np.float32), np.array([n], np.uint32)], n, 64, widths=WIDTHS)


def test_nested_branches():
    text = """kernel void k(device const int* a, device int* b, uint i [[thread_position_in_grid]]) {
        int x = a[i];
        int r;
        if (x > 50) { if (x & 1) r = x * 3; else if (x > 80) r = -x; else r = x + 7; }
        else if (x > 20) { r = x * x; if (x % 3 == 0) r -= 5; }
        else r = 1000 + x;
        b[i] = r;
    }"""
    same(text, [ints(96), np.zeros(96, np.int32)], 96, 32, widths=WIDTHS)


def test_a_loop_that_lanes_leave_at_different_times():
    text = """kernel void k(device const int* a, device int* b, uint i [[thread_position_in_grid]]) {
        int n = a[i], steps = 0;
        while (n != 1 && steps < 50) { n = (n & 1) ? 3 * n + 1 : n / 2; steps++; }
        b[i] = steps * 1000 + n;
    }"""
    same(text, [ints(70) + 1, np.zeros(70, np.int32)], 70, 32, widths=WIDTHS)


def test_break_continue_and_return_in_nested_loops():
    text = """kernel void k(device const int* a, device int* b, uint i [[thread_position_in_grid]]) {
        int x = a[i], total = 0;
        for (int j = 0; j < x % 7; j++) {
            if ((x + j) % 5 == 0) continue;
            for (int k = 0; k < 6; k++) {
                total += j * k;
                if (total > x) break;
                if (total == 17) { b[i] = -1; return; }
            }
            if (j == 4) break;
            total ^= x;
        }
        b[i] = total;
    }"""
    same(text, [ints(128, 3), np.zeros(128, np.int32)], 128, 64, widths=WIDTHS)


def test_switch_with_fall_through():
    text = """kernel void k(device const int* a, device int* b, uint i [[thread_position_in_grid]]) {
        int r = 0;
        switch (a[i] % 9) {
            case 0: r = 5; break;
            case 1: r = 7;
            case 2: r += 9; break;
            case 3: for (int j = 0; j < a[i]; j++) r += j; break;
            case 5: case 6: r = a[i]; break;
            default: r = -1;
        }
        b[i] = r;
    }"""
    same(text, [ints(100, 4), np.zeros(100, np.int32)], 100, 50, widths=WIDTHS)


def test_a_uniform_loop_inside_a_divergent_branch():
    text = """kernel void k(device const int* a, device int* b, constant int& n, uint i [[thread_position_in_grid]]) {
        int t = 0;
        if (a[i] > 30) { for (int j = 0; j < n; j++) { t += a[i] * j; if (t > 4000) t -= 4000; } }
        else { for (int j = 0; j < a[i]; j++) t -= j; }
        b[i] = t;
    }"""
    same(text, [ints(64, 5), np.zeros(64, np.int32), np.array([13], np.int32)], 64, 32, widths=WIDTHS)


def test_positions_in_three_dimensions_with_ragged_edges():
    text = """kernel void k(device uint* out, uint3 g [[thread_position_in_grid]], uint3 t [[thread_position_in_threadgroup]],
        uint3 q [[threadgroup_position_in_grid]], uint3 n [[threads_per_grid]], uint3 s [[threads_per_threadgroup]],
        uint i [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
        uint3 d [[dispatch_threads_per_threadgroup]], uint sgs [[simdgroups_per_threadgroup]]) {
        uint at = (g.z * n.y + g.y) * n.x + g.x;
        out[at] = t.x + 10 * t.y + 100 * t.z + 1000 * q.x + 3000 * q.y + 9000 * q.z + 100000 * s.x + 7 * s.y + 13 * s.z
            + 1000000 * i + 3 * lane + 5 * sg + 17 * d.x + 19 * sgs;
    }"""
    for grid, group in [
        ((10, 7, 5), (4, 3, 2)),
        ((33, 3, 1), (8, 2, 1)),
        ((16, 16, 1), (16, 16, 1)),
        ((5, 5, 5), (5, 5, 5)),
        ((40, 9, 2), (32, 4, 1)),
        ((7, 20, 1), (1, 16, 1)),
    ]:
        same(text, [np.zeros(grid[0] * grid[1] * grid[2], np.uint32)], grid, group, widths=WIDTHS)


def test_unsigned_index_minus_one_behind_a_guard():
    text = """kernel void k(device const float* a, device float* b, uint i [[thread_position_in_grid]]) {
        b[i] = i > 0 ? a[i - 1] : -1.0f;
    }"""
    same(text, [np.arange(64, dtype=np.float32), np.zeros(64, np.float32)], 64, 64, widths=WIDTHS)


def test_all_values_of_a_loop_are_those_of_the_last_iteration_of_each_lane():
    text = """kernel void k(device const int* a, device int* b, uint i [[thread_position_in_grid]]) {
        int last = -1, j = 0;
        do { last = j * 10; j++; if (j > 20) break; } while (j < a[i]);
        b[i] = last + j;
    }"""
    same(text, [ints(64, 8, 40), np.zeros(64, np.int32)], 64, 32, widths=WIDTHS)


def test_code_that_the_compiler_ruled_out_beside_barriers_and_a_last_block_with_work():
    text = """kernel void k(device int* a, uint t [[thread_index_in_threadgroup]]) {
        threadgroup int s[64];
        int r = 0;
        switch (a[t] % 3) { case 0: r = 5; break; case 1: r = a[t]; break; case 2: r = -a[t]; break; default: __builtin_unreachable(); }
        s[t] = r;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (int i = 0; i < a[t] % 5; i++) { r += s[(t + i) % 64]; if (r == 123456) __builtin_unreachable(); }
        a[t] = r;
    }"""
    same(text, [ints(64, 9)], 64, 64, widths=(1, 8, 32, 64))


def test_lanes_that_skip_a_round_meet_the_others_in_the_next():
    """Every way round this loop passes the sum at last, but not in the same iteration."""
    text = """
    kernel void k(device const uint* a, device uint* out, uint i [[thread_position_in_grid]]) {
        uint x = a[i], y = 0;
        for (;;) {
            if (x & 1) { x >>= 1; continue; }
            y = y * 7 + simd_sum(1u);
            x >>= 1;
            if (x == 0) break;
        }
        out[i] = y;
    }"""
    a = np.random.default_rng(3).integers(1, 4096, 96, dtype=np.uint32)
    same(text, [a, np.zeros(96, np.uint32)], 96, 96, widths=(32, 64))


INTO_A_LOOP = """
    kernel void k(device const uint* a, device uint* out, uint i [[thread_position_in_grid]],
                  uint lane [[thread_index_in_simdgroup]]) {
        uint x = a[i], y = 0, n = 0;
        switch (x % 3) {
        case 0: do { y += FIRST; x = x * 5 + 1; [[fallthrough]];
        case 1: y ^= SECOND; if (y & 1) x += 3; [[fallthrough]];
        default: n++; x ^= y >> 3; y += THIRD;
        } while ((x & 7) > 2 && n < 9);
        }
        out[i * 3] = x; out[i * 3 + 1] = y; out[i * 3 + 2] = n;
    }"""


@pytest.mark.parametrize(
    ("first", "second", "third", "widths"),
    [
        ("x * 3", "y * 7 + lane", "x", (0, 1, 8, 64)),
        ("simd_sum(x)", "simd_sum(y + lane)", "simd_shuffle_xor(x, ushort(1))", (0, 32, 64)),
    ],
)
def test_a_loop_with_three_ways_in(first, second, third, widths):
    text = INTO_A_LOOP.replace("FIRST", first).replace("SECOND", second).replace("THIRD", third)
    forest = loops(read(scalar_ir(text, "k")[0]).function["__mt_entry"])
    assert forest.irreducible, "clang has found a way round: this test shows nothing"
    a = np.random.default_rng(1).integers(0, 2**32, 100, dtype=np.uint32)
    same(text, [a, np.zeros(300, np.uint32)], 100, 50, widths=widths)


@pytest.mark.parametrize("width", [0, 1])
def test_a_choice_between_bfloats_under_fast_math(width):
    text = """kernel void k(device const bfloat* a, device bfloat* out, constant uint& n, uint i [[thread_position_in_grid]]) {
        bfloat x = n > 4 ? a[i] : bfloat(0);
        out[i] = i % 3 ? x : bfloat(1);
    }"""
    a = (np.arange(1, 65, dtype="float32").view("uint32") >> 16).astype("uint16")
    for n in (3, 5):
        same(text, [a, np.zeros(64, "uint16"), np.array([n], "uint32")], 64, 32, widths=(width,), math="fast")


@pytest.mark.parametrize("way", [0, 1, 2])
def test_a_way_into_a_loop_that_leads_to_its_exit_only_in_the_next_iteration(way):
    text = """kernel void k(device const uint* a, device const uint* b, device uint* out, constant uint& way, uint i [[thread_position_in_grid]]) {
        uint u = i * 3, d = a[i], h = b[i], most = a[6 - i] * 4;
        for (uint n = 0; n < b[i]; n++) {
            uint round = 0;
            switch (way % 3) { case 0: do { d = h; case 1: if (u % 5) u += 3; default: ; } while (u <= most && ++round < 4); }
        }
        out[i] = u + d * 1000;
    }"""
    a = np.arange(7, dtype=np.uint32) * 7919 % 23
    b = np.arange(7, dtype=np.uint32) * 5 % 4 + 1
    same(text, [a, b, np.zeros(7, np.uint32), np.array([way], np.uint32)], 7, 7, widths=WIDTHS)
