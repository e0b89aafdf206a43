"""Positions that took each other's place, inside bounds and past them."""

from __future__ import annotations

import numpy as np

import metalloid as mt
from tests.checker.second_round.case import Case, floats, pair, twin

PLAIN = """kernel void k(device const float* x, device float* out, uint i [[{POSITION}]]) {
    out[i] = 2 * x[i];
}"""
SUM = """kernel void k(device const float* x, device float* out, uint i [[thread_position_in_grid]],
                     uint lane [[thread_index_in_threadgroup]], uint row [[threadgroup_position_in_grid]]) {
    float v = simd_sum(x[i]);
    if (lane == 0 {AND}) out[{AT}] = v;
}"""
LOCAL = """kernel void k(device const float* x, device float* out, uint row [[{POSITION}]],
                     uint t [[thread_position_in_threadgroup]]) {
    threadgroup float s[32];
    s[t] = x[row * 32 + t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[row * 32 + t] = s[31 - t];
}"""
COPY = """kernel void k(device const float* src, device float* dst, uint i [[thread_position_in_grid]]) {
    dst[i] = 2 * src[i];
}"""
SCALE = """kernel void k(device float* grad, device const float* weights, uint i [[thread_position_in_grid]]) {
    grad[i] = weights[i] * 0.5f;
}"""
WIDE = {"grid": 256, "threadgroup": 32}
EMPTY = Case(
    "memory that nobody filled where the data was meant",
    COPY,
    lambda: [mt.device().empty(64), floats(64)],
    {"grid": 64},
    "M310",
    "'src' is buffer 0",
)
GRADIENT = Case(
    "results first in the kernel, last in the call",
    SCALE,
    lambda: [floats(64), np.zeros(64, np.float32)],
    {"grid": 64},
    "M310",
    "pass the data as 'weights'",
)


def arrays(count: int, results: int):
    return lambda: [floats(count) + 1, np.zeros(results, np.float32)]


CASES = (
    EMPTY,
    twin(EMPTY, arguments=lambda: [floats(64), mt.device().empty(64)]),
    GRADIENT,
    twin(GRADIENT, arguments=lambda: [np.zeros(64, np.float32), floats(64)]),
    *pair(
        "the position in the threadgroup where the grid's was meant",
        PLAIN.replace("{POSITION}", "thread_position_in_threadgroup"),
        PLAIN.replace("{POSITION}", "thread_position_in_grid"),
        arrays(256, 256),
        WIDE,
        "M106",
        "begins at 0 in every threadgroup",
    ),
    *pair(
        "the threadgroup's position where the thread's was meant",
        PLAIN.replace("{POSITION}", "threadgroup_position_in_grid"),
        PLAIN.replace("{POSITION}", "thread_position_in_grid"),
        arrays(256, 256),
        WIDE,
        "M106",
        "thread_position_in_grid gives each its own element",
    ),
    *pair(
        "a sum at the thread's position, past the end",
        SUM.replace("{AT}", "i").replace("{AND}", ""),
        SUM.replace("{AT}", "row").replace("{AND}", ""),
        arrays(256, 8),
        WIDE,
        "M102",
        "threadgroup_position_in_grid counts threadgroups",
    ),
    *pair(
        "a sum at the thread's position that a condition keeps inside",
        SUM.replace("{AT}", "i").replace("{AND}", "&& i < 8"),
        SUM.replace("{AT}", "row").replace("{AND}", "&& row < 8"),
        arrays(256, 8),
        WIDE,
        "M106",
        "threadgroup_position_in_grid counts threadgroups",
    ),
    *pair(
        "rows by the thread's position",
        LOCAL.replace("{POSITION}", "thread_position_in_grid"),
        LOCAL.replace("{POSITION}", "threadgroup_position_in_grid"),
        arrays(256, 256),
        WIDE,
        "M101",
        "for a row of each threadgroup take threadgroup_position_in_grid",
    ),
)
