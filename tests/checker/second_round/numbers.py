"""Numbers: half that overflows, in all rows and in one of many; sums in half that lanes and threads make together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.checker.second_round.case import halves, pair

ROWS = """kernel void k(device const half* x, device half* out, uint row [[thread_position_in_grid]]) {
    {TYPE} sum = 0;
    for (uint j = 0; j < 8; j++) sum += x[row * 8 + j] * {TYPE}(x[row * 8 + j]);
    out[row] = half(sqrt(float(sum)));
}"""

LANES = """kernel void k(device const half* x, device half* out, uint t [[thread_index_in_threadgroup]]) {
    {TYPE} s = 0;
    for (uint j = t; j < 8192; j += 32) s += x[j];
    {TOGETHER}
    if (t == 0) out[0] = half(s);
}"""
SUMS = "s = simd_sum(s);"
SHUFFLES = "for (ushort o = 16; o > 0; o /= 2) s += simd_shuffle_down(s, o);"
ROTATED = "for (ushort o = 1; o < 32; o *= 2) s += simd_shuffle_xor(s, o);"
TREE = """kernel void k(device const half* x, device half* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup {TYPE} s[{THREADS}];
    {TYPE} a = 0;
    for (uint j = 0; j < {EACH}; j++) a += x[t * {EACH} + j];
    s[t] = a;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint n = {THREADS} / 2; n > 0; n /= 2) {
        if (t < n) s[t] += s[t + n];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0) out[0] = half(s[0] / {THREADS});
}"""
NORM = """kernel void k(device const half* x, device half* out, uint row [[thread_position_in_grid]]) {
    {TYPE} s = 0;
    for (uint j = 0; j < 32; j++) s += {TYPE}(x[row * 32 + j]) * x[row * 32 + j];
    out[row] = x[row * 32] * half(rsqrt(float(s) / 32));
}"""


def lanes(kind: str, together: str) -> str:
    return LANES.replace("{TYPE}", kind).replace("{TOGETHER}", together)


def tree(kind: str, threads: int, each: int) -> str:
    return TREE.replace("{TYPE}", kind).replace("{THREADS}", str(threads)).replace("{EACH}", str(each))


def one_row():
    x = halves(32 * 1024, 0.5)
    x[32 * 700 : 32 * 701] = 100
    return [x, np.ones(1024, np.float16)]


def few_large():
    x = halves(8 * 2048, 0.5)
    x[8 * 1500 : 8 * 1501] = 200
    return [x, np.zeros(2048, np.float16)]


ONE = {"grid": 32, "threadgroup": 32}
SQUARES = """kernel void k(device const half* x, device half* out, uint i [[thread_position_in_grid]]) {
    {TYPE} v = x[i];
    {TYPE} squares = {TOGETHER}(v * v);
    out[i] = half(v * rsqrt(squares));
}"""


def one_wide_row() -> list[np.ndarray]:
    x = halves(128, 0.5)
    x[64:96] = 300
    return [x, np.zeros(128, np.float16)]


CASES = (
    *pair(
        "a long sum in half that simd_sum ends",
        lanes("half", SUMS),
        lanes("float", SUMS),
        lambda: [halves(8192, 0.3), np.zeros(1, np.float16)],
        ONE,
        "M402",
        "kernel.metal:5:",
    ),
    *pair(
        "a long sum in half that shuffles end",
        lanes("half", SHUFFLES),
        lanes("float", SHUFFLES),
        lambda: [halves(8192, 0.3), np.zeros(1, np.float16)],
        ONE,
        "M402",
        "kernel.metal:5:",
    ),
    *pair(
        "shuffles that overflow half",
        lanes("half", ROTATED),
        lanes("float", f"{ROTATED} s /= 8192;"),
        lambda: [halves(8192, 20), np.zeros(1, np.float16)],
        ONE,
        "M403",
        "infinity",
    ),
    *pair(
        "simd_sum that overflows half",
        lanes("half", SUMS),
        lanes("float", f"{SUMS} s /= 8192;"),
        lambda: [halves(8192, 20), np.zeros(1, np.float16)],
        ONE,
        "M403",
        "simd_sum",
    ),
    *pair(
        "a tree of half sums",
        tree("half", 64, 64),
        tree("float", 64, 64),
        lambda: [halves(64 * 64, 0.3), np.zeros(1, np.float16)],
        {"grid": 64, "threadgroup": 64},
        "M402",
    ),
    *pair(
        "a tree that overflows half",
        tree("half", 64, 8),
        tree("float", 64, 8),
        lambda: [halves(64 * 8, 200), np.zeros(1, np.float16)],
        {"grid": 64, "threadgroup": 64},
        "M403",
    ),
    *(
        replace(case, slow=True)
        for case in pair(
            "a threadgroup that takes longer than a look",
            tree("half", 256, 160),
            tree("float", 256, 160),
            lambda: [halves(256 * 160, 0.3), np.zeros(1, np.float16)],
            {"grid": 256, "threadgroup": 256},
            "M402",
        )
    ),
    *(
        replace(case, slow=True)
        for case in pair(
            "squares of half that make one row of many zeros",
            NORM.replace("{TYPE}", "half"),
            NORM.replace("{TYPE}", "float"),
            one_row,
            {"grid": 1024, "threadgroup": 64},
            "M403",
            "gets 0",
        )
    ),
    *pair(
        "squares of half in every row",
        ROWS.replace("{TYPE}", "half"),
        ROWS.replace("{TYPE}", "float"),
        lambda: [halves(8 * 64, 300), np.zeros(64, np.float16)],
        {"grid": 64},
        "M403",
    ),
    *(
        replace(case, slow=True)
        for case in pair(
            "squares of half that overflow in one row of many",
            ROWS.replace("{TYPE}", "half"),
            ROWS.replace("{TYPE}", "float"),
            few_large,
            {"grid": 2048, "threadgroup": 32},
            "M403",
        )
    ),
    *pair(
        "squares of half that overflow before lanes add them up",
        SQUARES.replace("{TYPE}", "half").replace("{TOGETHER}", "simd_sum"),
        SQUARES.replace("{TYPE}", "float").replace("{TOGETHER}", "simd_sum"),
        one_wide_row,
        {"grid": 128, "threadgroup": 32},
        "M403",
        "300 * 300",
    ),
    *pair(
        "squares of half that overflow before the largest is taken",
        SQUARES.replace("{TYPE}", "half").replace("{TOGETHER}", "simd_max"),
        SQUARES.replace("{TYPE}", "float").replace("{TOGETHER}", "simd_max"),
        one_wide_row,
        {"grid": 128, "threadgroup": 32},
        "M403",
        "300 * 300",
    ),
)
