"""Clean launches that look like mistakes: parts that are meant, floats added by compare-exchange, counts that wrap."""

from __future__ import annotations

import numpy as np

from tests.checker.second_round.case import Case, floats

ADD = """kernel void k(device const float* x, device atomic_uint* total, uint i [[thread_position_in_grid]]) {
    uint old = atomic_load_explicit(total, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(total, &old, as_type<uint>(as_type<float>(old) + x[i]),
                                                  memory_order_relaxed, memory_order_relaxed)) {}
}"""
SCATTER = """kernel void k(device const float* rows, device const int* at, device float* table,
                     uint2 p [[thread_position_in_grid]]) {
    table[at[p.y] * 16 + p.x] = rows[p.y * 16 + p.x];
}"""
VALUES = """kernel void k(device const float* packed, device float* v, constant uint& heads,
                     uint2 p [[thread_position_in_grid]]) {
    v[p.y * 16 + p.x] = packed[(p.y * 3 + 2) * 16 + p.x];
}"""
BACK = """kernel void k(device const float* x, device float* out, constant uint& n,
                     uint i [[thread_position_in_grid]]) {
    float last = 0;
    for (uint j = n - 1; j < n; j--) last = last * 0.5f + x[j];
    out[i] = last;
}"""


def slots(*at: int, of: int = 50):
    return lambda: [floats(64), np.array(at, np.int32), np.zeros(16 * of, np.float32)]


ROWS = {"grid": (16, 4), "threadgroup": (16, 1)}


CASES = (
    Case(
        "floats added by compare-exchange",
        ADD,
        lambda: [np.ones(64, np.float32), np.zeros(1, np.uint32)],
        {"grid": 64},
    ),
    Case("slots of a table by an index", SCATTER, slots(7, 2, 5, 11), ROWS),
    Case(
        "slots of a table as long as 64 threadgroups of 16", SCATTER, slots(7, 2, 5, 11, of=64), ROWS
    ),  # as many as the grid would count if it counted threadgroups
    Case("one slot of a table for two rows", SCATTER, slots(7, 2, 7, 11), ROWS, "M203", "'table'"),
    Case(
        "the third part of a packed tensor",
        VALUES,
        lambda: [floats(3 * 16 * 8), np.zeros(16 * 8, np.float32), 3],
        {"grid": (16, 8)},
    ),
    Case(
        "a loop down that ends below 0",
        BACK,
        lambda: [floats(64), np.zeros(64, np.float32), 64],
        {"grid": 64},
    ),
)
