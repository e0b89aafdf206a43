"""M101 to M108, M305: kernels that touch memory they should not, or not all that they should."""

from __future__ import annotations

import numpy as np

import metalloid as mt
from tests.checker.triplet import Triplet, blank, floats


def shifted(count: int) -> np.ndarray:
    """Floats that start 4 bytes past a multiple of 16."""
    room = np.zeros(count + 8, np.float32)
    start = (-room.ctypes.data % 16) // 4
    room[:] = 1
    return room[start + 1 : start + 1 + count]


STENCIL = """
kernel void stencil(device float* out, device const float* x, constant uint& width,
                    uint2 p [[thread_position_in_grid]]) {
    uint at = p.y * width + p.x;
    float left = {LEFT};
    out[at] = left + x[at];
}
"""
COPY = """
kernel void copy(device float* out, device const float* x, uint i [[thread_position_in_grid]]) {
    out[i] = x[i];
}
"""
TILE = """
kernel void tile(device float* out, device const float* x, uint i [[thread_position_in_grid]],
                 uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float s[{ROOM}];
    s[lid] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = s[lid ^ 1];
}
"""
PAIRS = """
kernel void pairs(device float* out, device const float2* x, uint i [[thread_position_in_grid]]) {
    float2 v = x[i];
    out[i] = v.x * v.y;
}
"""
ACCUMULATE = """
kernel void histogram(device float* out, device const float* x, uint lid [[thread_position_in_threadgroup]]) {
    threadgroup atomic_uint bins[8];
    {CLEAR}
    atomic_fetch_add_explicit(&bins[uint(x[lid]) % 8], 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lid < 8) {
        out[lid] = atomic_load_explicit(&bins[lid], memory_order_relaxed);
    }
}
"""
LAST_TILE = """
kernel void last(device float* out, device const float* x, constant uint& n,
                 uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float s[32];
    {LOAD}
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0;
    for (uint k = 0; k < 32; k++) {
        sum += s[k];
    }
    out[lid] = sum;
}
"""
ATOMIC_SUM = """
kernel void total(device atomic_float* out, device const float* x, uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(out, x[i], memory_order_relaxed);
}
"""
RUNNING = """
kernel void running(device float* out, device const float* x, uint i [[thread_position_in_grid]]) {
    for (uint k = 0; k < 4; k++) {
        out[i] = {OLD} + x[4 * i + k];
    }
}
"""
ODD = """
kernel void odd(device float* out, device const float* x, uint i [[thread_position_in_grid]]) {
    if (i % 2 == 1) {
        out[i] = x[i];
    }
}
"""
SCALE_INPUT = """
kernel void scale(device float* out, {CONST} float* x, uint i [[thread_position_in_grid]]) {
    ((device float*)x)[i] *= 2;
    out[i] = x[i] + 1;
}
"""
FLAGGED = """
kernel void flagged(device float* out, constant int* seen, uint i [[thread_position_in_grid]]) {
    out[i] = seen[i];
    {MARK}
}
"""
LOCAL_ARGUMENT = """
kernel void swap(device float* out, device const float* x, threadgroup float* s [[threadgroup(1)]],
                 uint lid [[thread_position_in_threadgroup]]) {
    s[lid] = x[lid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = s[lid ^ 1];
}
"""
TWO_ARGUMENTS = """
kernel void two(device float* out, threadgroup float* a [[threadgroup(0)]], threadgroup float* b [[threadgroup(1)]],
                uint lid [[thread_position_in_threadgroup]]) {
    a[lid] = lid;
    b[lid] = 2 * lid;
    out[lid] = a[lid] + b[lid];
}
"""
REDUCE = """
kernel void total(device atomic_float* out, device const float* x, {N} uint i [[thread_position_in_grid]],
                  uint threads [[threads_per_grid]]) {
    {BODY}
}
"""
ONE_EACH = "atomic_fetch_add_explicit(out, x[i], memory_order_relaxed);"
LOOPED = """float sum = 0;
    for (uint k = i; k < n; k += threads) { sum += x[k]; }
    atomic_fetch_add_explicit(out, sum, memory_order_relaxed);"""


def zeros(count: int) -> np.ndarray:
    return np.zeros(count, np.float32)


