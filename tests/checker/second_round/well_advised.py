"""Advice about kernels as their authors write them: the cause that is named is the one that there is.

A barrier that was proposed for a loop where there is none, or inside an `if`; a position that was blamed where a tile
ended; `return` where several threads share an element.
"""

from __future__ import annotations

import numpy as np

from tests.checker.second_round.at_work import RELAXED, both, zeros
from tests.checker.second_round.case import floats, halves, pair

TWICE = """inline float of_all(float v, threadgroup float* shared, uint lane, uint sg, uint groups) {
    v = simd_sum(v);
    {BEFORE}
    if (lane == 0) shared[sg] = v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    v = lane < groups ? shared[lane] : 0.0f;
    return simd_sum(v);
}
kernel void norm(device const float* x, device float* y, constant uint& n, uint row [[threadgroup_position_in_grid]],
                 uint t [[thread_position_in_threadgroup]], uint nt [[threads_per_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                 uint groups [[simdgroups_per_threadgroup]]) {
    threadgroup float shared[32];
    float s = 0, d = 0;
    for (uint i = t; i < n; i += nt) s += x[row * n + i];
    float mean = of_all(s, shared, lane, sg, groups) / n;
    for (uint i = t; i < n; i += nt) d += (x[row * n + i] - mean) * (x[row * n + i] - mean);
    float scale = rsqrt(of_all(d, shared, lane, sg, groups) / n + 1e-5f);
    for (uint i = t; i < n; i += nt) y[row * n + i] = (x[row * n + i] - mean) * scale;
}"""
ROPE = """kernel void rope(device float* x, constant uint& d, uint2 g [[thread_position_in_grid]]) {
    uint part = d / 2;
    device float* v = x + g.y * d;
    float angle = 7 * exp2(-float(g.x % part));
    {TURN}
}"""
ALONE = """if (g.x < part) v[g.x] = v[g.x] * cos(angle) - v[g.x + part] * sin(angle);
    else v[g.x] = v[g.x] * cos(angle) + v[g.x - part] * sin(angle);"""
TOGETHER = """if (g.x >= part) return;
    float a = v[g.x], b = v[g.x + part];
    v[g.x] = a * cos(angle) - b * sin(angle); v[g.x + part] = b * cos(angle) + a * sin(angle);"""
TABLE = """kernel void angles(device half* out, uint2 g [[thread_position_in_grid]]) {
    {TYPE} angle = {TYPE}(g.y * 100);
    out[g.y * 8 + g.x] = half(cos(angle * exp2(-float(g.x))));
}"""
TILES = """kernel void matmul(device const float* a, device const float* b, device float* c, constant uint3& mnk,
                   uint2 g [[thread_position_in_grid]], uint2 t [[thread_position_in_threadgroup]]) {
    threadgroup float left[8][8], right[8][8];
    float sum = 0;
    for (uint k0 = 0; k0 < mnk.z; k0 += 8) {
        left[t.y][t.x] = {LEFT}a[g.y * mnk.z + k0 + t.x]{ELSE};
        right[t.y][t.x] = {RIGHT}b[(k0 + t.y) * mnk.y + g.x]{ELSE};
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < 8; k++) sum += left[t.y][k] * right[k][t.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (g.y < mnk.x && g.x < mnk.y) c[g.y * mnk.y + g.x] = sum;
}"""
ROWS = """kernel void rows(device const float* x, device float* y, constant uint& n, uint row [[{POSITION}]],
                 uint lane [[thread_index_in_simdgroup]]) {
    float s = 0;
    for (uint i = lane; i < n; i += 32) s += x[row * n + i] * x[row * n + i];
    s = rsqrt(simd_sum(s) + 1e-6f);
    for (uint i = lane; i < n; i += 32) y[row * n + i] = x[row * n + i] * s;
}"""
SCALES = """kernel void dequant(device const uchar* w, device const half* scale, device half* out, constant uint& n,
                    uint2 g [[thread_position_in_grid]]) {
    uint groups = {GROUPS};
    half s = scale[g.y * groups + (2 * g.x) / 32];
    uchar b = w[g.y * (n / 2) + g.x];
    out[g.y * n + 2 * g.x] = (half(b & 15) - 8.0h) * s;
    out[g.y * n + 2 * g.x + 1] = (half(b >> 4) - 8.0h) * s;
}"""
KEYS = """kernel void keys(device const uint* key, device {TYPE}* table, device uchar* seen,
                 uint i [[thread_position_in_grid]]) {
    uint h = (key[i] * 2654435761u) % 61;
    while (true) {
        {LOOK}
        if (was == key[i]) { seen[i] = 1; break; }
        h = (h + 1) % 61;
    }
}"""
PLAIN_LOOK = """uint was = table[h];
        if (was == 0) { table[h] = key[i]; seen[i] = 1; break; }"""
