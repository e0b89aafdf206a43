"""M201 to M208: kernels whose threads are out of step."""

from __future__ import annotations

import numpy as np

from tests.checker.triplet import Triplet, blank, floats

BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"

TILED = """
kernel void matmul(device const float* a, device const float* b, device float* out, constant uint& n,
                   uint2 p [[thread_position_in_grid]], uint2 l [[thread_position_in_threadgroup]]) {
    threadgroup float as[8][8], bs[8][8];
    float sum = 0;
    for (uint k0 = 0; k0 < n; k0 += 8) {
        as[l.y][l.x] = a[p.y * n + k0 + l.x];
        bs[l.y][l.x] = b[(k0 + l.y) * n + p.x];
        {FIRST}
        for (uint k = 0; k < 8; k++) {
            sum += as[l.y][k] * bs[k][l.x];
        }
        {SECOND}
    }
    out[p.y * n + p.x] = sum;
}
"""
# As in mlx-lm 0.32.2, tuner/losses.py: the maxima are still read when the sums are put in their place.
TWO_STAGES = """
kernel void softmax_parts(device float* out, device const float* x, uint i [[thread_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup float shared[2];
    float v = x[i];
    float top = simd_max(v);
    if (lane == 0) { shared[sg] = top; }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    top = max(shared[0], shared[1]);
    {BARRIER}
    float sum = simd_sum(exp(v - top));
    if (lane == 0) { shared[sg] = sum; }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = exp(v - top) / (shared[0] + shared[1]);
}
"""
ANY_NUMBER = """
kernel void first(device float* out, device const float* x, uint i [[thread_position_in_grid]],
                  uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                  uint count [[simdgroups_per_threadgroup]]) {
    threadgroup uint shared[32];
    uint at = simd_min(x[i] > 5 ? i : 1000u);
    if (count > 1) {
        if (lane == 0) { shared[sg] = at; }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        at = simd_min(lane < count ? shared[lane] : 1000u);
    }
    if (i == 0) { out[0] = float(at); }
}
"""
COUNT = """
kernel void count(device {TYPE}* bins, device const uint* keys, uint i [[thread_position_in_grid]]) {
    {ADD};
}
"""
PING = """
kernel void ping(device float* x, device float* out, uint i [[thread_position_in_grid]]) {
    x[i] = i;
    {BARRIER}
    out[i] = x[i ^ 32];
}
"""
LAST_GROUP = """
kernel void total(device const float* x, device float* parts, device atomic_uint* done, device float* out,
                  uint g [[threadgroup_position_in_grid]], uint n [[threadgroups_per_grid]],
                  uint lid [[thread_position_in_threadgroup]], uint i [[thread_position_in_grid]]) {
    float sum = simd_sum(x[i]);
    if (lid == 0) {
        parts[g] = sum;
        {FENCE}
        uint before = atomic_fetch_add_explicit(done, 1, memory_order_relaxed);
        if (before == n - 1) {
            {FENCE}
            float all = 0;
            for (uint k = 0; k < n; k++) { all += parts[k]; }
            out[0] = all;
        }
    }
}
"""
FENCE = "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);"
IN_LOOP = """
kernel void rounds(device float* out, device const int* turns, uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[lid] = lid;
    for (int k = 0; k < {TURNS}; k++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        s[lid] += 1;
    }
    out[lid] = s[lid];
}
"""
BRANCH = """
kernel void branch(device float* out, uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float s[64];
    s[lid] = lid;
    if (lid < 32) {
        {INSIDE}
    }
    {OUTSIDE}
    out[lid] = s[63 - lid];
}
"""
FLAGS = """
kernel void through(device float* x, device float* out, uint i [[thread_position_in_grid]]) {
    threadgroup float s[64];
    s[i] = i;
    x[i] = i;
    threadgroup_barrier({FLAGS});
    out[i] = s[63 - i] + x[63 - i];
}
"""
SIMD_FLAGS = """
kernel void lanes(device float* out, device const float* x, uint i [[thread_position_in_grid]]) {
    threadgroup float s[32];
    s[i] = x[i];
    {BARRIER}
    out[i] = s[31 - i];
}
"""
SCAN = """
kernel void scan(device float* out, device const float* x, uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float s[32];
    s[lid] = x[lid];
    {BARRIER}
    for (uint d = 1; d < 32; d *= 2) {
        float v = lid >= d ? s[lid - d] : 0.0f;
        {BARRIER}
        s[lid] += v;
        {BARRIER}
    }
    out[lid] = s[lid];
}
"""
SHUFFLE_TREE = """
kernel void tree(device float* out, device const float* x, uint i [[thread_position_in_grid]]) {
    float v = x[i];
    for (ushort d = 16; d > 0; d /= 2) {
        v += simd_shuffle_down(v, d);
    }
    if (i == 0) { out[0] = v; }
}
"""
SHARED_TOTAL = """
kernel void norm(device float* out, device const float* x, uint i [[thread_position_in_grid]],
                 uint lid [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                 uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup float parts[32];
    threadgroup float total;
    float sum = simd_sum(x[i]);
    {STORE}
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = x[i] / total;
}
"""
WHOLE = """if (lane == 0) { parts[sg] = sum; }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0) {
        float part = lane < 2 ? parts[lane] : 0.0f;
        part = simd_sum(part);
        if (lane == 0) { total = part; }
    }"""
