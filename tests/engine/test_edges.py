"""Threadgroups at the edge of a grid, and of sizes that no vector has: an instance is a row of them, its end idle."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import re

import numpy as np
import pytest

from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.errors import KernelFault
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import launch, program, same, scalar_ir

RNG = np.random.default_rng(7)

# Edges along x, along y, along both, in three dimensions; odd threadgroups; both.
SIZES = [
    ((37, 8, 1), (16, 4, 1)),
    ((32, 9, 1), (16, 4, 1)),
    ((35, 11, 1), (16, 4, 1)),
    ((9, 7, 5), (8, 2, 3)),
    ((40, 20, 1), (20, 10, 1)),
    ((30, 9, 4), (10, 3, 2)),
    ((23, 13, 1), (10, 6, 1)),
    ((19, 5, 7), (5, 3, 4)),
    ((300, 3, 1), (260, 2, 1)),
    ((7, 50, 1), (3, 20, 1)),
]


def flat(grid: tuple[int, int, int]) -> int:
    return grid[0] * grid[1] * grid[2]


@pytest.mark.parametrize("grid, group", SIZES)
def test_every_thread_knows_its_place(grid, group):
    text = """kernel void k(device uint* out, uint3 p [[thread_position_in_grid]], uint3 n [[threads_per_grid]],
        uint3 t [[thread_position_in_threadgroup]], uint i [[thread_index_in_threadgroup]],
        uint3 g [[threadgroup_position_in_grid]], uint3 size [[threads_per_threadgroup]],
        uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]],
        uint quad [[quadgroup_index_in_threadgroup]], uint inside [[thread_index_in_quadgroup]],
        uint simds [[simdgroups_per_threadgroup]]) {
        device uint* mine = out + 9 * ((p.z * n.y + p.y) * n.x + p.x);
        mine[0] = p.x + 1000 * p.y + 1000000 * p.z; mine[1] = t.x + 1000 * t.y + 1000000 * t.z;
        mine[2] = i; mine[3] = g.x + 100 * g.y + 10000 * g.z; mine[4] = size.x + 1000 * size.y + 1000000 * size.z;
        mine[5] = lane; mine[6] = simd; mine[7] = quad * 4 + inside; mine[8] = simds;
    }"""
    same(text, [np.full(9 * flat(grid), 77, np.uint32)], grid, group)


@pytest.mark.parametrize("grid, group", SIZES)
def test_threads_meet_at_barriers(grid, group):
    """Each thread reads what another of its threadgroup wrote, twice; nobody reads what no thread wrote."""
    text = """kernel void k(device const float* a, device float* out, uint3 p [[thread_position_in_grid]],
        uint3 n [[threads_per_grid]], uint i [[thread_index_in_threadgroup]], uint3 s [[threads_per_threadgroup]]) {
        threadgroup float tile[1024];
        uint count = s.x * s.y * s.z, at = (p.z * n.y + p.y) * n.x + p.x;
        float sum = a[at];
        for (uint step = 1; step < 3; step++) {
            tile[i] = sum;
            threadgroup_barrier(mem_flags::mem_threadgroup);
            sum += 2 * tile[(i + step) % count];
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        out[at] = sum;
    }"""
    a = RNG.integers(0, 20, flat(grid)).astype(np.float32)
    same(text, [a, np.full(flat(grid), -1, np.float32)], grid, group)


@pytest.mark.parametrize("grid, group", SIZES)
def test_loops_branches_atomics_and_private_arrays(grid, group):
    text = """kernel void k(device const int* a, device int* out, device atomic_int* total, device atomic_int* slots,
        uint3 p [[thread_position_in_grid]], uint3 n [[threads_per_grid]]) {
        uint at = (p.z * n.y + p.y) * n.x + p.x;
        if (p.x % 7 == 5) return;
        int own[4] = {1, 2, 3, 4};
        int x = a[at];
        for (int k = 0; k < x % 5; k++) { own[(x + k) & 3] += k * int(p.y + 1); if (own[k & 3] > 30) break; }
        atomic_fetch_add_explicit(total, x, memory_order_relaxed);
        atomic_fetch_max_explicit(&slots[p.y % 3], int(p.x), memory_order_relaxed);
        out[at] = own[0] + 10 * own[1] + 100 * own[2] + 1000 * own[x & 3];
    }"""
    a = RNG.integers(0, 30, flat(grid)).astype(np.int32)
    arrays = [a, np.full(flat(grid), -1, np.int32), np.zeros(1, np.int32), np.full(3, -1, np.int32)]
    same(text, arrays, grid, group)


PRODUCT = """kernel void k(device const float* A, device const float* B, device float* C, constant uint& N,
    uint2 g [[thread_position_in_grid]]) {
    float acc = 0;
    for (uint k = 0; k < N; k++) acc += A[g.y * N + k] * B[k * N + g.x];
    C[g.y * N + g.x] = acc;
}"""


@pytest.mark.parametrize("group", [(16, 4), (10, 10), (32, 2)])
def test_a_product_of_odd_matrices(group):
    n = 37
    a, b = (RNG.integers(-4, 5, (n, n)).astype(np.float32) for _ in range(2))
    same(PRODUCT, [a, b, np.full((n, n), 9, np.float32), np.array([n], np.uint32)], (n, n), group)


@pytest.mark.parametrize("grid, group, wrong", [((37, 8), (16, 4), (36, 7)), ((30, 20), (10, 10), (29, 13))])
def test_a_fault_names_its_thread(grid, group, wrong):
    text = """kernel void k(device const float* a, device float* out, constant uint2& bad, uint2 p [[thread_position_in_grid]],
        uint2 n [[threads_per_grid]]) {
        out[p.y * n.x + p.x] = a[p.y * n.x + p.x + (p.x == bad.x && p.y == bad.y ? 100000 : 0)];
    }"""
    count = grid[0] * grid[1]
    arrays = [np.ones(count, np.float32), np.zeros(count, np.float32), np.array(wrong, np.uint32)]
    with pytest.raises(KernelFault) as error:
        program(text, "k").run(launch(arrays, grid, group))
    assert error.value.finding.thread == (*wrong, 0)


@pytest.mark.parametrize(
    "size, ragged, tables",
    [
        ((32, 8, 1), False, True),
        ((32, 8, 1), True, False),
        ((20, 20, 1), False, False),
        ((10, 3, 2), True, False),
    ],
)
def test_rows_are_loaded_as_vectors(size, ragged, tables):
    """No lane is looked up or gathered, where the processor loads under a mask."""
    module = canonical(scalar_ir(PRODUCT, "k")[0])
    target = codegen.Target("x86-64-v4", "+avx512f", "x86_64-unknown-linux-gnu")
    text = vector_code(module, (size, ragged, tables, False, False, None), 0, target).text
    assert "masked.load" in text and not re.search(r"masked\.gather|%tables, i64", text)
