"""Kernels as their authors write them, of odd sizes: norms, scans, sorts, caches, queues; what such an author misread.

Each was written down without a look at the rules, with the mistake that its kind invites.
"""

from __future__ import annotations

import numpy as np

import metalloid as mt
from tests.checker.second_round.case import Case, floats, pair

RELAXED = "memory_order_relaxed"
FENCE = "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);"

NORM = """kernel void norm(device const float* x, device const float* w, device float* out, constant uint& dim,
                 uint row [[threadgroup_position_in_grid]], uint lane [[thread_position_in_threadgroup]]) {
    float sum = 0;
    for (uint i = lane; i < dim; i += 32) sum += x[row * dim + i] * x[row * dim + i];
    float scale = rsqrt(simd_sum(sum) / dim + 1e-5f);
    {LOOP} out[row * dim + i] = x[row * dim + i] * scale * w[i]; }
}"""
GELU = """kernel void gelu(device const float* x, device const float* bias, device float* y, constant uint2& shape,
                 uint2 g [[thread_position_in_grid]]) {
    if (g.x >= shape.x || g.y >= shape.y) return;
    float v = x[g.y * shape.x + g.x] + bias[g.x];
    y[g.y * shape.x + g.x] = v / (1 + exp(-1.702f * v));
}"""
COPY = """kernel void copy(device const float* x, device float* y, constant uint& rows, constant uint& cols,
                 uint2 g [[thread_position_in_grid]]) {
    if (g.x < cols && g.y < rows) y[g.y * cols + g.x] = 2 * x[g.y * cols + g.x];
}"""
LOWER = """kernel void lower(device const float* x, device float* y, constant uint& n,
                  uint2 g [[thread_position_in_grid]]) {
    if (g.x > g.y) return;
    y[g.y * n + g.x] = x[g.y * n + g.x];
}"""
BAND = """kernel void band(device const float* x, device float* y, constant int& n, constant int& width,
                 uint2 at [[thread_position_in_grid]]) {
    int2 g = int2(at);
    if (abs(g.x - g.y) > width) return;
    y[g.y * n + g.x] = x[g.y * n + g.x];
}"""
FOURS = """kernel void half_of(device const float4* x, device float4* y, constant uint& n,
                    uint i [[thread_position_in_grid]]) {
    if (i < n / 4) y[i] = x[i] * 0.5f;
    {REST}
}"""
REST = "if (i == 0) for (uint k = n / 4 * 4; k < n; k++) ((device float*)y)[k] = ((device const float*)x)[k] * 0.5f;"
LOOKBACK = """kernel void scan(device const uint* x, device uint* y, device atomic_uint* state, constant uint& n,
                 uint g [[threadgroup_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
    threadgroup uint before;
    uint i = g * 32 + t;
    uint here = simd_prefix_inclusive_sum(i < n ? x[i] : 0);
    uint all = simd_broadcast(here, 31);
    if (t == 0) {
        uint p = 0;
        {BEFORE}
        atomic_store_explicit(&state[g], p + all + 1, memory_order_relaxed);
        before = p;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < n) y[i] = before + here;
}"""
SPIN = """if (g > 0) {
            do { p = atomic_load_explicit(&state[g - 1], memory_order_relaxed); } while (p == 0);
            p -= 1;
        }"""
AGAIN = "for (uint k = 0; k < g * 32; k++) p += x[k];"
TOTAL = (
    """kernel void total(device const float* x, device float* part, device atomic_uint* done, device float* out,
                  uint g [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]],
                  uint lane [[thread_index_in_simdgroup]]) {
    float s = simd_sum(x[g * 32 + lane]);
    if (lane != 0) return;
    part[g] = s;
    FENCE
    uint before = atomic_fetch_add_explicit(done, 1, memory_order_relaxed);
    if (LAST) return;
    WAIT
    FENCE
    float sum = 0;
    for (uint k = 0; k < groups; k++) sum += part[k];
    out[0] = sum;
}"""
).replace("FENCE", FENCE)
WAITING = TOTAL.replace("LAST", "g != groups - 1").replace(
    "WAIT", f"while (atomic_load_explicit(done, {RELAXED}) < groups) {{}}"
)
LAST = TOTAL.replace("LAST", "before != groups - 1").replace("WAIT", "")
ROOTS = f"""kernel void roots(device atomic_uint* parent, device uint* root, uint i [[thread_position_in_grid]]) {{
    uint p = i, q;
    while ((q = atomic_load_explicit(&parent[p], {RELAXED})) != p) p = q;
    atomic_store_explicit(&parent[i], p, {RELAXED});
    root[i] = p;
}}"""
NARROW = """kernel void total(device const uchar* x, device uint* y, constant uint& n,
                  uint t [[thread_position_in_grid]]) {
    uint s = 0;
    for ({TYPE} i = t; i < n; i += 64) s += x[i];
    y[t] = s;
}"""
STRUCT = """struct Args { device const float* x; device float* y; uint n; };
kernel void swish(constant Args& a, uint i [[thread_position_in_grid]]) {
    if (i < a.n{PART}) a.y[i] = a.x[i] / (1 + exp(-a.x[i]));
}"""
HEADS = """struct Head { device const float* q; device float* sum; };
kernel void add_up(device const Head* heads, uint2 g [[thread_position_in_grid]]) {
    {ADD}
}"""


