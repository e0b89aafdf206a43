"""Kernels with the mistakes that people make, as functions of arrays; and what they should compute.

They stand in a module of their own so that other processes can look them up by name.
"""

from __future__ import annotations

from functools import cache

import numpy as np

import metalloid as mt

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"


@cache
def kernel(text: str, **defines: str) -> mt.Kernel:
    library = mt.device().library(HEAD + text, math="safe", defines=defines)
    return library[library.kernels[0]]


def poisoned(shape, dtype) -> np.ndarray:
    out = np.empty(shape, dtype)
    out.view(np.uint8)[...] = 0x5A
    return out


MATMUL = """
constant uint TILE = 16;
kernel void matmul_nt(device const float* A [[buffer(0)]], device const float* B [[buffer(1)]],
                      device float* C [[buffer(2)]], constant uint3& size [[buffer(3)]],
                      uint2 tid [[thread_position_in_threadgroup]],
                      uint2 group [[threadgroup_position_in_grid]]) {
    threadgroup float A_tile[TILE][TILE];
    threadgroup float B_tile[TILE][TILE];
    uint M = size.x, N = size.y, K = size.z, tx = tid.x, ty = tid.y;
    uint row = group.y * TILE + ty, col = group.x * TILE + tx;
    float sum = 0;
    for (uint k0 = 0; k0 < LAST; k0 += TILE) {
        A_tile[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0;
        B_tile[ty][tx] = LOADED ? B[LOAD] : 0;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < TILE; k++) sum += A_tile[ty][k] * USE;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (row < M && col < N) C[row * N + col] = sum;
}
"""
OWN_ROW = {
    "LOAD": "(group.x * TILE + ty) * K + k0 + tx",
    "LOADED": "(group.x * TILE + ty < N && k0 + tx < K)",
}
OTHER_ROW = {"LOAD": "col * K + k0 + ty", "LOADED": "(col < N && k0 + ty < K)"}


def matmul_nt(a, b, **defines):
    (m, k), n = a.shape, b.shape[0]
    out = poisoned((m, n), np.float32)
    if out.size:
        made = kernel(MATMUL, **{"LAST": "K", "USE": "B_tile[tx][k]", **OWN_ROW, **defines})
        a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
        made(a, b, out, (m, n, k), threadgroups=(-(-n // 16), -(-m // 16)), threadgroup=(16, 16))
    return out


def matmul_reference(a, b):
    return a @ b.T


def each_thread_another_row(a, b):
    """Every thread loads from a row of its own and the sum reads the same way: slow, and right."""
    return matmul_nt(a, b, USE="B_tile[k][tx]", **OTHER_ROW)


def loaded_from_other_rows(a, b):
    """The load was left as it was when the sum was mended."""
    return matmul_nt(a, b, **OTHER_ROW)


def summed_the_other_way(a, b):
    """The sum was left as it was when the load was mended."""
    return matmul_nt(a, b, USE="B_tile[k][tx]")


def loaded_by_threads_with_a_row(a, b):
    """Threads without a row of A load nothing of B: one token at a time is wrong, whole tiles are right."""
    return matmul_nt(
        a, b, USE="B_tile[k][tx]", **{**OTHER_ROW, "LOADED": "(row < M && col < N && k0 + ty < K)"}
    )


def first_tile_only(a, b):
    return matmul_nt(a, b, LAST="min(K, TILE)")


def scaled(x, text, grid=None, **options):
    out = poisoned(x.shape, x.dtype)
    if x.size:
        made = kernel(text)
        made(np.ascontiguousarray(x), out, x.size, grid=grid or x.size, **{"threadgroup": 256, **options})
    return out


def doubled(x):
    return 2 * x


BYTE_INDEX = """
kernel void twice(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                  constant uint& n [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    uchar i = gid;
    y[i] = 2 * x[i];
}
"""
CAPPED = """
kernel void twice(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                  constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = 2 * x[i];
}
"""
FOURS = """
kernel void twice(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                  constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    uint at = 4 * i;
    if (at + 3 < n) for (uint k = 0; k < 4; k++) y[at + k] = 2 * x[at + k];
}
"""


def byte_index(x):
    return scaled(x, BYTE_INDEX)


def capped_grid(x):
    return scaled(x, CAPPED, grid=min(x.size, 1 << 12))


def whole_grid(x):
    return scaled(x, CAPPED)


def fours_without_a_tail(x):
    return scaled(x, FOURS, grid=-(-x.size // 4), threadgroup=64)


STRIDED = """
kernel void rows(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                 constant int2& strides [[buffer(2)]], uint2 i [[thread_position_in_grid]],
                 uint2 size [[threads_per_grid]]) {
    y[i.y * size.x + i.x] = 2 * x[i.y * strides.x + i.x STEP];
}
"""


def strided(x, step=" * strides.y"):
    out = poisoned(x.shape, x.dtype)
    if x.size:
        strides = [s // x.itemsize for s in x.strides]
        span = 1 + sum((n - 1) * s for n, s in zip(x.shape, strides, strict=True))
        memory = np.lib.stride_tricks.as_strided(x, (span,), (x.itemsize,))
        kernel(STRIDED.replace("STEP", step))(memory, out, tuple(strides), grid=x.shape[::-1])
    return out


def strides_ignored(x):
    return strided(x, step="")


ROW_SUMS = """
kernel void row_sums(device const half* x [[buffer(0)]], device half* y [[buffer(1)]],
                     constant uint& n [[buffer(2)]], uint row [[thread_position_in_grid]]) {
    SUM sum = 0;
    for (uint i = 0; i < n; i++) sum += SUM(x[row * n + i]);
    y[row] = half(sum);
}
"""


def row_sums(x, type="float"):
    out = poisoned(x.shape[:1], x.dtype)
    if out.size:
        x = np.ascontiguousarray(x) if x.size else np.zeros(1, x.dtype)
        kernel(ROW_SUMS, SUM=type)(x, out, x.size // out.size if x.ndim > 1 else 0, grid=out.size)
    return out


def half_sums(x):
    return row_sums(x, "half")


def row_sums_reference(x):
    return x.sum(axis=1)


TOTAL = """
kernel void total(device const int* x [[buffer(0)]], device int* y [[buffer(1)]],
                  constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]],
                  uint count [[threads_per_threadgroup]]) {
    threadgroup int parts[256];
    parts[i] = i < n ? x[i] : 0;
    BARRIER
    if (i == count - 1) {
        int sum = 0;
        for (uint k = 0; k < count; k++) sum += parts[k];
        y[0] = sum;
    }
}
"""


def total(x, barrier="threadgroup_barrier(mem_flags::mem_threadgroup);"):
    out = poisoned((1,), np.int32)
    made = kernel(TOTAL.replace("BARRIER", barrier))
    given = np.ascontiguousarray(x) if x.size else np.zeros(1, np.int32)
    made(given, out, x.size, grid=256, threadgroup=256)
    return out


def total_without_barrier(x):
    return total(x, "")


def total_reference(x):
    return np.array([x.sum()])