EXCHANGE = f"""uint was = 0;
        while (was == 0 && !atomic_compare_exchange_weak_explicit(&table[h], &was, key[i], {RELAXED}, {RELAXED})) {{}}
        if (was == 0) {{ seen[i] = 1; break; }}"""


CASES = (
    *pair(
        "a function with a barrier that is called twice",
        *both(TWICE, "{BEFORE}", "", "threadgroup_barrier(mem_flags::mem_threadgroup);"),
        lambda: [floats(5 * 333), zeros(5, 333), 333],
        {"threadgroups": 5, "threadgroup": 128},
        "M201",
        "'of_all' runs more than once",
    ),
    *pair(
        "a rotation in place, a thread for each element",
        *both(ROPE, "{TURN}", ALONE, TOGETHER),
        lambda: [floats(5 * 18), 18],
        {"grid": (18, 5), "threadgroup": (18, 5)},
        "M202",
        "of which each thread takes one: read into a variable first",
    ),
    *pair(
        "an angle that does not fit a half",
        *both(TABLE, "{TYPE}", "half", "float"),
        lambda: [np.zeros((700, 8), np.float16)],
        {"grid": (8, 700), "threadgroup": (8, 20)},
        "M403",
        "the conversion of 656",
    ),
    *pair(
        "tiles that end outside",
        TILES.replace("{LEFT}", "").replace("{RIGHT}", "").replace("{ELSE}", ""),
        TILES.replace("{LEFT}", "g.y < mnk.x && k0 + t.x < mnk.z ? ")
        .replace("{RIGHT}", "g.x < mnk.y && k0 + t.y < mnk.z ? ")
        .replace("{ELSE}", " : 0.0f"),
        lambda: [floats(11 * 21), floats(21 * 13), zeros(11, 13), (11, 13, 21)],
        {"threadgroups": (2, 2), "threadgroup": (8, 8)},
        "M101",
        "read it only where the index is below 231",
    ),
    *pair(
        "the thread's position for the row of a threadgroup",
        *both(ROWS, "{POSITION}", "thread_position_in_grid", "threadgroup_position_in_grid"),
        lambda: [floats(40 * 50), zeros(40, 50), 50],
        {"threadgroups": 40, "threadgroup": 32},
        "M102",
        "'row' is thread_position_in_grid, which counts threads",
    ),
    *pair(
        "one group of scales too many in each row",
        *both(SCALES, "{GROUPS}", "n / 32 + 1", "(n + 31) / 32"),
        lambda: [np.ones((6, 48), np.uint8), halves(18), np.zeros((6, 96), np.float16), 96],
        {"grid": (48, 6)},
        "M101",
        "the index is 18 and scale has 18 elements",
    ),
    *pair(
        "a table of keys that two threads find empty",
        KEYS.replace("{TYPE}", "uint").replace("{LOOK}", PLAIN_LOOK),
        KEYS.replace("{TYPE}", "atomic_uint").replace("{LOOK}", EXCHANGE),
        lambda: [
            (np.arange(45, dtype=np.uint32) * 7) % 29 + 1,
            np.zeros(61, np.uint32),
            np.zeros(45, np.uint8),
        ],
        {"grid": 45},
        "M202",
        "test and write it with one atomic_compare_exchange_weak_explicit",
    ),
)
