"""Mistakes in torch's call form, second part: numbers, layout, lanes, and clean launches that look like mistakes."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from tests.checker.second_round.case import floats, halves, ints
from tests.checker.second_round.spoken import Row, told, torch_form

RMS = """kernel void rms(device const half* x, device half* y, uint lane [[thread_index_in_simdgroup]],
                uint row [[threadgroup_position_in_grid]]) {
    {X} sq = 0;
    for (uint j = lane; j < 1024; j += 32) sq += {X}(x[row * 1024 + j]) * {X}(x[row * 1024 + j]);
    sq = simd_sum(sq);
    half r = half(rsqrt(float(sq) / 1024.0f));
    for (uint j = lane; j < 1024; j += 32) y[row * 1024 + j] = x[row * 1024 + j] * r;
}"""
DENOMINATOR = """kernel void denom(device const half* p, device half* total,
                  uint lid [[thread_position_in_threadgroup]]) {
    threadgroup {X} part[32];
    {X} mine = 0;
    for (uint j = 0; j < 96; ++j) mine += p[j * 32 + lid];
    part[lid] = mine;
    for (uint h = 16; h; h /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (lid < h) part[lid] = part[lid] + part[lid + h];
    }
    if (lid == 0) total[0] = half(part[0] * 0.03125f);
}"""
SCORES = """kernel void qk(device const half* q, device const half* k, device half* s, constant float& scale,
               uint2 p [[thread_position_in_grid]]) {
    half dot = 0;
    for (uint d = 0; d < 16; ++d) dot += q[p.y * 16 + d]{X} * k[p.x * 16 + d];
    s[p.y * 8 + p.x] = half(dot{Y});
}"""
VARIANCE = """kernel void std_dev(device const float* x, device float* out, uint row [[thread_position_in_grid]]) {
    float mean = 0, sq = 0;
    for (uint j = 0; j < 8; ++j) {
        mean += x[row * 8 + j];
        sq += x[row * 8 + j] * x[row * 8 + j];
    }
    mean /= 8;
    float var = {X};
    out[row] = x[row * 8] / sqrt(var);
}"""
GROUPED = """kernel void mean_pool(device const float* x, device const int* starts, device const int* ends,
                      device int* out, uint b [[thread_position_in_grid]]) {
    int sum = 0;
    for (int j = starts[b]; j < ends[b]; ++j) sum += int(x[j]);
    out[b] = sum / {X};
}"""
BOX = """kernel void box3(device const uchar* src, device uchar* dst, constant long& width,
                 uint2 p [[thread_position_in_grid]]) {
    {X} sum = 0;
    for (int dx = -1; dx <= 1; ++dx) {
        int x = clamp(int(p.x) + dx, 0, int(width) - 1);
        sum += src[p.y * width + x];
    }
    dst[p.y * width + p.x] = sum / 3;
}"""
HALO = """kernel void conv1d(device const half* x, device half* y, uint lid [[thread_position_in_threadgroup]]) {
    threadgroup half tile[132];
    for (uint j = lid; j < 132; j += 32) tile[j] = x[j];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup const half4* v = reinterpret_cast<threadgroup const half4*>(&tile[4 * lid{X}]);
    half4 w = *v;
    y[lid] = w.x + 2 * w.y + w.z;
}"""
POINTS = """kernel void centre(device const {X}* xyz, device float* r, uint i [[thread_position_in_grid]]) {
    r[i] = length(float3(xyz[i]));
}"""
TILE = """kernel void transpose16(device const float* a, device float* b, uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float tile[8]{X};
    tile[t.y][t.x] = a[t.y * 12 + t.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    b[t.y * 12 + t.x] = 2 * tile[t.y][11 - t.x];
}"""
LAST_LANE = """kernel void broadcast_last(device const float* x, device float* y, constant long& n,
                           uint i [[thread_position_in_grid]]) {
    float v = {X};
    {Y}
    v = simd_shuffle(v, 31);
    if (i < n) y[i] = v;
}"""
MASKED = """kernel void softmax(device const float* s, device float* p, uint row [[thread_position_in_grid]]) {
    float m = -INFINITY;
    for (uint j = 0; j < 8; ++j) m = max(m, s[row * 8 + j]);
    {X}
    float l = 0;
    for (uint j = 0; j < 8; ++j) l += exp(s[row * 8 + j] - m);
    for (uint j = 0; j < 8; ++j) p[row * 8 + j] = exp(s[row * 8 + j] - m) / (l + 1e-9f);
}"""
DEQUANT = """kernel void dequant(device const uchar* q, device const half* scale, device half* w,
                    uint i [[thread_position_in_grid]]) {
    half d = scale[i / {X}];
    w[2 * i] = d * half(int(q[i] & 15) - 8);
    w[2 * i + 1] = d * half(int(q[i] >> 4) - 8);
}"""
NUCLEUS = """kernel void sample(device const float* p, device int* token, constant float& r,
                   uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float cdf[64];
    threadgroup int chosen;
    cdf[lid] = p[lid];
    {Y}
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint o = 1; o < 64; o <<= 1) {
        float add = lid >= o ? cdf[lid - o] : 0;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        cdf[lid] += add;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (cdf[lid] >= r && {X}) chosen = lid;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid == 0) token[0] = chosen;
}"""
HEADS = """kernel void take_k(device const float* qkv, device float* k, uint3 p [[thread_position_in_grid]]) {
    k[(p.z * 4 + p.y) * 8 + p.x] = qkv[((p.z * 3 + 1) * 4 + p.y) * 8 + p.x];
}"""
FILLED = """kernel void put(device const float* k, device float* cache, constant long& past,
                uint2 p [[thread_position_in_grid]]) {
    cache[(past + p.y) * 16 + p.x] = k[p.y * 16 + p.x];
}"""
PREFETCH = """kernel void shift(device const float* x, device float* y, constant long& n,
                  uint i [[thread_position_in_grid]]) {
    {X}
    float v = x[i];
    if (i >= n) return;
    y[i] = v > 0 ? v : 0.01f * v;
}"""


def deviations() -> np.ndarray:
    x = floats(32 * 8).reshape(32, 8)
    x[7] = [4099.7, 4099.71, 4099.72, 4099.7, 4099.71, 4099.7, 4099.72, 4099.7]
    return x.reshape(-1)


def one_large() -> np.ndarray:
    q = halves(64 * 16, 0.5)
    q[16 * 41 : 16 * 42] = 300
    return q


def masked() -> np.ndarray:
    s = floats(64).reshape(8, 8)
    s[2] = -np.inf
    return s.reshape(-1)


POOLS = [np.array([0, 4, 4, 9], np.int32), np.array([4, 4, 9, 16], np.int32)]
ROWS = (
    Row(
        "squares of 1,024 halves in half",
        RMS,
        "M403",
        lambda: [halves(2048, 9), np.zeros(2048, np.float16)],
        {"threads": 64, "group_size": 32},
        "half",
        "float",
    ),
    Row(
        "a softmax's denominator in a tree of halves",
        DENOMINATOR,
        "M402",
        lambda: [halves(96 * 32, 0.7), np.zeros(1, np.float16)],
        {"threads": 32, "group_size": 32},
        "half",
        "float",
    ),
    Row(
        "scores that are scaled after the sum, one query of 64",
        SCORES,
        "M403",
        lambda: [one_large(), halves(8 * 16, 20), np.zeros((64, 8), np.float16), 0.25],
        {"threads": (8, 64), "group_size": (8, 4)},
        ("", " * scale"),
        (" * half(scale * 0.5f)", ""),
    ),
    Row(
        "a variance that rounding makes negative",
        VARIANCE,
        "M401",
        lambda: [deviations(), np.zeros(32, np.float32)],
        {"threads": 32},
        "sq / 8 - mean * mean",
        "max(sq / 8 - mean * mean, 0.0f) + 1e-5f",
    ),
    Row(
        "the mean of a sequence without tokens",
        GROUPED,
        "M407",
        lambda: [floats(16), *POOLS, np.zeros(4, np.int32)],
        {"threads": 4},
        "(ends[b] - starts[b])",
        "max(ends[b] - starts[b], 1)",
    ),
    Row(
        "three pixels added up in a byte",
        BOX,
        "M408",
        lambda: [np.full(16 * 8, 200, np.uint8), np.zeros((8, 16), np.uint8), 16],
        {"threads": (16, 8)},
        "uchar",
        "uint",
    ),
    Row(
        "a half4 of a tile with a border of one",
        HALO,
        "M103",
        lambda: [halves(132), np.zeros(32, np.float16)],
        {"threads": 32, "group_size": 32},
        " + 1",
        "",
        "'tile'",
    ),
    Row(
        "points of three floats read as float3",
        POINTS,
        "M101",
        lambda: [floats(96), np.zeros(32, np.float32)],
        {"threads": 32},
        "float3",
        "packed_float3",
        "packed_float3",
    ),
    Row(
        "rows of a tile that are shorter than what is put into them",
        TILE,
        "M109",
        lambda: [floats(96), np.zeros(96, np.float32)],
        {"threads": (12, 8), "group_size": (12, 8)},
        "[8]",
        "[12]",
        "'tile'",
    ),
    Row(
        "the last lane's value after it has left",
        LAST_LANE,
        "M207",
        lambda: [floats(20), np.zeros(20, np.float32), 20],
        {"threads": 32, "group_size": 32},
        ("x[min(i, 19u)]", "if (i >= n) return;"),
        ("x[min(i, 19u)]", ""),
    ),
    Row(
        "a row of scores that is masked altogether",
        MASKED,
        "M401",
        lambda: [masked(), np.zeros(64, np.float32)],
        {"threads": 8},
        "",
        "if (m == -INFINITY) m = 0;",
        "-infinity - -infinity",
    ),
    Row(
        "scales for blocks of half the size",
        DEQUANT,
        "M101",
        lambda: [ints(128, np.uint8), halves(8), np.zeros(256, np.float16)],
        {"threads": 128},
        "8",
        "16",
        "'scale'",
    ),
    Row(
        "a token that several threads choose",
        NUCLEUS,
        "M201",
        lambda: [np.full(64, 1 / 64, np.float32), np.zeros(1, np.int32), 0.5],
        {"threads": 64, "group_size": 64},
        ("true", "if (lid == 0) chosen = 0;"),
        ("(lid == 0 || cdf[lid - 1] < r)", "if (lid == 0) chosen = 0;"),
        "'chosen'",
    ),
    Row(
        "a value that is loaded before the guard",
        PREFETCH,
        "M101",
        lambda: [floats(50), np.zeros(50, np.float32), 50],
        {"threads": 64, "group_size": 32},
        "",
        "if (i >= n) return;",
        "'x'",
    ),
    Row(
        "keys out of a packed tensor",
        HEADS,
        "",
        lambda: [floats(2 * 3 * 4 * 8), np.zeros(64, np.float32)],
        {"threads": (8, 4, 2)},
    ),
    Row(
        "a cache that three tokens are put into",
        FILLED,
        "",
        lambda: [floats(48), np.zeros((32, 16), np.float32), 5],
        {"threads": (16, 3)},
    ),
)
CASES = tuple(told(ROWS, torch_form, "torch")) if find_spec("torch") else ()
