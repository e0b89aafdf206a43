"""Threadgroup memory, barriers, private arrays, atomics, structs."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import re

import numpy as np
import pytest

from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import vector_code, vector_stage
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import same, scalar_ir

WIDTHS = (1, 8, 32, 64)
RNG = np.random.default_rng(1)


@pytest.mark.parametrize("size", [32, 64, 96, 100, 256])
def test_tree_reduction(size):
    text = """kernel void k(device const float* a, device float* out, uint i [[thread_position_in_grid]],
        uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]], uint n [[threads_per_threadgroup]]) {
        threadgroup float s[256];
        s[t] = a[i];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint step = 128; step > 0; step >>= 1) {
            if (t < step && t + step < n) s[t] += s[t + step];
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        if (t == 0) out[g] = s[0];
    }"""
    a = RNG.integers(0, 50, 2 * size).astype(np.float32)
    expected = same(text, [a, np.zeros(2, np.float32)], 2 * size, size, widths=WIDTHS)
    np.testing.assert_array_equal(expected[1], a.reshape(2, size).sum(1))


TREE = """kernel void k(device const T* a, device T* out, uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
    threadgroup T s[256];
    s[t] = a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = 128; step > 0; step >>= 1) {
        if (t < step) s[t] += s[t + step];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[i] = s[t];
}"""


@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("half", np.float16), ("long", np.int64)])
def test_a_tree_of_a_whole_threadgroup(kind, dtype):
    """Every partial sum is right, though the tree is added up in registers."""
    a = RNG.integers(0, 8, 512).astype(dtype)
    expected = same(TREE.replace("T", kind), [a, np.full(512, 9, dtype)], 512, 256, widths=(64, 256))
    np.testing.assert_array_equal(expected[1][::256], a.reshape(2, 256).sum(1))


def test_a_tree_stays_in_registers():
    target = codegen.host()
    module = canonical(scalar_ir(TREE.replace("T", "float"), "k")[0])
    text = vector_code(module, ((256, 1, 1), False, False, False, False, None), 256, target).text
    optimised = str(codegen.optimise(text, target, 1)[0])
    loads = re.findall(rf"load <{target.info.lanes32} x float>", optimised)
    assert not loads


def test_tiled_matrix_product():
    text = """kernel void k(device const float* A, device const float* B, device float* C, constant uint& N,
        uint2 t [[thread_position_in_threadgroup]], uint2 g [[threadgroup_position_in_grid]]) {
        threadgroup float As[8][8], Bs[8][8];
        uint row = g.y * 8 + t.y, col = g.x * 8 + t.x;
        float acc = 0;
        for (uint k = 0; k < N; k += 8) {
            As[t.y][t.x] = A[row * N + k + t.x];
            Bs[t.y][t.x] = B[(k + t.y) * N + col];
            threadgroup_barrier(mem_flags::mem_threadgroup);
            for (uint i = 0; i < 8; i++) acc += As[t.y][i] * Bs[i][t.x];
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        C[row * N + col] = acc;
    }"""
    a, b = (RNG.integers(-4, 4, (16, 16)).astype(np.float32) for _ in range(2))
    expected = same(
        text,
        [a, b, np.zeros((16, 16), np.float32), np.array([16], np.uint32)],
        (16, 16),
        (8, 8),
        widths=(1, 8, 16, 32, 64),
    )
    np.testing.assert_array_equal(expected[2], a @ b)


def test_host_sized_threadgroup_memory():
    text = """kernel void k(device const int* a, device int* out, threadgroup int* s [[threadgroup(0)]],
        threadgroup int* r [[threadgroup(1)]], uint t [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
        s[t] = a[t]; r[n - 1 - t] = a[t] * 2;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[t] = s[n - 1 - t] + r[(t + 1) % n];
    }"""
    same(
        text,
        [RNG.integers(0, 99, 80).astype(np.int32), np.zeros(80, np.int32)],
        80,
        80,
        local={0: 320, 1: 320},
        widths=WIDTHS,
    )


def test_barriers_in_a_uniform_branch_and_in_nested_loops():
    text = """kernel void k(device int* a, constant int& mode, uint t [[thread_index_in_threadgroup]]) {
        threadgroup int s[96];
        int v = a[t];
        for (int r = 0; r < 3; r++) {
            s[t] = v;
            threadgroup_barrier(mem_flags::mem_threadgroup);
            if (mode > r) {
                v += s[(t + 1) % 96];
                threadgroup_barrier(mem_flags::mem_threadgroup);
                s[t] = v * 2;
                for (int q = 0; q < r + 1; q++) {
                    threadgroup_barrier(mem_flags::mem_threadgroup);
                    v ^= s[(t + q + 5) % 96];
                    if (q == 1) continue;
                    threadgroup_barrier(mem_flags::mem_threadgroup);
                    s[(t + q) % 96] = v + q;
                }
            } else {
                v -= s[(t + 95) % 96];
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        a[t] = v;
    }"""
    for mode in (0, 1, 2, 5):
        same(
            text,
            [RNG.integers(0, 99, 96).astype(np.int32), np.array([mode], np.int32)],
            96,
            96,
            widths=WIDTHS,
        )


def test_private_arrays_with_a_dynamic_index_live_across_a_barrier():
    text = """struct P { int a; float b; short c[3]; };
    kernel void k(device int* a, uint t [[thread_index_in_threadgroup]]) {
        threadgroup int s[64];
        int v[8]; P p[3];
        for (int i = 0; i < 8; i++) v[(i + t) & 7] = a[t] * i;
        for (int i = 0; i < 3; i++) { p[i].a = i; p[i].b = a[t] + i; p[i].c[(a[t] + i) % 3] = 7; p[i].c[(a[t] + i + 1) % 3] = 2; p[i].c[(a[t] + i + 2) % 3] = 3; }
        s[t] = v[a[t] & 7];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v[s[(t + 3) & 63] & 7] = 1000;
        int total = 0;
        for (int i = 0; i < 8; i++) total = total * 3 + v[i];
        P q = p[a[t] % 3];
        a[t] = total + q.a + int(q.b) + q.c[t % 3];
    }"""
    same(text, [RNG.integers(0, 99, 64).astype(np.int32)], 64, 64, widths=WIDTHS)


def test_atomics():
    text = """kernel void k(device atomic_int* c, device atomic_float* f, device atomic_uint* m, device const int* a,
        uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
        threadgroup atomic_int s;
        if (t == 0) atomic_store_explicit(&s, 0, memory_order_relaxed);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        atomic_fetch_add_explicit(&s, a[i], memory_order_relaxed);
        atomic_fetch_add_explicit(&c[a[i] & 3], 1, memory_order_relaxed);
        atomic_fetch_add_explicit(f, 1.0f, memory_order_relaxed);
        atomic_fetch_max_explicit(&m[0], uint(a[i]), memory_order_relaxed);
        atomic_fetch_min_explicit(&m[1], uint(a[i]), memory_order_relaxed);
        if (a[i] & 1) atomic_fetch_xor_explicit(&m[2], uint(a[i]), memory_order_relaxed);
        uint old = atomic_load_explicit(&m[3], memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&m[3], &old, old + 3, memory_order_relaxed, memory_order_relaxed)) {}
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t == 0) atomic_fetch_add_explicit(&c[4], atomic_load_explicit(&s, memory_order_relaxed), memory_order_relaxed);
    }"""
    arrays = [
        np.zeros(5, np.int32),
        np.zeros(1, np.float32),
        np.array([0, 99, 0, 0], np.uint32),
        RNG.integers(0, 99, 150).astype(np.int32),
    ]
    same(text, arrays, 150, 50, widths=WIDTHS)


def test_returned_values_of_atomics_are_a_permutation():
    text = """kernel void k(device atomic_uint* c, device uint* out, uint i [[thread_position_in_grid]]) {
        uint at = atomic_fetch_add_explicit(c, 1u, memory_order_relaxed);
        out[at] = at + 1;
    }"""
    same(text, [np.zeros(1, np.uint32), np.zeros(77, np.uint32)], 77, 20, widths=WIDTHS)


def test_structs_and_vectors_by_value_and_by_pointer():
    text = """struct Args { uint n; float scale; packed_float3 offset; ushort flags; };
    struct Item { float4 p; int2 q; };
    kernel void k(constant Args& args, device Item* items, device float3* out, uint i [[thread_position_in_grid]]) {
        if (i >= args.n) return;
        Item item = items[i];
        item.p = item.p * args.scale; item.q.x += args.flags;
        out[i] = item.p.xyz + float3(args.offset) + float(item.q.x - item.q.y);
        items[i] = item;
    }"""
    args = np.zeros(
        1,
        np.dtype(
            {
                "names": ["n", "s", "o", "f"],
                "formats": ["u4", "f4", "3f4", "u2"],
                "offsets": [0, 4, 8, 20],
                "itemsize": 24,
            }
        ),
    )
    args["n"], args["s"], args["o"], args["f"] = 37, 0.5, (1, 2, 3), 9
    items = RNG.integers(0, 90, (40, 8)).astype(np.float32)
    items.view(np.int32)[:, 4:] = RNG.integers(0, 90, (40, 4))
    same(text, [args.view(np.uint8), items, np.zeros((40, 4), np.float32)], 40, 16, widths=WIDTHS)


def test_narrow_and_wide_integers_in_memory():
    text = """kernel void k(device const uchar* a, device const short* b, device long* c, device ushort* d,
        device char* e, uint i [[thread_position_in_grid]]) {
        long x = long(a[i]) * b[i] - (long(b[63 - i]) << 33);
        c[i] = x / (long(a[i]) - 7) + x % 1000;
        d[i * 2] = ushort(x >> 5); d[i * 2 + 1] = ushort(a[63 - i] * 3u);
        e[63 - i] = char(a[i] ^ b[i]);
    }"""
    arrays = [
        RNG.integers(0, 255, 64).astype(np.uint8),
        RNG.integers(-3000, 3000, 64).astype(np.int16),
        np.zeros(64, np.int64),
        np.zeros(128, np.uint16),
        np.zeros(64, np.int8),
    ]
    same(text, arrays, 64, 32, widths=WIDTHS)


def test_three_bytes_at_once():
    """clang makes one number of 24 bits of them, for which no processor has an alignment."""
    text = """kernel void k(device const uchar* a, device char3* b, device uchar3* c, uint i [[thread_position_in_grid]]) {
        *(device char3*)(b + 64) = char3(5, -6, 7);
        b[i] = char3(-1, 2, -3);
        c[i] = uchar3(a[0], a[1], a[2]) + uchar3(1, 2, 3);
    }"""
    arrays = [RNG.integers(0, 255, 64).astype(np.uint8), *(np.full(4 * 65, 77, np.uint8) for _ in range(2))]
    found = same(text, arrays, 64, 32, widths=WIDTHS)
    assert bytes(found[1][4 * 64 :]) == bytes([5, 250, 7, 77]), "the fourth byte of a char3 is nobody's"
    same(text, arrays, 1, 1)


def test_half_and_bfloat():
    text = """kernel void k(device const half* a, device const bfloat* b, device half* c, device bfloat* d, device float* e,
        uint i [[thread_position_in_grid]]) {
        c[i] = a[i] * half(2.5) + half(b[i]);
        d[i] = b[i] * b[i] + bfloat(a[i]) - bfloat(0.3f);
        e[i] = float(b[i]) * float(a[i]) + (b[i] > bfloat(1.0f) ? 1.0f : 0.0f) + float(bfloat(int(i) * 1001));
    }"""
    a = RNG.normal(size=96).astype(np.float16)
    b = (RNG.normal(size=96).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    same(
        text,
        [a, b, np.zeros(96, np.float16), np.zeros(96, np.uint16), np.zeros(96, np.float32)],
        96,
        32,
        widths=WIDTHS,
    )


def test_what_is_defined_where_llvm_leaves_it_open():
    text = """kernel void k(device const int* a, device const int* b, device const float* f, device int* out,
        uint i [[thread_position_in_grid]]) {
        uint o = i * 8;
        out[o] = a[i] / b[i]; out[o + 1] = a[i] % b[i];
        out[o + 2] = uint(a[i]) / uint(b[i]); out[o + 3] = uint(a[i]) % uint(b[i]);
        out[o + 4] = a[i] << b[i]; out[o + 5] = a[i] >> b[i];
        out[o + 6] = int(f[i]); out[o + 7] = uint(f[i]);
    }"""
    lo = -(2**31)
    a = np.array([5, lo, 7, 0, -9, lo, 123456789, -1], np.int32)
    b = np.array([0, -1, -2, 0, 4, 3, 1000, 33], np.int32)
    f = np.array([np.nan, 1e20, -1e20, 3.99, -3.99, np.inf, -np.inf, 2.5e9], np.float32)
    same(text, [a, b, f, np.zeros(64, np.int32)], 8, 8, widths=(1, 8, 32))


def test_pointers_that_may_point_into_either_buffer():
    text = """kernel void k(device int* a, device int* b, device const int* c, uint i [[thread_position_in_grid]]) {
        device int* p = (c[i] & 1) ? a : b;
        device int* q = (c[0] & 1) ? a + 67 : b + 69;
        int x = p[i] + q[i];
        p[i] = x;
    }"""
    arrays = [RNG.integers(0, 99, 140).astype(np.int32) for _ in range(3)]
    same(text, arrays, 64, 32, widths=WIDTHS)


def test_constant_tables():
    text = """constant float table[7] = {1.5, 2.5, 4, 8, 16, 32, 64};
    constant uchar bytes[] = {9, 8, 7, 6, 5};
    kernel void k(device const int* a, device float* out, uint i [[thread_position_in_grid]]) {
        out[i] = table[a[i] % 7] + bytes[a[i] % 5] + table[3];
    }"""
    same(text, [RNG.integers(0, 99, 64).astype(np.int32), np.zeros(64, np.float32)], 64, 32, widths=WIDTHS)


def test_strided_transposed_and_row_accesses():
    text = """kernel void k(device const float* a, device float* b, device float* c, constant uint& n,
        uint2 g [[thread_position_in_grid]]) {
        b[g.x * n + g.y] = a[g.y * n + g.x];
        c[g.y * n + g.x] = a[g.y * n] + a[g.x] * 2 + a[(n - 1 - g.y) * n + (n - 1 - g.x)] + a[(g.x / 4) * n + g.x % 4];
    }"""
    a = RNG.normal(size=(32, 32)).astype(np.float32)
    for group in ((32, 1), (16, 16), (8, 4), (4, 32), (5, 3)):
        same(
            text,
            [a, np.zeros_like(a), np.zeros_like(a), np.array([32], np.uint32)],
            (32, 32),
            group,
            widths=(1, 8, 32, 64),
        )


def test_pointers_that_may_point_into_a_table_or_a_buffer():
    text = """constant float one[4] = {1, 2, 3, 4};
    constant float two[6] = {5, 6, 7, 8, 9, 10};
    kernel void k(device const int* a, device float* out, constant float* given, uint i [[thread_position_in_grid]]) {
        constant float* p = a[i] % 3 == 0 ? one : (a[i] % 3 == 1 ? two : given);
        out[i] = p[i & 3] + p[1];
    }"""
    arrays = [
        RNG.integers(0, 99, 64).astype(np.int32),
        np.zeros(64, np.float32),
        np.arange(8, dtype=np.float32),
    ]
    same(text, arrays, 64, 32, widths=WIDTHS)


def test_narrow_elements_at_addresses_of_any_kind():
    text = """struct __attribute__((packed)) Q { uchar tag; short v; };
    kernel void k(device const int* at, device const half* h, device const short* s, device const uchar* c,
        device const packed_char3* q, device float* out, device ushort* back, uint i [[thread_position_in_grid]]) {
        int n = at[i];
        char3 x = char3(q[n]);
        out[i] = float(h[n]) + s[n] * 3 + c[n] + x.x + 2 * x.y + 4 * x.z;
        if (n & 1) out[i] += c[63 - n];
        back[at[i]] = ushort(n * 5);
    }"""
    arrays = [
        RNG.permutation(64).astype(np.int32),
        RNG.integers(-50, 50, 64).astype(np.float16),
        RNG.integers(-300, 300, 64).astype(np.int16),
        RNG.integers(0, 255, 64).astype(np.uint8),
        RNG.integers(-100, 100, 192).astype(np.int8),
        np.zeros(64, np.float32),
        np.zeros(64, np.uint16),
    ]
    same(text, arrays, 64, 32, widths=WIDTHS)
    offset = [np.concatenate([a[:1], a])[1:] for a in arrays]  # other alignments of the memory itself
    same(text, offset, 64, 32, widths=(32,))


def test_a_product_that_is_zero_where_a_loop_does_not_run():
    """LLVM makes a phi of it; the store behind the loop still goes to rows side by side."""
    text = """kernel void k(device const float* a, device float* c, constant uint& n, uint2 g [[thread_position_in_grid]]) {
      float s = 0; for (uint i = 0; i < n; i++) s += a[g.y * n + i]; c[g.y * n + g.x] = s; }"""
    for n in (8, 0):
        arrays = [np.arange(64, dtype=np.float32), np.full(64, -1, np.float32), np.array([n], np.uint32)]
        same(text, arrays, (8, 8), (8, 8), widths=(0, 8, 64))
    assert "masked.scatter" not in vector_stage(scalar_ir(text, "k")[0], (8, 8, 1))


@pytest.mark.parametrize("n", (0, 3, 64))
def test_neighbours_stored_in_a_branch_that_all_lanes_may_take(n):
    """The address that both stores start from is made before the branch, and nobody else asks for it there."""
    text = """kernel void k(device const uint* a, device const ulong* e, device uint4* v,
                           uint3 p [[thread_position_in_grid]], uint3 G [[threads_per_grid]]) {
        uint i = p.x + G.x * (p.y + G.y * p.z);
        for (uint n = 0; n < 3; n++)
            if ((a[i ^ 1] | 7) < uint(e[i])) v[i].yz = uint2(a[i * 4 + 2], 7u);
    }"""
    a = np.random.default_rng(n).integers(9, 100, 260, dtype=np.uint32)
    e = np.full(64, 1000, np.uint64)
    e[:n] = 5
    same(text, [a, e, np.full((64, 4), 99, np.uint32)], (4, 4, 4), (4, 4, 2), widths=(1, 8, 32))


def test_tables_of_pointers_in_constant_memory():
    text = """
constant int few[3] = {5, 6, 7};
constant int many[5] = {30, 20, 40, 50, 70};
constant int* constant tables[3] = {few, many + 1, many};
struct Named { constant char* text; int n; };
constant Named named[2] = {{"abcd addrspace(1)", 3}, {"efgh", 4}};
kernel void k(device int* out, uint i [[thread_position_in_grid]]) {
    out[i] = tables[i % 3][i % 2] * 1000 + named[i % 2].text[i % 4] + named[1 - i % 2].n * 100000;
}"""
    [out] = same(text, [np.full(37, -1, np.int32)], 37, 16)
    tables = [[5, 6], [20, 40], [30, 20]]
    letters = ["abcd", "efgh"]
    assert out.tolist() == [
        tables[i % 3][i % 2] * 1000 + ord(letters[i % 2][i % 4]) + (4 - i % 2) * 100000 for i in range(37)
    ]
