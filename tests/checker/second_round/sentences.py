"""What is advised, sentence by sentence: the barrier that is there, who left out what, where a NaN comes from."""

from __future__ import annotations

import numpy as np

from tests.checker.second_round.case import blank, floats, pair

MIRROR = """kernel void k(device const float* x, device float* out, uint i [[thread_position_in_grid]],
                     uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[t] = x[i];
    {BARRIER}(mem_flags::mem_threadgroup);
    out[i] = s[63 - t];
}"""
NEIGHBOUR = """kernel void k(device const float* x, device float* y, device float* out,
                     uint i [[thread_position_in_grid]]) {
    y[i] = 2 * x[i];
    threadgroup_barrier(mem_flags::mem_device);
    out[i] = {READ};
}"""
LAST = """kernel void k(device const float* x, device float* parts, device atomic_uint* done, device float* out,
                     uint g [[threadgroup_position_in_grid]], uint n [[threadgroups_per_grid]],
                     uint t [[thread_index_in_threadgroup]], uint i [[thread_position_in_grid]]) {
    float sum = simd_sum(x[i]);
    if (t == 0) {
        parts[g] = sum;
        {FENCE}
        uint before = atomic_fetch_add_explicit(done, 1, memory_order_relaxed);
        if (before == n - 1) {
            {FENCE}
            float all = 0;
            for (uint k = 0; k < n; k++) all += parts[k];
            out[0] = all;
        }
    }
}"""
FENCE = "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);"
BRANCH = """kernel void k(device const float* x, device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[64];
    s[t] = x[t];
    {OPEN}
        threadgroup_barrier(mem_flags::mem_threadgroup);
    {CLOSE}
    out[t] = s[t] + 1;
}"""
ADDED = """kernel void k(device const float* x, device atomic_float* out, uint i [[thread_position_in_grid]],
                     uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    float sum = simd_sum(x[i]);
    if ({WHO} == 0) atomic_fetch_add_explicit(out, sum, memory_order_relaxed);
}"""
SOFTMAX = """kernel void k(device const float* x, device float* out, uint row [[threadgroup_position_in_grid]],
                     uint t [[thread_index_in_threadgroup]]) {
    float v = x[row * 32 + t];
    float top = simd_max(v);
    {GUARD}
    float e = exp(v - top);
    float sum = simd_sum(e);
    out[row * 32 + t] = e / max(sum, 1e-20f);
}"""
SQUARE = """kernel void k(device const float* x, device float* out, constant uint& rows,
                     uint2 p [[thread_position_in_grid]]) {
    if (p.y < rows {LESS}) out[p.y * 16 + p.x] = x[p.y * 16 + p.x];
}"""
STRICT = """kernel void k(device const float* x, device float* out, uint i [[thread_position_in_grid]]) {
    if (i {MORE} < 64) out[i] = x[i];
}"""
UNALIGNED = """kernel void k(device const float* x, device float* out, uint i [[thread_position_in_grid]]) {
    *(device {TYPE}*)(out + 3 * i) = float3(x[3 * i], x[3 * i + 1], x[3 * i + 2]);
}"""
ONE = {"grid": 64, "threadgroup": 64}


def masked():
    x = floats(128)
    x[32:64] = -np.inf
    return [x, np.zeros(128, np.float32)]


CASES = (
    *pair(
        "a barrier of the SIMD-group between two of them",
        MIRROR.replace("{BARRIER}", "simdgroup_barrier"),
        MIRROR.replace("{BARRIER}", "threadgroup_barrier"),
        lambda: [floats(64), np.zeros(64, np.float32)],
        ONE,
        "M201",
        "the simdgroup_barrier in line 7 orders lanes of one SIMD-group",
    ),
    *pair(
        "a barrier of the threadgroup between two of them",
        NEIGHBOUR.replace("{READ}", "y[127 - i]"),
        NEIGHBOUR.replace("{READ}", "y[i ^ 1]"),
        lambda: [floats(128), np.zeros(128, np.float32), np.zeros(128, np.float32)],
        {"grid": 128, "threadgroup": 32},
        "M203",
        "the threadgroup_barrier in line 6 waits for its own threadgroup only",
    ),
    *pair(
        "an atomic that counts threadgroups, without fences",
        LAST.replace("{FENCE}", ""),
        LAST.replace("{FENCE}", FENCE),
        lambda: [floats(128), blank(4), np.zeros(1, np.uint32), np.zeros(1, np.float32)],
        {"grid": 128, "threadgroup": 32},
        "M203",
        "atomic_thread_fence(",
    ),
    *pair(
        "a barrier in a branch",
        BRANCH.replace("{OPEN}", "if (t < 32) {").replace("{CLOSE}", "}"),
        BRANCH.replace("{OPEN}", "").replace("{CLOSE}", ""),
        lambda: [floats(64), np.zeros(64, np.float32)],
        ONE,
        "M204",
        "move the barrier out of the branch in line 6",
    ),
    *pair(
        "a barrier in rounds of different number",
        BRANCH.replace("{OPEN}", "for (uint k = 0; k < t / 32 + 1; k++) {").replace("{CLOSE}", "}"),
        BRANCH.replace("{OPEN}", "for (uint k = 0; k < 2; k++) {").replace("{CLOSE}", "}"),
        lambda: [floats(64), np.zeros(64, np.float32)],
        ONE,
        "M204",
        "the loop in line 6 has not as many rounds in all threads",
    ),
    *pair(
        "one SIMD-group of two adds its sum",
        ADDED.replace("{WHO}", "t"),
        ADDED.replace("{WHO}", "lane"),
        lambda: [floats(128), np.zeros(1, np.float32)],
        {"grid": 128, "threadgroup": 64},
        "M208",
        "let the first lane of every SIMD-group add its own",
    ),
    *pair(
        "a row that is masked altogether, in lanes",
        SOFTMAX.replace("{GUARD}", ""),
        SOFTMAX.replace("{GUARD}", "if (isinf(top)) top = 0;"),
        masked,
        {"grid": 128, "threadgroup": 32},
        "M401",
        "-infinity - -infinity",
        math="safe",
    ),
    *pair(
        "a condition that is one too strict",
        STRICT.replace("{MORE}", "+ 1"),
        STRICT.replace("{MORE}", ""),
        lambda: [floats(64), np.zeros(64, np.float32)],
        {"grid": 64},
        "M106",
        "the condition in line 4 turns",
    ),
    *pair(
        "a condition that leaves the last row out",
        SQUARE.replace("{LESS}", "- 1"),
        SQUARE.replace("{LESS}", ""),
        lambda: [floats(256), np.zeros((16, 16), np.float32), 16],
        {"grid": (16, 16)},
        "M106",
        "turns their threads away",
    ),
    *pair(
        "a float3 stored every 12 bytes",
        UNALIGNED.replace("{TYPE}", "float3"),
        UNALIGNED.replace("{TYPE}", "packed_float3"),
        lambda: [floats(96), np.zeros(100, np.float32)],
        {"grid": 32},
        "M103",
        "write the elements one by one, or through a packed_",
    ),
)
