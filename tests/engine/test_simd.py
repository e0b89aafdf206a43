"""SIMD-groups, quads and simdgroup_matrix, with all lanes and with some."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.both import same

RNG = np.random.default_rng(2)
WIDTHS = (32, 64)

FLOAT = "simd_sum simd_max simd_min simd_prefix_inclusive_sum simd_prefix_exclusive_sum quad_sum quad_max quad_min".split()
INTEGER = [
    *FLOAT,
    *"simd_product simd_and simd_or simd_xor quad_and quad_xor quad_prefix_inclusive_sum".split(),
    *"simd_prefix_exclusive_product quad_product".split(),
]


def kernel(body: str, type: str) -> str:
    return f"""kernel void k(device const {type}* a, device {type}* out, uint i [[thread_position_in_grid]],
        uint lane [[thread_index_in_simdgroup]]) {{ {type} x = a[i]; {type} r = 0; {body} out[i] = r; }}"""


@pytest.mark.parametrize("part", ["", "if (x > 40)", "for (int j = 0; j < 3; j++) if (int(x) % 3 >= j)"])
@pytest.mark.parametrize("type", ["int", "uint", "float"])
def test_reductions_and_scans(type, part):
    calls = " ".join(f"r += {f}(x);" for f in (FLOAT if type == "float" else INTEGER))
    a = RNG.integers(0, 90, 160).astype({"int": np.int32, "uint": np.uint32, "float": np.float32}[type])
    same(kernel(f"{part} {{ {calls} }}", type), [a, np.zeros_like(a)], 160, 80, widths=WIDTHS)


@pytest.mark.parametrize("type", ["long", "half"])
def test_reductions_of_other_types(type):
    body = (
        "r = simd_sum(x) - simd_max(x) + quad_min(x);"
        if type == "half"
        else "r = simd_max(x); if (x > 5) r = -x;"
    )
    if type == "long":
        body = "r = 3 * x;"
    a = RNG.integers(0, 30, 64).astype({"long": np.int64, "half": np.float16}[type])
    same(kernel(body, type), [a, np.zeros_like(a)], 64, 64, widths=WIDTHS, tolerance=2e-3)


SHUFFLES = """r += simd_shuffle(x, ushort(3)); r ^= simd_shuffle_xor(x, ushort(5)); r += simd_shuffle_up(x, ushort(2));
    r -= simd_shuffle_down(x, ushort(7)); r += simd_broadcast(x, ushort(9)); r ^= simd_broadcast_first(x);
    r += simd_shuffle_rotate_up(x, ushort(3)); r -= simd_shuffle_rotate_down(x, ushort(4));
    r += quad_shuffle(x, ushort(1)); r ^= quad_shuffle_xor(x, ushort(2)); r += quad_broadcast(x, ushort(3));
    r += quad_broadcast_first(x); r += quad_shuffle_up(x, ushort(1)); r += quad_shuffle_down(x, ushort(1));
    r += simd_shuffle(x, ushort(lane ^ 3)); r += simd_shuffle(x, ushort(x & 31)); r -= simd_shuffle_up(x, ushort(x & 3));
    r += simd_shuffle_down(x, ushort(lane & 7)); r += quad_shuffle(x, ushort(x & 3));
    r += simd_shuffle_and_fill_up(x, -x, ushort(2)); r ^= simd_shuffle_and_fill_down(x, x * 7, ushort(3), ushort(8));"""


@pytest.mark.parametrize("part", ["", "if (x > 40)", "for (int j = 0; j < x % 3; j++)"])
def test_shuffles(part):
    a = RNG.integers(0, 90, 160).astype(np.int32)
    same(kernel(f"{part} {{ {SHUFFLES} }}", "int"), [a, np.zeros_like(a)], 160, 160, widths=WIDTHS)


@pytest.mark.parametrize("part", ["", "if (x > 40)", "while (x-- > 70)"])
def test_votes(part):
    body = f"""{part} {{ r += simd_all(x > 20); r += 2 * simd_any(x > 85); r += 4 * quad_all(x > 30); r += 8 * quad_any(x > 60);
        r += 16 * simd_is_first(); r += 32 * quad_is_first(); r ^= int(ulong(simd_ballot(x > 50)));
        r += int(ulong(simd_active_threads_mask()) % 1009); }}"""
    a = RNG.integers(0, 90, 100).astype(np.int32)
    same(kernel(body, "int"), [a, np.zeros_like(a)], 100, 100, widths=WIDTHS)


def test_a_reduction_across_simdgroups_through_threadgroup_memory():
    text = """kernel void k(device const float* a, device float* out, uint i [[thread_position_in_grid]],
        uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
        uint sg [[simdgroup_index_in_threadgroup]], uint n [[simdgroups_per_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
        threadgroup float s[32];
        float total = 0;
        for (uint j = t; j < 500; j += 128) total += a[g * 500 + j];
        total = simd_sum(total);
        if (lane == 0) s[sg] = total;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float r = simd_sum(lane < n ? s[lane] : 0.0f);
        for (uint j = t; j < 500; j += 128) out[g * 500 + j] = a[g * 500 + j] * r;
    }"""
    a = RNG.integers(0, 9, 1000).astype(np.float32)
    same(text, [a, np.zeros_like(a)], 256, 128, widths=WIDTHS)


@pytest.mark.parametrize("type", ["float", "half"])
def test_simdgroup_matrix(type):
    text = """kernel void k(device const T* a, device const T* b, device T* c, device T* d, uint sg [[simdgroup_index_in_threadgroup]]) {
        threadgroup T s[2 * 64];
        simdgroup_matrix<T, 8, 8> A, B, C;
        simdgroup_load(A, a + sg * 8, 16);
        simdgroup_load(B, b + sg * 8 * 16, 16, ulong2(0, 0), true);
        C = make_filled_simdgroup_matrix<T, 8, 8>(T(sg + 1));
        for (int i = 0; i < 2; i++) simdgroup_multiply_accumulate(C, A, B, C);
        simdgroup_store(C, s + 64 * sg, 8);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_load(B, s + 64 * sg, 8, ulong2(0, 0), true);
        simdgroup_store(B, d + sg * 8, 16, ulong2(0, 0), true);
        simdgroup_store(C, c + sg * 8, 16);
    }""".replace("T", type).replace(f"{type}his", "This")
    dtype = {"float": np.float32, "half": np.float16}[type]
    a, b = (RNG.integers(-3, 3, (16, 16)).astype(dtype) for _ in range(2))
    same(text, [a, b, np.zeros((16, 16), dtype), np.zeros((16, 16), dtype)], 64, 64, widths=WIDTHS)


@pytest.mark.parametrize("count", [28, 64, 75])
def test_lanes_that_are_not_there_give_what_is_filled_in(count):
    """A sum of 64-bit numbers as PyTorch writes it: lanes beyond the last thread, and those that went elsewhere."""
    text = """
    static long total(long v) {
      for (ushort d = 16; d > 0; d /= 2) v += as_type<long>(simd_shuffle_and_fill_down(as_type<int2>(v), int2(0), d));
      return v;
    }
    static short upward(short v) {
      for (ushort d = 1; d < 32; d *= 2) v += simd_shuffle_and_fill_up(v, short(0), d);
      return v;
    }
    kernel void k(device long* a, device long* sums, device short* some, uint t [[thread_index_in_threadgroup]]) {
      sums[t] = total(a[t]);
      if (t % 3) some[t] = upward(short(a[t]));
    }"""
    a = np.random.default_rng(count).integers(-(1 << 40), 1 << 40, count)
    _, sums, some = same(text, [a, np.zeros(count, np.int64), np.zeros(count, np.int16)], count, count)
    for start in range(0, count, 32):
        assert sums[start] == a[start : start + 32].sum()
    assert some[1] == a[1].astype(np.int16) and some[2] == (a[2] + a[1]).astype(np.int16)
