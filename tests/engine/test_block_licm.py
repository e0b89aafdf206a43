"""A tile that all instances read is loaded where it is used, in each of them; what is stored beside it stays right."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu import abi
from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.errors import KernelFault
from tests.engine.both import launch, program, same, scalar_ir

RNG = np.random.default_rng(23)
TILES = """kernel void k(device const float* A, device const float* B, device float* C, constant uint& N,
    uint2 t [[thread_position_in_threadgroup]], uint2 g [[threadgroup_position_in_grid]]) {
    threadgroup float a[32][32], b[32][32];
    uint row = g.y * 32 + t.y, col = g.x * 32 + t.x;
    float acc = 0;
    for (uint k = 0; k < N; k += 32) {
        a[t.y][t.x] = A[row * N + k + t.x];
        b[t.y][t.x] = B[(k + t.y) * N + col];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < 32; i++) acc += a[t.y][i] * b[i][t.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    C[row * N + col] = acc; }"""
STORES = """kernel void k(device const float* a, device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[64], own[512];
    if (t < 64) s[t] = a[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    own[t] = a[t] + 1; own[t] += s[t & 63]; own[t] *= s[0];
    out[t] = own[t] + s[63]; }"""
SHARED = """kernel void k(device const float* a, device float* out, threadgroup float* s [[threadgroup(0)]],
    uint t [[thread_index_in_threadgroup]], uint2 p [[thread_position_in_threadgroup]]) {
    if (t < 64) s[t] = a[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0;
    for (uint i = 0; i < 4; i++) sum += s[i * 16 + p.x] * (i + 1);
    out[t] = sum; }"""


def reloads(text: str, size: tuple[int, int, int]) -> int:
    return vector_stage(scalar_ir(text, "k")[0], size).count(f"ptr %launch, i64 {abi.ZERO}\n")


def test_instances_load_a_tile_each_for_itself():
    assert reloads(TILES, (32, 32, 1)) == 1
    assert reloads(TILES, (8, 4, 1)) == 0  # one instance, whatever the registers hold: nobody else reads it
    assert reloads(STORES, (512, 1, 1)) == 0  # stores beside it


def test_tiles_are_the_oracles():
    n = 64
    a, b = (RNG.integers(-4, 5, (n, n)).astype(np.float32) for _ in range(2))
    arrays = [a, b, np.full((n, n), 77, np.float32), np.array([n], np.uint32)]
    *_, c, _ = same(TILES, arrays, (n, 32), (32, 32), widths=(0, 32))
    np.testing.assert_array_equal(c[:32], (a @ b)[:32])


@pytest.mark.parametrize("group", [512, 300])
def test_what_an_instance_stores_it_reads(group):
    arrays = [RNG.integers(1, 5, 512).astype(np.float32), np.full(512, 77, np.float32)]
    same(STORES, arrays, group, group, widths=(0, 32, 64))


@pytest.mark.parametrize("group", [(16, 32), (16, 5)])
def test_memory_of_the_hosts_size(group):
    arrays = [RNG.integers(1, 5, 512).astype(np.float32), np.full(512, 77, np.float32)]
    same(SHARED, arrays, group, group, local={0: 256}, widths=(0, 32))


def test_a_read_outside_is_a_fault():
    arrays = [np.ones(512, np.float32), np.zeros(512, np.float32)]
    with pytest.raises(KernelFault, match="threadgroup memory 0"):
        program(SHARED, "k").run(launch(arrays, (16, 32), (16, 32), {0: 128}))
