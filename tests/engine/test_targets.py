"""The same results on lesser processors: the target is limited on this machine."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends import interpret
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.targets import probe, x86
from tests.engine.both import LESSER, compare, launch, scalar_ir

RNG = np.random.default_rng(3)
REDUCE = """kernel void k(device const float* a, device float* out, uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
    threadgroup float s[128]; s[t] = a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 64; k > 0; k >>= 1) { if (t < k) s[t] += s[t + k]; threadgroup_barrier(mem_flags::mem_threadgroup); }
    if (t == 0) out[g] = s[0];
}"""
SIMD = """kernel void k(device const int* a, device int* out, uint i [[thread_position_in_grid]]) {
    int x = a[i], r = simd_sum(x) + simd_shuffle_xor(x, ushort(3));
    if (x & 1) r ^= simd_max(x) + simd_prefix_exclusive_sum(x);
    out[i] = r;
}"""
NARROW = """kernel void k(device const half* a, device const bfloat* b, device half* c, device bfloat* d, device uchar* e,
    uint i [[thread_position_in_grid]]) {
    c[i] = a[i] * a[i] + half(b[i]); d[i] = b[i] + bfloat(a[i]); e[i] = uchar(int(i) / 3) % uchar(7);
}"""
TILE = """kernel void k(device const float* A, device const float* B, device float* C, uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float a[16][16], b[16][16];
    a[t.y][t.x] = A[t.y * 16 + t.x]; b[t.y][t.x] = B[t.y * 16 + t.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float s = 0; for (int k = 0; k < 16; k++) s += a[t.y][k] * b[t.x][k];
    C[t.y * 16 + t.x] = s;
}"""


def numbers(n: int, dtype) -> np.ndarray:
    return RNG.integers(-8, 8, n).astype(dtype)


CASES = {
    "reduce": (REDUCE, [numbers(256, np.float32), np.zeros(2, np.float32)], 256, 128),
    "simd": (SIMD, [numbers(100, np.int32), np.zeros(100, np.int32)], 100, 50),
    "narrow": (
        NARROW,
        [
            numbers(96, np.float16),
            (numbers(96, np.float32).view(np.uint32) >> 16).astype(np.uint16),
            np.zeros(96, np.float16),
            np.zeros(96, np.uint16),
            np.zeros(96, np.uint8),
        ],
        96,
        32,
    ),
    "tile": (
        TILE,
        [numbers(256, np.float32), numbers(256, np.float32), np.zeros(256, np.float32)],
        (16, 16),
        (16, 16),
    ),
}


@pytest.mark.parametrize("level", LESSER)
@pytest.mark.parametrize("name", CASES)
def test_a_lesser_processor(name, level):
    text, arrays, grid, group = CASES[name]
    ir, signature = scalar_ir(text, "k")
    expected, got = ([a.copy() for a in arrays] for _ in range(2))
    interpret.run(ir, launch(expected, grid, group))
    cpu_program(ir, signature, target=codegen.limited(level)).run(launch(got, grid, group))
    for a, b in zip(expected, got, strict=True):
        compare(a, b, 0.0, f"{name} on {level}")


@pytest.mark.parametrize(
    ("said", "quick"),
    [
        ("Not affected", True),
        ("Vulnerable: No microcode", True),
        ("Mitigation: Microcode", False),
        ("Unknown: Dependent on hypervisor status", False),
        (None, False),
    ],
)
def test_gathers_are_quick_where_linux_says_that_nothing_slows_them_down(tmp_path, monkeypatch, said, quick):
    file = tmp_path / "gather_data_sampling"
    if said is not None:
        file.write_text(said + "\n")
    monkeypatch.setattr(probe, "_GATHERS", file)
    monkeypatch.setattr(probe.platform, "machine", lambda: "x86_64")
    assert (probe.features() == "+fast-gather") == quick
    assert x86.info(frozenset(("+avx512f", probe.features()))).quick_gathers == quick