def zeros(*shape):
    return np.zeros(shape, np.float32)


def members(n):
    device = mt.device()
    return [{"x": device.buffer(floats(n)), "y": device.buffer(np.zeros(n, np.float32)), "n": n}]


def heads(kernel):
    """Three heads, each with its own pointers."""
    device, encoder = mt.device(), kernel.argument_encoder(0)
    queries = [device.buffer(floats(16)) for _ in range(3)]
    sums = [device.zeros(1) for _ in range(3)]
    table = device.zeros(3 * encoder.encoded_length, "uint8")
    for n in range(3):
        encoder.set_argument_buffer(table, element=n)
        encoder.set_buffer(queries[n], index=0)
        encoder.set_buffer(sums[n], index=1)
    commands = device.queue().command_buffer()
    with commands.compute_encoder() as work:
        work.set_pipeline(kernel)
        work.set_buffer(table, offset=0, index=0)
        for buffer in queries + sums:
            work.use_resource(buffer)
        work.dispatch_threads((16, 3), (16, 1))
    commands.commit()
    commands.wait_until_completed()


def both(text, mark, wrong, right):
    return text.replace(mark, wrong), text.replace(mark, right)


ADDED = "float s = simd_sum(heads[g.y].q[g.x]); if (g.x == 0) heads[g.y].sum[0] = s;"
SIDE = {"threadgroups": 5, "threadgroup": 32}
CASES = (
    *pair(
        "the end of every row of a norm",
        NORM.replace("{LOOP}", "for (uint k = 0; k < dim / 32; k++) { uint i = k * 32 + lane;"),
        NORM.replace("{LOOP}", "for (uint i = lane; i < dim; i += 32) {"),
        lambda: [floats(7 * 100), floats(100), zeros(7, 100), 100],
        {"threadgroups": 7, "threadgroup": 32},
        "M106",
        "every row of 100 ends with 4 that nobody writes: the loop makes whole rounds of 32 only",
    ),
    Case(
        "a grid whose axes changed places",
        GELU,
        lambda: [floats(9 * 30), floats(30), zeros(9, 30), (30, 9)],
        {"grid": (9, 30)},
        "M106",
        "have changed places",
    ),
    Case(
        "a grid whose axes are in place",
        GELU,
        lambda: [floats(9 * 30), floats(30), zeros(9, 30), (30, 9)],
        {"grid": (30, 9)},
    ),
    Case(
        "rows and columns that changed places",
        COPY,
        lambda: [floats(6 * 25), zeros(6, 25), 25, 6],
        {"grid": (25, 6)},
        "M106",
        "stops at 6 along both axes",
    ),
    Case(
        "rows and columns in place",
        COPY,
        lambda: [floats(6 * 25), zeros(6, 25), 6, 25],
        {"grid": (25, 6)},
    ),
    Case("the lower half of a square", LOWER, lambda: [floats(144), zeros(12, 12), 12], {"grid": (12, 12)}),
    Case("a band of a square", BAND, lambda: [floats(144), zeros(12, 12), 12, 2], {"grid": (12, 12)}),
    *pair(
        "what fills no whole float4",
        *both(FOURS, "{REST}", "", REST),
        lambda: [floats(103), zeros(103), 103],
        {"grid": 26},
        "M106",
        "3 of 103 elements",
    ),
    *pair(
        "a scan that looks back until an earlier threadgroup is done",
        *both(LOOKBACK, "{BEFORE}", SPIN, AGAIN),
        lambda: [np.ones(150, np.uint32), np.zeros(150, np.uint32), np.zeros(5, np.uint32), 150],
        SIDE,
        "M209",
        "waits until 'state' changes",
    ),
    *pair(
        "the last threadgroup waits for all others",
        WAITING,
        LAST,
        lambda: [floats(160), zeros(5), np.zeros(1, np.uint32), zeros(1)],
        SIDE,
        "M209",
        "waits until 'done' changes",
    ),
    Case(
        "following parents to their root",
        ROOTS,
        lambda: [
            np.maximum(np.arange(60) - 1 - np.arange(60) % 3, 0).astype(np.uint32),
            np.zeros(60, np.uint32),
        ],
        {"grid": 60},
    ),
    *pair(
        "a counter of 8 bits that never comes to the end",
        *both(NARROW, "{TYPE}", "uchar", "uint"),
        lambda: [np.ones(300, np.uint8), np.zeros(64, np.uint32), 300],
        {"grid": 64, "timeout": 1},
        "M209",
        "this loop has not come to an end",
    ),
    *pair(
        "half of an output behind a pointer",
        *both(STRUCT, "{PART}", " / 2", ""),
        lambda: members(90),
        {"grid": 90},
        "M106",
        "45 of 90 elements of 'a.y'",
    ),
    Case(
        "a sum behind a pointer",
        HEADS.replace("{ADD}", "heads[g.y].sum[0] += heads[g.y].q[g.x];"),
        find="M202",
        says="(device atomic_float*)&heads[g.y].sum[0]",
        call=heads,
    ),
    Case("a sum behind a pointer, mended", HEADS.replace("{ADD}", ADDED), call=heads),
)
