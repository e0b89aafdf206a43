"""What is advised: the real cause, in the author's terms, and nothing that makes another mistake."""

from __future__ import annotations

import numpy as np

from tests.checker.second_round.case import Case, blank, floats, pair

TILE = """kernel void k(device float* out, device const float* x, uint i [[thread_position_in_grid]],
                     uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[t] = {READ};
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < 100) out[i] = s[t ^ 1];
}"""
POINTS = """kernel void k(device float* out, device const {TYPE}* p, uint i [[thread_position_in_grid]]) {
    out[i] = p[i].x + p[i].y + p[i].z;
}"""
BOTH_WRITE = """kernel void k(device float* out, device const float* x, uint i [[thread_position_in_grid]]) {
    out[{AT}] = x[i];
}"""
SOFTMAX = """kernel void k(device float* out, device const float* x, uint i [[thread_position_in_grid]]) {
    float top = -INFINITY;
    for (uint j = 0; j < 8; j++) top = max(top, x[8 * i + j]);
    {GUARD}
    for (uint j = 0; j < 8; j++) out[8 * i + j] = exp(x[8 * i + j] - top);
}"""
LOCAL_BOTH = """kernel void k(device float* out, device const float* x, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[1];
    {STORE}
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = s[0];
}"""


def masked():
    x = floats(64)
    x[16:24] = -np.inf
    return [blank(64), x]


BACKWARDS = """kernel void k(device float* out, device const float* x, uint t [[thread_index_in_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float s[128];
    s[{INDEX}] = x[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = s[127 - t] + float(lane);
}"""
LAST = "threadgroup_barrier(mem_flags::mem_threadgroup); // seen by all"
COUNTED = """kernel void k(device float* out, device const float* x, device uint* n,
                     uint i [[thread_position_in_grid]]) {
    if (x[i] < 1000) {
        {COUNT}
        out[at] = 1;
    }
}"""
ADDED = """kernel void k(device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup uint s[1];
    if (t == 0) s[0] = 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    {ADD}
    threadgroup_barrier(mem_flags::mem_threadgroup); // seen by all
    out[t] = s[0];
}"""


CASES = (
    *pair(
        "no early return before a barrier",
        TILE.replace("{READ}", "x[i]"),
        TILE.replace("{READ}", "i < 100 ? x[i] : 0"),
        lambda: [blank(100), floats(100)],
        {"grid": 128, "threadgroup": 64},
        "M101",
        "a barrier follows",
    ),
    *pair(
        "float3 over packed data",
        POINTS.replace("{TYPE}", "float3"),
        POINTS.replace("{TYPE}", "packed_float3"),
        lambda: [blank(32), floats(96)],
        {"grid": 32},
        "M101",
        "packed_float3",
    ),
    *pair(
        "no barrier for two that write one place",
        BOTH_WRITE.replace("{AT}", "i / 2"),
        BOTH_WRITE.replace("{AT}", "i"),
        lambda: [blank(64), floats(64)],
        {"grid": 64, "threadgroup": 64},
        "M202",
        "no barrier helps",
    ),
    *pair(
        "no barrier for two that write one place of a threadgroup",
        LOCAL_BOTH.replace("{STORE}", "s[0] = x[t];"),
        LOCAL_BOTH.replace("{STORE}", "if (t == 0) s[0] = x[t];"),
        lambda: [blank(64), floats(64)],
        {"grid": 64, "threadgroup": 64},
        "M201",
        "no barrier helps",
    ),
    *pair(
        "a row of a softmax that is masked altogether",
        SOFTMAX.replace("{GUARD}", ""),
        SOFTMAX.replace("{GUARD}", "if (top < -1e30f) top = 0;"),
        masked,
        {"grid": 8},
        "M401",
        "masked",
        math="safe",
    ),
    *pair(
        "no barrier for many that count in one place",
        COUNTED.replace("{COUNT}", "uint at = n[0]; n[0] = at + 1;"),
        COUNTED.replace(
            "{COUNT}",
            "uint at = atomic_fetch_add_explicit((device atomic_uint*)n, 1u, memory_order_relaxed);",
        ),
        lambda: [blank(64), floats(64), np.zeros(1, np.uint32)],
        {"grid": 64, "threadgroup": 64},
        "M202",
        "no barrier helps; use one atomic",
    ),
    *pair(
        "no barrier for many that count in one place of a threadgroup",
        ADDED.replace("{ADD}", "uint at = s[0]; s[0] = at + 1;"),
        ADDED.replace("{ADD}", "if (t == 0) { uint at = s[0]; s[0] = at + 1; }"),
        lambda: [blank(64)],
        {"grid": 64, "threadgroup": 64},
        "M201",
        "no barrier helps; use one atomic",
    ),
    Case(
        "a barrier where one thread changes what the others read",
        ADDED.replace("{ADD}", "if (t == 0) { uint at = s[0]; s[0] = at + 1; }").replace(LAST, ""),
        lambda: [blank(64)],
        {"grid": 64, "threadgroup": 64},
        "M201",
        "put threadgroup_barrier",
    ),
    *pair(
        "the lane's index where that in the threadgroup was meant",
        BACKWARDS.replace("{INDEX}", "lane"),
        BACKWARDS.replace("{INDEX}", "t"),
        lambda: [blank(128), floats(128)],
        {"grid": 128, "threadgroup": 128},
        "M201",
        "thread_index_in_threadgroup is another one for each thread",
    ),
)
