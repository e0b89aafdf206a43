"""Where things lie, second part: vectors in threadgroup and private memory, rows of arrays, matrices."""

from __future__ import annotations

import numpy as np

from tests.checker.second_round.case import Case, blank, floats, pair, twin

HEAD = """kernel void k(device float* out, device const float* x, uint i [[thread_position_in_grid]],
                     uint t [[thread_index_in_threadgroup]]) {
"""
LOCAL = (
    HEAD
    + """    threadgroup float tile[64];
    for (uint k = t; k < 64; k += 32) tile[k] = x[k];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup const float4* v = (threadgroup const float4*)(tile + {AT});
    out[i] = v->x + v->w;
}"""
)
PRIVATE = (
    HEAD
    + """    float mine[16];
    for (uint k = 0; k < 16; k++) mine[k] = x[(t + k) % 64];
    thread const float4* v = (thread const float4*)(mine + {AT});
    out[i] = v->x + v->w;
}"""
)
STORED = (
    HEAD
    + """    threadgroup half tile[128];
    threadgroup half2* to = (threadgroup half2*)(tile + {AT});
    *to = half2(half(x[t]), half(x[t + 1]));
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[2 * t + 1];
}"""
)
PRIVATE_ROW = (
    HEAD
    + """    float a[4][6];
    for (uint r = 0; r < 4; r++)
        for (uint c = 0; c < 6; c++) a[r][c] = x[6 * r + c];
    float sum = 0;
    for (uint c = 0; c {TEST} 6; c++) sum += a[t % 3][c];
    out[i] = sum;
}"""
)
DEVICE_ROW = """kernel void k(device float* out, device const float (*x)[8], uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint c = 0; c {TEST} 8; c++) sum += x[i % 7][c];
    out[i] = sum;
}"""
DEVICE_STORE = """struct Board { float cells[8][8]; };
kernel void k(device Board& out, device const float* x, uint2 p [[thread_position_in_grid]]) {
    out.cells[p.y][{AT}] = x[8 * p.y + p.x];
}"""
MATRIX = """#include <metal_simdgroup_matrix>
kernel void k(device float* out, device const float* x, uint t [[thread_index_in_threadgroup]]) {
    simdgroup_float8x8 a, b, c = make_filled_simdgroup_matrix<float, 8>(0.0f);
    simdgroup_load(b, x, 8);
    {GUARD} simdgroup_load(a, x, 8);
    simdgroup_multiply_accumulate(c, a, b, c);
    simdgroup_store(c, out, 8);
}"""
FEW = Case(
    "a matrix in a threadgroup of 16 threads",
    MATRIX.replace("{GUARD}", ""),
    lambda: [blank(64), floats(64)],
    {"grid": 16, "threadgroup": 16},
    "M207",
)
STORE_MATRIX = MATRIX.replace("{GUARD}", "").replace("simdgroup_store", "{GUARD} simdgroup_store")
MULTIPLY = MATRIX.replace("{GUARD}", "").replace("simdgroup_multiply_acc", "{GUARD} simdgroup_multiply_acc")
PARTED = "if (t < 16)"


def arrays():
    return [blank(32), floats(80)]


ONE = {"grid": 32, "threadgroup": 32}


def matrix(name: str, text: str) -> tuple[Case, Case]:
    return pair(
        name,
        text.replace("{GUARD}", PARTED),
        text.replace("{GUARD}", ""),
        lambda: [blank(64), floats(64)],
        ONE,
        "M207",
    )


def aligned(name: str, text: str, wrong: str, right: str) -> tuple[Case, Case]:
    return pair(name, text.replace("{AT}", wrong), text.replace("{AT}", right), arrays, ONE, "M103")


CASES = (
    *aligned("a vector off its place in threadgroup memory", LOCAL, "t", "4 * (t / 4)"),
    *aligned("a vector off its place in private memory", PRIVATE, "t % 8", "4 * (t % 3)"),
    *aligned("a vector stored off its place in threadgroup memory", STORED, "2 * t + 1 - t % 2", "2 * t"),
    *pair(
        "a row overrun in a private array",
        PRIVATE_ROW.replace("{TEST}", "<="),
        PRIVATE_ROW.replace("{TEST}", "<"),
        arrays,
        ONE,
        "M109",
    ),
    *pair(
        "a row overrun in a device array",
        DEVICE_ROW.replace("{TEST}", "<="),
        DEVICE_ROW.replace("{TEST}", "<"),
        lambda: [blank(16), floats(64)],
        {"grid": 16},
        "M109",
    ),
    *pair(
        "a row of a struct in device memory overrun by a store",
        DEVICE_STORE.replace("{AT}", "p.x + 1"),
        DEVICE_STORE.replace("{AT}", "p.x"),
        lambda: [np.zeros(64, np.float32), floats(80)],
        {"grid": (8, 7)},
        "M109",
    ),
    *matrix("a matrix loaded by some lanes", MATRIX),
    *matrix("a matrix stored by some lanes", STORE_MATRIX),
    *matrix("matrices multiplied by some lanes", MULTIPLY),
    FEW,
    twin(FEW, sizes=ONE),
)
