"""Mistakes in torch's call form, first part: sorting, routing, sampling, quantised rows, outputs, bindings."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from tests.checker.second_round.case import floats, ints
from tests.checker.second_round.spoken import Row, told, torch_form

WAIT = "threadgroup_barrier(mem_flags::mem_threadgroup);"
ANY_NAN = """kernel void any_nan(device const float* x, device int* flag, uint tid [[thread_position_in_grid]],
                    uint lid [[thread_position_in_threadgroup]]) {
    threadgroup atomic_int found;
    if (lid == 0) atomic_store_explicit(&found, 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (isnan(x[tid])) atomic_store_explicit(&found, 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid == 0{X}) flag[0] = atomic_load_explicit(&found, memory_order_relaxed);
}"""
EXPERT_COUNT = """kernel void expert_count(device const long* topk, device {X}* counts, constant long& n,
                         uint tid [[thread_position_in_grid]]) {
    if (tid >= n) return;
    {Y}
}"""
LOOK_BACK = """kernel void scan_blocks(device const float* x, device float* out, device atomic_uint* state,
                        uint lid [[thread_position_in_threadgroup]], uint block [[threadgroup_position_in_grid]]) {
    float prefix = simd_prefix_inclusive_sum(x[block * 32 + lid]);
    out[block * 32 + lid] = prefix;
    {X}
    if (lid == 31) atomic_fetch_add_explicit(state, 1, memory_order_relaxed);
}"""
TOP_K = """kernel void top4(device const float* logits, device float* best, constant long& vocab,
                  uint row [[thread_position_in_grid]]) {
    float top[4] = {-1e9, -1e9, -1e9, -1e9};
    for (int j = 0; j < vocab; ++j) {
        float v = logits[row * vocab + j];
        int at = {X};
        while (at > 0 && top[at - 1] < v) {
            top[at] = top[at - 1];
            --at;
        }
        if (at < 4) top[at] = v;
    }
    for (int k = 0; k < 4; ++k) best[row * 4 + k] = top[k];
}"""
ARGMAX = """kernel void argmax_rows(device const float* scores, device long* index, constant long& cols,
                        uint row [[thread_position_in_grid]]) {
    float best = 0.0f;
    int where_[1];
    {X}
    for (int c = 0; c < cols; ++c) {
        float s = scores[row * cols + c];
        if (s > best) {
            best = s;
            where_[0] = c;
        }
    }
    index[row] = where_[0];
}"""
GUARD_ROWS = """kernel void gelu_rows(device const float* x, device float* y, constant long& rows, constant long& cols,
                      uint tid [[thread_position_in_grid]]) {
    if (tid < {X}) {
        float v = x[tid];
        y[tid] = 0.5f * v * (1.0f + tanh(0.79788456f * (v + 0.044715f * v * v * v)));
    }
}"""
SCALE_ROWS = """kernel void scale_rows(device const float* scale, device const float* x, device float* y,
                       uint tid [[thread_position_in_grid]]) {
    y[tid] = scale[tid % 16] * x[tid];
}"""
COPY_ = """kernel void normalize(device const float* input, device float* output,
                      uint tid [[thread_position_in_grid]]) {
    output[tid] = input[tid] / 255.0f;
}"""
LOCAL_ID = """kernel void relu(device float* y, device const float* x, uint id [[{X}]]) {
    y[id] = max(x[id], 0.0f);
}"""
PLANES = """kernel void brighten(device const float* image, device float* out, constant float& gain,
                     uint3 p [[thread_position_in_grid]], uint3 size [[threads_per_grid]]) {
    uint at = (p.z * 12 + p.y) * 20 + p.x;
    out[at] = gain * image[at];
}"""
EQUALISE = """kernel void hist(device const uchar* pixels, device atomic_int* bins, constant long& n,
                  uint tid [[thread_position_in_grid]]) {
    if (tid >= n) return;
    device atomic_int* bin = bins + pixels[tid] / 32;
    {X}
}"""
AMAX = """kernel void amax(device const float* x, device atomic_uint* top, uint tid [[thread_position_in_grid]]) {
    uint mine = as_type<uint>(fabs(x[tid]));
    uint seen = atomic_load_explicit(top, memory_order_relaxed);
    {X} (mine > seen{Y}
        atomic_compare_exchange_weak_explicit(top, &seen, mine, memory_order_relaxed, memory_order_relaxed){Z}
}"""
COUNTED = """kernel void compact(device const float* x, device float* kept, device atomic_uint* count,
                    device uint* total, uint tid [[thread_position_in_grid]], uint n [[threads_per_grid]]) {
    if (x[tid] > 18.0f) kept[atomic_fetch_add_explicit(count, 1u, memory_order_relaxed)] = x[tid];
    {X}
}"""
BITONIC = """kernel void bitonic(device float* keys, uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[tid] = keys[tid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 32; k <= 64; k <<= 1)
        for (uint j = k >> 1; j > 0; j >>= 1) {
            uint other = tid ^ j;
            if (other > tid) {
                bool up = (tid & k) == 0;
                float a = s[tid], b = s[other];
                if ((a > b) == up) {
                    s[tid] = b;
                    s[other] = a;
                }
            }
            {X}
        }
    keys[tid] = s[tid];
}"""
EARLY = """kernel void row_max(device const float* x, device float* out, constant long& n,
                    uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    {X}
    s[tid] = tid < n ? x[tid] : -1e30f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint h = 32; h > 0; h >>= 1) {
        if (tid < h) s[tid] = max(s[tid], s[tid + h]);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (tid == 0) out[0] = s[0];
}"""


def arrays(n: int, m: int, *more: int):
    return lambda: [floats(n), np.zeros(m, np.float32), *more]


def scores() -> np.ndarray:
    x = floats(8 * 6).reshape(8, 6)
    x[5] = -x[5]
    return x.reshape(-1)


ATOMIC_ADD = "atomic_fetch_add_explicit({}, 1, memory_order_relaxed);"
ROWS = (
    Row(
        "every block stores whether it found a NaN",
        ANY_NAN,
        "M203",
        lambda: [np.where(np.arange(128) == 40, np.nan, 1).astype(np.float32), np.zeros(1, np.int32)],
        {"threads": 128, "group_size": 32},
        "",
        " && atomic_load_explicit(&found, memory_order_relaxed)",
    ),
    Row(
        "tokens of an expert counted without atomics",
        EXPERT_COUNT,
        "M202",
        lambda: [ints(96, np.int64) % 4, np.zeros(4, np.int32), 96],
        {"threads": 96, "group_size": 32},
        ("int", "counts[topk[tid]] += 1;"),
        ("atomic_int", ATOMIC_ADD.format("&counts[topk[tid]]")),
        "'counts'",
    ),
    Row(
        "a scan that waits for the block before it",
        LOOK_BACK,
        "M209",
        lambda: [floats(128), np.zeros(128, np.float32), np.zeros(1, np.int32)],
        {"threads": 128, "group_size": 32},
        "while (atomic_load_explicit(state, memory_order_relaxed) < 4 - block) {}",
        "",
        seconds=1,
    ),
    Row(
        "insertion into the best four from behind them",
        TOP_K,
        "M109",
        lambda: [floats(8 * 16), np.zeros((8, 4), np.float32), 16],
        {"threads": 8},
        "5 - 1",
        "3 + (top[3] >= v)",
        "'top'",
    ),
    Row(
        "the place of a maximum that no score reaches",
        ARGMAX,
        "M110",
        lambda: [scores(), np.zeros(8, np.int64), 6],
        {"threads": 8},
        "",
        "where_[0] = 0;",
    ),
    Row(
        "a guard with the rows instead of all elements",
        GUARD_ROWS,
        "M106",
        lambda: [floats(12 * 20), np.zeros((12, 20), np.float32), 12, 20],
        {"threads": 240},
        "rows",
        "rows * cols",
        "'y'",
    ),
    Row(
        "as many threads as the first tensor has elements",
        SCALE_ROWS,
        "M305",
        lambda: [floats(16), floats(160), np.zeros(160, np.float32)],
        {},
        sizes_right={"threads": 160},
    ),
    Row(
        "output and input in each other's place",
        COPY_,
        "M310",
        lambda: [np.zeros(64, np.float32), floats(64)],
        {"threads": 64},
        arguments_right=lambda: [floats(64), np.zeros(64, np.float32)],
        says="'output'",
    ),
    Row(
        "a position that begins anew in every group",
        LOCAL_ID,
        "M106",
        lambda: [np.zeros(128, np.float32), floats(128)],
        {"threads": 128, "group_size": 32},
        "thread_position_in_threadgroup",
        "thread_position_in_grid",
        "begins at 0 in every threadgroup",
    ),
    Row(
        "colours that the threads lack",
        PLANES,
        "M305",
        lambda: [floats(3 * 12 * 20), np.zeros((3, 12, 20), np.float32), 1.5],
        {"threads": (20, 12)},
        says="third axis",
        sizes_right={"threads": (20, 12, 3)},
    ),
    Row(
        "a bin that is read and stored",
        EQUALISE,
        "M210",
        lambda: [ints(96, np.uint8), np.zeros(8, np.int32), 96],
        {"threads": 96, "group_size": 32},
        "atomic_store_explicit(bin, atomic_load_explicit(bin, memory_order_relaxed) + 1, memory_order_relaxed);",
        ATOMIC_ADD.format("bin"),
    ),
    Row(
        "a largest value that one try may lose",
        AMAX,
        "M210",
        lambda: [floats(96), np.zeros(1, np.int32)],
        {"threads": 96, "group_size": 32},
        ("if", ")", ";"),
        ("while", " && !", ") {}"),
    ),
    Row(
        "a count that is read while others add",
        COUNTED,
        "M202",
        lambda: [floats(96), np.zeros(96, np.float32), np.zeros(1, np.int32), np.zeros(1, np.int32)],
        {"threads": 96, "group_size": 32},
        "if (tid == n - 1) total[0] = *(device uint*)count;",
        "if (tid == n - 1) total[0] = n;",
        "'count'",
    ),
    Row(
        "a sorting network without a barrier between steps",
        BITONIC,
        "M201",
        lambda: [floats(64)],
        {"threads": 64, "group_size": 64},
        "",
        WAIT,
        "'s'",
    ),
    Row(
        "threads past the row that leave before the barrier",
        EARLY,
        "M204",
        lambda: [floats(50), np.zeros(1, np.float32), 50],
        {"threads": 64, "group_size": 64},
        "if (tid >= n) return;",
        "",
    ),
)
CASES = tuple(told(ROWS, torch_form, "torch")) if find_spec("torch") else ()
