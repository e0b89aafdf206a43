"""Atomics that lose updates, and threads that wait for others that need not run."""

from __future__ import annotations

import numpy as np

from tests.checker.second_round.case import Case, floats, ints, pair

KERNEL = """kernel void k(device atomic_uint* n, device uint* out, uint i [[thread_position_in_grid]],
                   uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
"""
RELAXED = "memory_order_relaxed"
LOST = (
    KERNEL
    + f" uint v = atomic_load_explicit(n, {RELAXED}); atomic_store_explicit(n, v + 1, {RELAXED}); out[i] = 1; }}"
)
KEPT = KERNEL + f" atomic_fetch_add_explicit(n, 1, {RELAXED}); out[i] = 1; }}"
ONCE = (
    KERNEL
    + f""" uint v = atomic_load_explicit(n, {RELAXED});
    atomic_compare_exchange_weak_explicit(n, &v, v + 1, {RELAXED}, {RELAXED}); out[i] = 1; }}"""
)
RETRY = (
    KERNEL
    + f""" uint v = atomic_load_explicit(n, {RELAXED});
    while (!atomic_compare_exchange_weak_explicit(n, &v, v + 1, {RELAXED}, {RELAXED})) {{}} out[i] = 1; }}"""
)
MAXIMUM = (
    KERNEL
    + f" uint v = atomic_load_explicit(n, {RELAXED}); if (i > v) atomic_store_explicit(n, i, {RELAXED}); out[i] = 1; }}"
)
FETCH_MAX = KERNEL + f" atomic_fetch_max_explicit(n, i, {RELAXED}); out[i] = 1; }}"
PLAIN = (
    KERNEL
    + f" atomic_fetch_add_explicit(n, 1, {RELAXED}); if (i == 0) out[0] = *(device uint*)n; if (i) out[i] = 1; }}"
)
NUMBERED = (
    KERNEL
    + f" atomic_fetch_add_explicit(n, 1, {RELAXED}); uint at = *(device uint*)n - 1; if (at < 256) out[at] = i; }}"
)
GIVEN = KERNEL + f" uint at = atomic_fetch_add_explicit(n, 1, {RELAXED}); if (at < 256) out[at] = 1; }}"
LOADED = (
    KERNEL + f" atomic_fetch_add_explicit(n, 1, {RELAXED}); if (i == 0) out[0] = 1; if (i) out[i] = 1; }}"
)
WAIT = (
    KERNEL
    + f""" if (t == 0) atomic_fetch_add_explicit(n, 1, {RELAXED});
    while (atomic_load_explicit(n, {RELAXED}) < {{GROUPS}}) {{}}
    out[i] = 1; }}"""
)
TICKET = (
    KERNEL
    + f""" threadgroup uint mine;
    if (t == 0) mine = atomic_fetch_add_explicit(n, 1, {RELAXED});
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = mine; }}"""
)
LOCK = (
    KERNEL
    + f""" while (atomic_exchange_explicit(n, 1, {RELAXED})) {{}}
    out[0] += 1; {{FREE}} out[1 + i] = 1; }}"""
)
FOREVER = """kernel void k(device const float* x, device float* out, uint i [[thread_position_in_grid]]) {
    float v = x[i];
    {LOOP}
    out[i] = v;
}"""
FLAG = """kernel void k(device uint* flag, device float* out, uint g [[threadgroup_position_in_grid]],
                     uint t [[thread_index_in_threadgroup]]) {
    if (g == 0) {SET}
    {WAIT}
    out[g * 32 + t] = 1;
}"""
ADD_FLOATS = """kernel void k(device atomic_uint* sum, device const float* x, uint i [[thread_position_in_grid]]) {
    uint old = atomic_load_explicit(sum, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(sum, &old, as_type<uint>(as_type<float>(old) + x[i]),
                                                  memory_order_relaxed, memory_order_relaxed)) {}
}"""


def counter():
    return [np.zeros(1, np.uint32), np.zeros(256, np.uint32)]


FOUR = {"grid": 256, "threadgroup": 64}
CASES = (
    *pair("load, add, store of an atomic", LOST, KEPT, counter, FOUR, "M210"),
    *pair("a compare-exchange that does not try again", ONCE, RETRY, counter, FOUR, "M210"),
    *pair("load, compare, store of an atomic", MAXIMUM, FETCH_MAX, counter, FOUR, "M210"),
    *pair("a plain read beside atomic changes", PLAIN, LOADED, counter, FOUR, "M202", "in another launch"),
    *pair(
        "a number that is read behind its atomic",
        NUMBERED,
        GIVEN,
        counter,
        FOUR,
        "M202",
        "use what the atomic gives back (was = atomic_fetch_add_explicit(...))",
    ),
    *pair(
        "waiting until all threadgroups have come",
        WAIT.replace("{GROUPS}", "4"),
        TICKET,
        counter,
        {**FOUR, "timeout": 1},
        "M209",
        "while (atomic_load",
    ),
    *pair(
        "a loop that does not end",
        FOREVER.replace("{LOOP}", "while (v != 0.5f) v = v * 0.25f + 1;"),
        FOREVER.replace("{LOOP}", "for (int k = 0; k < 8; k++) v = v * 0.25f + 1;"),
        lambda: [floats(64), np.zeros(64, np.float32)],
        {"grid": 64, "threadgroup": 64, "timeout": 1},
        "M209",
        "while (v != 0.5f)",
    ),
    *pair(
        "does the loop change what it tests",
        FOREVER.replace("{LOOP}", "for (uint k = 1; k < 64; k = k & 31) v += k;"),
        FOREVER.replace("{LOOP}", "for (uint k = 1; k < 64; k = k + 31) v += k;"),
        lambda: [floats(64), np.zeros(64, np.float32)],
        {"grid": 64, "threadgroup": 64, "timeout": 1},
        "M209",
    ),
    *pair(
        "waiting for a plain flag of another threadgroup",
        FLAG.replace("{SET}", "if (t == 0) *(volatile device uint*)flag = 1;").replace(
            "{WAIT}", "while (*(volatile device uint*)flag != 2) {}"
        ),
        FLAG.replace("{SET}", "{}").replace("{WAIT}", ""),
        lambda: [np.zeros(1, np.uint32), np.zeros(64, np.float32)],
        {"grid": 64, "threadgroup": 32, "timeout": 1},
        "M209",
    ),
    Case(
        "a compare-exchange loop that adds floats",
        ADD_FLOATS,
        lambda: [np.zeros(1, np.uint32), floats(256) * 0.37],
        FOUR,
    ),
    Case(
        "a counter that hands out places",
        """kernel void k(device atomic_uint* n, device uint* out, device const int* x,
        uint i [[thread_position_in_grid]]) {
    if (x[i] & 1) out[atomic_fetch_add_explicit(n, 1, memory_order_relaxed)] = x[i];
}""",
        lambda: [np.zeros(1, np.uint32), np.zeros(128, np.uint32), ints(256)],
        FOUR,
    ),
)
