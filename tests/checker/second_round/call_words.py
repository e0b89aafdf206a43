"""Mistakes in calls of kernels: narrow positions, structs of tiles, recursion, compare-exchange, odd counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from metalloid.runtime.kernel import Kernel
from tests.checker.second_round.case import floats, ints
from tests.checker.second_round.spoken import Make, Row, told
from tests.checker.triplet import HEADER

NARROW = """kernel void fill_rows(device const float* x, device float* y, {X} g [[threadgroup_position_in_grid]]) {
    y[g] = x[g] + 1;
}"""
WRAPPED = """kernel void gather_rows(device const float* table, device const ushort* ids, device float* out,
                        constant ushort& width, ushort i [[thread_position_in_grid]]) {
    {X} at = ids[i] * width;
    out[i] = table[at];
}"""
TILES = """struct Tile { half rows[4][6]; };
kernel void unpack(device const Tile* tiles, device float* out, uint i [[thread_position_in_grid]]) {
    Tile mine = tiles[i / 24];
    uint at = i % 24;
    out[i] = mine.rows[at / {X}][at % {X}];
}"""
TREE = """float deep(device float* sums, device const float* x, uint at, uint n) {
    if (n == 1) return x[at];
    float both = deep(sums, x, at, n / 2) + deep(sums, x, at + n / 2, n / 2);
    sums[{X}] = both;
    return both;
}
kernel void trees(device float* sums, device const float* x, uint i [[thread_position_in_grid]]) {
    deep(sums, x, i * 8, 8);
}"""
FLOAT_MAX = """kernel void peak(device const float* x, device atomic_uint* best, uint i [[thread_position_in_grid]]) {
    uint old = atomic_load_explicit(best, memory_order_relaxed);
    float v = x[i] * x[i];
    do {
        if (as_type<float>(old) >= v) break;
    } while (!atomic_compare_exchange_weak_explicit(best, &old, as_type<uint>(v), memory_order_relaxed,
                                                    memory_order_relaxed));
}"""
BACKWARDS = """kernel void reversed_scan(device const float* x, device float* y, constant uint& n,
                          uint row [[thread_position_in_grid]]) {
    float acc = 0;
    for (uint j = n; j-- {X};) y[row * n + j] = acc += x[row * n + j];
}"""
MEDIAN = """kernel void median3(device const float* x, device float* y, constant uint& n,
                    uint t [[thread_index_in_threadgroup]],
                    uint i [[thread_position_in_grid]]) {
    threadgroup float s[34];
    s[t + 1] = x[i];
    {X}
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float a = s[t], b = s[t + 1], c = s[t + 2];
    y[i] = max(min(a, b), min(max(a, b), c));
}"""


def call_form(text: str, make: Make, sizes: Mapping[str, Any]) -> Callable[[Kernel], None]:
    def call(kernel: Kernel) -> None:
        library = kernel.device.library(HEADER + text, name="kernel.metal")
        library[library.kernels[0]](*make(), **sizes)

    return call


MANY = 65_600
ROWS = (
    Row(
        "more threadgroups than 16 bits count",
        NARROW,
        "M404",
        lambda: [floats(MANY), np.zeros(MANY, np.float32)],
        {"threadgroups": MANY, "threadgroup": 1},
        "ushort",
        "uint",
        slow=True,
    ),
    Row(
        "a row's place in 16 bits",
        WRAPPED,
        "M408",
        lambda: [floats(70_000), np.array([3, 690, 1, 5], np.uint16), np.zeros(4, np.float32), 100],
        {"grid": 4},
        "ushort",
        "uint",
    ),
    Row(
        "rows of a struct's tile taken for another length",
        TILES,
        "M109",
        lambda: [ints(48, np.float16), np.zeros(48, np.float32)],
        {"grid": 48},
        "4",
        "6",
    ),
    Row(
        "sums of a tree at places that siblings share",
        TREE,
        "M202",
        lambda: [np.zeros(64, np.float32), floats(64)],
        {"grid": 8, "threadgroup": 8},
        "n / 2",
        "at + n / 2",
        "'sums'",
    ),
    Row(
        "the largest square by compare-exchange",
        FLOAT_MAX,
        "",
        lambda: [floats(96), np.zeros(1, np.uint32)],
        {"grid": 96, "threadgroup": 32},
    ),
    Row(
        "a loop down that passes 0",
        BACKWARDS,
        "M404",
        lambda: [floats(64), np.zeros(64, np.float32), 8],
        {
            "grid": 8,
            "threadgroup": 8,
        },
        "+ 1 > 0 && j + 1 <= n + 1",
        "> 0",
    ),
    Row(
        "a border of a tile that nobody loads",
        MEDIAN,
        "M104",
        lambda: [floats(64), np.zeros(64, np.float32), 64],
        {"grid": 64, "threadgroup": 32},
        "if (t == 0) s[0] = i > 0 ? x[i - 1] : x[0];",
        "if (t == 0) s[0] = i > 0 ? x[i - 1] : x[0];\n    if (t == 31) s[33] = i + 1 < n ? x[i + 1] : x[n - 1];",
        "'s'",
    ),
)
CASES = tuple(told(ROWS, call_form, "call"))