ATOMIC_PARTS = """
kernel void total(device atomic_float* out, device const float* x, uint i [[thread_position_in_grid]],
                  uint lid [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    float sum = simd_sum(x[i]);
    if ({WHO} == 0) {
        atomic_fetch_add_explicit(out, sum, memory_order_relaxed);
    }
}
"""


def matrices(n: int = 16) -> list[object]:
    return [floats(n * n), floats(n * n), blank(n * n), n]


def keys() -> np.ndarray:
    return (np.arange(128) % 5).astype(np.uint32)


def parts() -> list[object]:
    return [floats(128), blank(4), np.zeros(1, np.uint32), blank(1)]


def turns() -> np.ndarray:
    return (np.arange(64) // 32 + 1).astype(np.int32)


MATMUL = {"grid": (16, 16), "threadgroup": (8, 8)}
ONE = {"grid": 64, "threadgroup": 64}

TRIPLETS = (
    Triplet(
        "M201 no barrier after loading the tiles",
        TILED.replace("{FIRST}", "").replace("{SECOND}", BARRIER),
        matrices,
        MATMUL,
        (("M201", 8),),
    ),
    Triplet(
        "M201 no barrier before the next tiles",
        TILED.replace("{FIRST}", BARRIER).replace("{SECOND}", ""),
        matrices,
        MATMUL,
        (("M201", 8),),
    ),
    Triplet(
        "M201 twin: both barriers",
        TILED.replace("{FIRST}", BARRIER).replace("{SECOND}", BARRIER),
        matrices,
        MATMUL,
    ),
    Triplet(
        "M201 threadgroup memory used for two things",
        TWO_STAGES.replace("{BARRIER}", ""),
        lambda: [blank(64), floats(64)],
        ONE,
        (("M201", 12),),
    ),
    Triplet(
        "M201 twin: a barrier between the two things",
        TWO_STAGES.replace("{BARRIER}", BARRIER),
        lambda: [blank(64), floats(64)],
        ONE,
    ),
    Triplet(
        "M202 counting without atomics",
        COUNT.replace("{TYPE}", "uint").replace("{ADD}", "bins[keys[i]] += 1"),
        lambda: [np.zeros(5, np.uint32), keys()],
        {"grid": 128, "threadgroup": 128},
        (("M202", 3),),
    ),
    Triplet(
        "M202 twin: counting with atomics",
        COUNT.replace("{TYPE}", "atomic_uint").replace(
            "{ADD}", "atomic_fetch_add_explicit(&bins[keys[i]], 1, memory_order_relaxed)"
        ),
        lambda: [np.zeros(5, np.uint32), keys()],
        {"grid": 128, "threadgroup": 128},
    ),
    Triplet(
        "M202 twin: all say the same",
        COUNT.replace("{TYPE}", "uint").replace("{ADD}", "bins[keys[i]] = 1"),
        lambda: [np.zeros(5, np.uint32), keys()],
        {"grid": 128, "threadgroup": 128},
    ),
    Triplet(
        "M202 through device memory without a barrier",
        PING.replace("{BARRIER}", ""),
        lambda: [floats(64), blank(64)],
        ONE,
        (("M202", 3),),
    ),
    Triplet(
        "M202 twin: a barrier for device memory",
        PING.replace("{BARRIER}", "threadgroup_barrier(mem_flags::mem_device);"),
        lambda: [floats(64), blank(64)],
        ONE,
    ),
    Triplet(
        "M203 a barrier does not reach the next threadgroup",
        PING.replace("{BARRIER}", "threadgroup_barrier(mem_flags::mem_device);"),
        lambda: [floats(64), blank(64)],
        {"grid": 64, "threadgroup": 32},
        (("M203", 3),),
    ),
    Triplet(
        "M203 twin: one threadgroup",
        PING.replace("{BARRIER}", "threadgroup_barrier(mem_flags::mem_device);"),
        lambda: [floats(64), blank(64)],
        ONE,
    ),
    Triplet(
        "M203 the last threadgroup sums without a fence",
        LAST_GROUP.replace("{FENCE}", ""),
        parts,
        {"grid": 128, "threadgroup": 32},
        (("M203", 7),),
    ),
    Triplet(
        "M203 twin: fences on both sides",
        LAST_GROUP.replace("{FENCE}", FENCE),
        parts,
        {"grid": 128, "threadgroup": 32},
    ),
    Triplet(
        "M204 SIMD-groups leave the loop at different times",
        IN_LOOP.replace("{TURNS}", "turns[lid]"),
        lambda: [blank(64), turns()],
        ONE,
        (("M204", 6),),
    ),
    Triplet(
        "M204 twin: all go round as often",
        IN_LOOP.replace("{TURNS}", "turns[0]"),
        lambda: [blank(64), turns()],
        ONE,
    ),
    Triplet(
        "M204 a barrier in a branch",
        BRANCH.replace("{INSIDE}", BARRIER).replace("{OUTSIDE}", ""),
        lambda: [blank(64)],
        ONE,
        (("M204", 6),),
    ),
    Triplet(
        "M204 twin: the barrier after the branch",
        BRANCH.replace("{INSIDE}", "").replace("{OUTSIDE}", BARRIER),
        lambda: [blank(64)],
        ONE,
    ),
    Triplet(
        "M205 a barrier for device memory only",
        FLAGS.replace("{FLAGS}", "mem_flags::mem_device"),
        lambda: [blank(64), blank(64)],
        ONE,
        (("M205", 6),),
    ),
    Triplet(
        "M205 a barrier for threadgroup memory only",
        FLAGS.replace("{FLAGS}", "mem_flags::mem_threadgroup"),
        lambda: [blank(64), blank(64)],
        ONE,
        (("M205", 6),),
    ),
    Triplet(
        "M205 twin: a barrier for both",
        FLAGS.replace("{FLAGS}", "mem_flags::mem_device | mem_flags::mem_threadgroup"),
        lambda: [blank(64), blank(64)],
        ONE,
    ),
    Triplet(
        "M205 twin: a SIMD-group barrier with its flag",
        SIMD_FLAGS.replace("{BARRIER}", "simdgroup_barrier(mem_flags::mem_threadgroup);"),
        lambda: [blank(32), floats(32)],
        {"grid": 32, "threadgroup": 32},
    ),
    Triplet(
        "M206 a scan that trusts its lanes",
        SCAN.replace("{BARRIER}", ""),
        lambda: [blank(32), floats(32)],
        {"grid": 32, "threadgroup": 32},
        (("M206", 9),),
    ),
    Triplet(
        "M206 twin: SIMD-group barriers",
        SCAN.replace("{BARRIER}", "simdgroup_barrier(mem_flags::mem_threadgroup);"),
        lambda: [blank(32), floats(32)],
        {"grid": 32, "threadgroup": 32},
    ),
    Triplet(
        "M206 one lane reads what another has just written",
        SIMD_FLAGS.replace("{BARRIER}", ""),
        lambda: [blank(32), floats(32)],
        {"grid": 32, "threadgroup": 32},
        (("M206", 4),),
    ),
    Triplet(
        "M206 twin: threadgroup barriers",
        SCAN.replace("{BARRIER}", BARRIER),
        lambda: [blank(32), floats(32)],
        {"grid": 32, "threadgroup": 32},
    ),
    Triplet(
        "M207 half a SIMD-group",
        SHUFFLE_TREE,
        lambda: [blank(1), floats(20)],
        {"grid": 20, "threadgroup": 20},
        (("M207", 5),),
    ),
    Triplet(
        "M207 twin: a whole one",
        SHUFFLE_TREE,
        lambda: [blank(1), floats(32)],
        {"grid": 32, "threadgroup": 32},
    ),
    Triplet(
        "M207 twin: past the end a lane keeps its own",
        SHUFFLE_TREE.replace("v += simd_shuffle_down(v, d);", "v += simd_shuffle_down(v, ushort(i & 7));"),
        lambda: [blank(1), floats(32)],
        {"grid": 32, "threadgroup": 32},
    ),
    Triplet(
        "M207 broadcast from a lane that went elsewhere",
        SHUFFLE_TREE.replace("v += simd_shuffle_down(v, d);", "if (i > 3) { v += simd_broadcast(v, 0); }"),
        lambda: [blank(1), floats(32)],
        {"grid": 32, "threadgroup": 32},
        (("M207", 5),),
    ),
    Triplet(
        "M207 twin: broadcast before the branch",
        SHUFFLE_TREE.replace(
            "v += simd_shuffle_down(v, d);", "float f = simd_broadcast(v, 0); if (i > 3) { v += f; }"
        ),
        lambda: [blank(1), floats(32)],
        {"grid": 32, "threadgroup": 32},
    ),
    Triplet(
        "M208 one SIMD-group's sum as the threadgroup's",
        SHARED_TOTAL.replace("{STORE}", "if (lid == 0) { total = sum; }"),
        lambda: [blank(64), floats(64)],
        ONE,
        (("M208", 8),),
    ),
    Triplet(
        "M208 twin: the sums are summed",
        SHARED_TOTAL.replace("{STORE}", WHOLE),
        lambda: [blank(64), floats(64)],
        ONE,
    ),
    Triplet(
        "M208 twin: the sums are summed where there are several",
        ANY_NUMBER,
        lambda: [blank(1), floats(64)],
        ONE,
    ),
    Triplet(
        "M208 one SIMD-group adds its sum",
        ATOMIC_PARTS.replace("{WHO}", "lid"),
        lambda: [np.zeros(1, np.float32), floats(128)],
        {"grid": 128, "threadgroup": 64},
        (("M208", 6),),
    ),
    Triplet(
        "M208 twin: every SIMD-group adds its sum",
        ATOMIC_PARTS.replace("{WHO}", "lane"),
        lambda: [np.zeros(1, np.float32), floats(128)],
        {"grid": 128, "threadgroup": 64},
    ),
    Triplet(
        "M208 twin: the threadgroup is one SIMD-group",
        ATOMIC_PARTS.replace("{WHO}", "lid"),
        lambda: [np.zeros(1, np.float32), floats(128)],
        {"grid": 128, "threadgroup": 32},
    ),
)
