"""What translators of shaders write: vectors in volatile memory, functions kept apart, lists of columns."""

from __future__ import annotations

import numpy as np

import metalloid as mt

COUNT = 40
TEXT = """#include <metal_stdlib>
using namespace metal;
struct S { float4 v; packed_float3 p; float s; int2 n; };
struct Shared { array<float, 8> all; uint count; };
struct Columns {
  float3 c[2];
  thread Columns& operator=(initializer_list<float3> list) thread {
    int k = 0;
    for (auto column : list) c[k++] = column;
    return *this;
  }
};
[[clang::optnone]] float3 twice(float3 a) { return a + a; }
__attribute__((optnone)) float plus_one(float a) { return fma(a, 1.0f, 1.0f); }
kernel void k(volatile device S* a [[buffer(0)]], volatile device float4* b [[buffer(1)]],
              const volatile device half3* h [[buffer(2)]], device float4* out [[buffer(3)]],
              uint i [[thread_position_in_grid]]) {
  volatile threadgroup float2 t[64];
  threadgroup Shared shared{{}, {}};  // gives no values
  if (i == 0) shared.all[3] = 2;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  t[i] = float2(i, 1);
  float4 v = a[i].v;
  a[i].v = v * 2.0f + float4(b[i]);
  b[i] = float4(plus_one(v.x));
  packed_float3 q = a[i].p;
  a[i].p = packed_float3(twice(q));
  a[i].n = int2(i, 3) + int2(a[i].n);
  half3 read = h[i];
  Columns m;
  m = {float3(read), float3(1)};
  float2 back = t[i];
  out[i] = float4(m.c[0] + m.c[1], back.x + back.y + shared.all[3]);
}
"""
S = np.dtype([("v", "f4", 4), ("p", "f4", 3), ("s", "f4"), ("n", "i4", 2), ("", "i4", 2)])


def test_vectors_go_to_and_from_volatile_memory() -> None:
    a = np.zeros(COUNT, S)
    a["v"], a["p"], a["n"] = np.arange(160).reshape(COUNT, 4), np.arange(120).reshape(COUNT, 3), 7
    before = a.copy()
    b, h = np.ones((COUNT, 4), "f4"), np.arange(160).reshape(COUNT, 4).astype("f2")
    out = np.full((COUNT, 4), np.nan, "f4")
    mt.device().library(TEXT)["k"](a, b, h, out, grid=COUNT, threadgroup=COUNT)
    steps = np.arange(COUNT)
    np.testing.assert_array_equal(a["v"], before["v"] * 2 + 1)
    np.testing.assert_array_equal(b, np.repeat(before["v"][:, :1] + 1, 4, axis=1))
    np.testing.assert_array_equal(a["p"], before["p"] * 2)
    np.testing.assert_array_equal(a["n"], np.stack([steps + 7, np.full(COUNT, 10)], 1))
    np.testing.assert_array_equal(out, np.column_stack([h[:, :3] + np.float32(1), steps + 3.0]))


VOLATILE = """#include <metal_stdlib>
using namespace metal;
kernel void k(volatile device float4* a [[buffer(0)]], volatile device int4* n [[buffer(1)]],
              device float4* out [[buffer(2)]], device int4* whole [[buffer(3)]],
              uint i [[thread_position_in_grid]]) {
  volatile threadgroup float4 t[40];
  t[i] = a[i] * 0.5f;
  a[i] += t[i] - float4(1);
  float s = 0;
  for (int k = 0; k < 4; k++) s += a[i][k];
  a[i][2] = 7;
  out[i] = -a[i] / t[i] + s * a[i].wzyx + select(float4(0), t[i], a[i] > t[i]) + fma(a[i], t[i], 1 + a[i].xxyy);
  n[i] <<= 2;
  int4 old = n[i]++;
  --n[i];
  whole[i] = (n[i] >> 1) % 5 + (old ^ n[i]) + (n[i] & 6) + int4(!(n[i] == old)) + ~n[i];
}
"""


def test_vectors_in_volatile_memory_are_operands() -> None:
    a = np.arange(1, 161).reshape(COUNT, 4).astype("f4")
    n = np.arange(-80, 80).reshape(COUNT, 4).astype("i4")
    out, whole = np.full((COUNT, 4), np.nan, "f4"), np.full((COUNT, 4), 99, "i4")
    t = a.astype("f8") * 0.5
    x = a + t - 1
    s = x.sum(axis=1, keepdims=True)
    x[:, 2] = 7
    m = n * 4
    wanted = -x / t + s * x[:, ::-1] + np.where(x > t, t, 0) + x * t + 1 + x[:, [0, 0, 1, 1]]
    mt.device().library(VOLATILE)["k"](a, n, out, whole, grid=COUNT, threadgroup=COUNT)
    np.testing.assert_array_equal(a, x)
    np.testing.assert_array_equal(n, m)
    np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-3)
    np.testing.assert_array_equal(whole, np.fmod(m >> 1, 5) + (m & 6) + ~m)


COUNTS = """#include <metal_stdlib>
using namespace metal;
struct Local { array<atomic_uint, 4> n; atomic_int one; };
struct Global { uint before; array<atomic_uint, 4> n; };
kernel void count(device Global& all [[buffer(0)]], device const uint* x [[buffer(1)]],
                  uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup Local mine;
  if (t < 4) atomic_store_explicit(&mine.n[t], 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&mine.n[x[i] & 3], 1u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint seen = t < 4 ? atomic_load_explicit(&mine.n[t], memory_order_relaxed) : 0;
  if (seen) atomic_fetch_add_explicit(&all.n[t], seen, memory_order_relaxed);
}
"""


def test_atomics_in_a_metal_array_of_either_space() -> None:
    x, out = np.random.default_rng(0).integers(0, 99, 1000).astype("u4"), np.zeros(5, "u4")
    mt.device().library(COUNTS)["count"](out, x, grid=1000, threadgroup=64)
    np.testing.assert_array_equal(out, [0, *np.bincount(x & 3, minlength=4)])