TRIPLETS = (
    Triplet(
        "M404 unsigned underflow at the left edge",
        STENCIL.replace("{LEFT}", "x[at - 1]"),
        lambda: [blank(64), floats(64), 8],
        {"grid": (8, 8)},
        (("M404", 5),),
    ),
    Triplet(
        "M101 twin: the edge has no left neighbour",
        STENCIL.replace("{LEFT}", "at > 0 ? x[at - 1] : 0.0f"),
        lambda: [blank(64), floats(64), 8],
        {"grid": (8, 8)},
    ),
    Triplet(
        "M101 threadgroup array one too small",
        TILE.replace("{ROOM}", "33").replace("s[lid ^ 1]", "s[lid + 2]").replace("s[lid] =", "s[lid + 1] ="),
        lambda: [blank(32), floats(32)],
        {"grid": 32, "threadgroup": 32},
        (("M101", 7),),
    ),
    Triplet(
        "M101 twin: everything inside",
        TILE.replace("{ROOM}", "33").replace("s[lid ^ 1]", "s[lid + 1]").replace("s[lid] =", "s[lid + 1] ="),
        lambda: [blank(32), floats(32)],
        {"grid": 32, "threadgroup": 32},
    ),
    Triplet(
        "M102 no bounds check",
        COPY,
        lambda: [blank(50), floats(64)],
        {"grid": 64},
        (("M102", 3),),
    ),
    Triplet("M102 twin: as many threads as elements", COPY, lambda: [blank(64), floats(64)], {"grid": 64}),
    Triplet(
        "M102 threadgroup array smaller than the threadgroup",
        TILE.replace("{ROOM}", "32"),
        lambda: [blank(64), floats(64)],
        {"grid": 64, "threadgroup": 64},
        (("M101", 7), ("M102", 5)),
    ),
    Triplet(
        "M102 twin: room for all",
        TILE.replace("{ROOM}", "64"),
        lambda: [blank(64), floats(64)],
        {"grid": 64, "threadgroup": 64},
    ),
    Triplet(
        "M103 float2 bound from a multiple of 4",
        PAIRS,
        lambda: [blank(8), shifted(16)],
        {"grid": 8},
        (("M103", 3),),
    ),
    Triplet("M103 twin: bound from its start", PAIRS, lambda: [blank(8), floats(16)], {"grid": 8}),
    Triplet(
        "M103 float4 stored at an odd index",
        COPY.replace("out[i] = x[i]", "*(device float4*)(out + i) = float4(x[i])"),
        lambda: [blank(4), floats(1)],
        {"grid": 1},
    ),
    Triplet(
        "M103 float4 stored at index 1",
        COPY.replace("out[i] = x[i]", "*(device float4*)(out + i + 1) = float4(x[i])"),
        lambda: [blank(5), floats(1)],
        {"grid": 1},
        (("M103", 3),),
    ),
    Triplet(
        "M103 twin: packed float4 at index 1",
        COPY.replace("out[i] = x[i]", "*(device packed_float4*)(out + i + 1) = float4(x[i])"),
        lambda: [blank(5), floats(1)],
        {"grid": 1},
    ),
    Triplet(
        "M104 bins never cleared",
        ACCUMULATE.replace("{CLEAR}", ""),
        lambda: [blank(8), floats(64)],
        {"grid": 64, "threadgroup": 64},
        (("M104", 5),),
    ),
    Triplet(
        "M104 twin: cleared first",
        ACCUMULATE.replace(
            "{CLEAR}",
            "if (lid < 8) { atomic_store_explicit(&bins[lid], 0, memory_order_relaxed); }"
            " threadgroup_barrier(mem_flags::mem_threadgroup);",
        ),
        lambda: [blank(8), floats(64)],
        {"grid": 64, "threadgroup": 64},
    ),
    Triplet(
        "M104 the last tile is not full",
        LAST_TILE.replace("{LOAD}", "if (lid < n) { s[lid] = x[lid]; }"),
        lambda: [blank(32), floats(20), 20],
        {"grid": 32, "threadgroup": 32},
        (("M104", 9),),
    ),
    Triplet(
        "M104 twin: filled up with zeros",
        LAST_TILE.replace("{LOAD}", "s[lid] = lid < n ? x[lid] : 0.0f;"),
        lambda: [blank(32), floats(20), 20],
        {"grid": 32, "threadgroup": 32},
    ),
    Triplet(
        "M105 atomic sum into memory that nobody set",
        ATOMIC_SUM,
        lambda: [mt.device().empty(1), floats(64)],
        {"grid": 64},
        (("M105", 3),),
    ),
    Triplet(
        "M105 twin: the sum starts at zero",
        ATOMIC_SUM,
        lambda: [mt.device().zeros(1), floats(64)],
        {"grid": 64},
    ),
    Triplet(
        "M105 a running sum without a start",
        RUNNING.replace("{OLD}", "out[i]"),
        lambda: [mt.device().empty(8), floats(32)],
        {"grid": 8},
        (("M105", 4),),
    ),
    Triplet(
        "M105 twin: the first round does not read",
        RUNNING.replace("{OLD}", "(k > 0 ? out[i] : 0.0f)"),
        lambda: [mt.device().empty(8), floats(32)],
        {"grid": 8},
    ),
    Triplet(
        "M106 every other element",
        ODD,
        lambda: [mt.device().empty(16), floats(16)],
        {"grid": 16},
        (("M106", 2),),
    ),
    Triplet(
        "M106 twin: an array that had its values before",
        ODD,
        lambda: [blank(16), floats(16)],
        {"grid": 16},
    ),
    Triplet(
        "M106 a guard that is one too strict",
        COPY.replace("out[i] = x[i]", "if (i + 1 < 16) out[i] = x[i]"),
        lambda: [mt.device().empty(16), floats(16)],
        {"grid": 16},
        (("M106", 2),),
    ),
    Triplet(
        "M106 twin: all of it",
        COPY.replace("out[i] = x[i]", "if (i < 16) out[i] = x[i]"),
        lambda: [mt.device().empty(16), floats(16)],
        {"grid": 16},
    ),
    Triplet(
        "M106 twin: in place, half of it",
        COPY.replace("out[i] = x[i]", "if (i < 8) out[i] += x[i]"),
        lambda: [blank(16), floats(16)],
        {"grid": 16},
    ),
    Triplet(
        "M107 const cast away",
        SCALE_INPUT.replace("{CONST}", "device const"),
        lambda: [blank(16), floats(16)],
        {"grid": 16},
        (("M107", 3),),
    ),
    Triplet(
        "M107 twin: it is no input",
        SCALE_INPUT.replace("{CONST}", "device"),
        lambda: [blank(16), floats(16)],
        {"grid": 16},
    ),
    Triplet(
        "M107 a constant table as scratch",
        FLAGGED.replace("{MARK}", "*(device int*)&seen[i] = 1;"),
        lambda: [blank(16), np.arange(16, dtype=np.int32)],
        {"grid": 16},
        (("M107", 4),),
    ),
    Triplet(
        "M107 twin: only read",
        FLAGGED.replace("{MARK}", ""),
        lambda: [blank(16), np.arange(16, dtype=np.int32)],
        {"grid": 16},
    ),
    Triplet(
        "M108 no memory for the argument",
        LOCAL_ARGUMENT,
        lambda: [blank(32), floats(32)],
        {"grid": 32, "threadgroup": 32},
        (("M108", 2),),
    ),
    Triplet(
        "M108 twin: 128 bytes",
        LOCAL_ARGUMENT,
        lambda: [blank(32), floats(32)],
        {"grid": 32, "threadgroup": 32, "threadgroup_memory": {1: 128}},
    ),
    Triplet(
        "M108 memory for one of two",
        TWO_ARGUMENTS,
        lambda: [blank(32)],
        {"grid": 32, "threadgroup": 32, "threadgroup_memory": {0: 128}},
        (("M108", 2),),
    ),
    Triplet(
        "M108 twin: memory for both",
        TWO_ARGUMENTS,
        lambda: [blank(32)],
        {"grid": 32, "threadgroup": 32, "threadgroup_memory": {0: 128, 1: 128}},
    ),
    Triplet(
        "M305 100 threads for 200 outputs",
        COPY,
        lambda: [blank(200), floats(200)],
        {"grid": 100},
        (("M305", 2),),
    ),
    Triplet(
        "M305 a reduction with too small a grid",
        REDUCE.replace("{N}", "").replace("{BODY}", ONE_EACH),
        lambda: [zeros(1), floats(256)],
        {"grid": 64},
        (("M305", 2),),
    ),
    Triplet(
        "M305 twin: each thread loops",
        REDUCE.replace("{N}", "constant uint& n,").replace("{BODY}", LOOPED),
        lambda: [zeros(1), floats(256), 256],
        {"grid": 64},
    ),
    Triplet(
        "M305 twin: a scalar says how many",
        REDUCE.replace("{N}", "constant uint& n,").replace("{BODY}", f"if (i < n) {{ {ONE_EACH} }}"),
        lambda: [zeros(1), floats(256), 64],
        {"grid": 64},
    ),
    Triplet(
        "M305 twin: the first part of a longer array",
        COPY,
        lambda: [blank(200), floats(100)],
        {"grid": 100},
    ),
)
