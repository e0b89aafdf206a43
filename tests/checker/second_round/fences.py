"""Fences around a barrier of other memory: what they put in order, and what is left where one of them is missing."""

from __future__ import annotations

import numpy as np

from tests.checker.second_round.case import Case

TURNED = """kernel void k(device float* x, device float* out, uint t [[thread_index_in_threadgroup]],
                     uint g [[threadgroup_position_in_grid]]) {
    {EARLY}
    x[64 * g + t] = t;
    {BEFORE}
    threadgroup_barrier(mem_flags::mem_threadgroup);
    {BEHIND}
    out[64 * g + t] = x[64 * g + 63 - t];
}"""
TILE = """kernel void k(device const float* x, device float* out, uint t [[thread_index_in_threadgroup]],
                     uint g [[threadgroup_position_in_grid]]) {
    threadgroup float tile[64];
    tile[t] = x[64 * g + t];
    {BEFORE}
    threadgroup_barrier(mem_flags::mem_none);
    {BEHIND}
    out[64 * g + t] = tile[63 - t];
}"""
DEVICE = "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);"
GROUP = "atomic_thread_fence(mem_flags::mem_device, memory_order_acq_rel, thread_scope_threadgroup);"
LANES = "atomic_thread_fence(mem_flags::mem_device, memory_order_acq_rel, thread_scope_simdgroup);"
RELAXED = "atomic_thread_fence(mem_flags::mem_device, memory_order_relaxed, thread_scope_device);"
LOCAL = "atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_seq_cst, thread_scope_threadgroup);"
# What is told; the kernel; fences before the write, before the barrier, behind the barrier.
BODIES = (
    ("fences on both sides of a barrier", "", TURNED, "", DEVICE, DEVICE),
    ("a fence before a barrier and none behind it", "M205", TURNED, "", DEVICE, ""),
    ("a fence behind a barrier and none before it", "M205", TURNED, "", "", DEVICE),
    ("fences before the write and behind the barrier", "M205", TURNED, DEVICE, "", DEVICE),
    ("fences of the threadgroup around a barrier", "", TURNED, "", GROUP, GROUP),
    ("fences of SIMD-groups around a barrier", "M205", TURNED, "", LANES, LANES),
    ("relaxed fences around a barrier", "M205", TURNED, "", RELAXED, RELAXED),
    ("fences of other memory around a barrier", "M205", TURNED, "", LOCAL, LOCAL),
    ("fences of some threads before a barrier", "M205", TURNED, "", f"if (t < 40) {DEVICE}", DEVICE),
    ("fences of those who write and of those who read", "", TURNED, DEVICE, DEVICE, f"{DEVICE} {DEVICE}"),
    ("fences of a tile around a barrier", "", TILE, "", LOCAL, LOCAL),
    ("fences of device memory for a tile", "M205", TILE, "", DEVICE, DEVICE),
)
CASES = tuple(
    Case(
        name,
        text.replace("{EARLY}", early).replace("{BEFORE}", before).replace("{BEHIND}", behind),
        lambda: [np.zeros(128, np.float32), np.zeros(128, np.float32)],
        {"grid": 128, "threadgroup": 64},
        find,
    )
    for name, find, text, early, before, behind in BODIES
)
AGAIN = """kernel void k(device atomic_uint* n, device uint* out, uint t [[thread_index_in_threadgroup]]) {
    if (t == 0) *(device uint*)n = 0;
    {FENCE} threadgroup_barrier(mem_flags::mem_none); {FENCE}
    if (t == 1) atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
    {SECOND}
    if (t == 2) out[0] = *(device uint*)n;
    if (t > 2) out[t] = t;
}"""
WAIT = f"{DEVICE} threadgroup_barrier(mem_flags::mem_none); {DEVICE}"
CASES += tuple(
    Case(
        name,
        AGAIN.replace("{FENCE}", DEVICE).replace("{SECOND}", second),
        lambda: [np.zeros(1, np.uint32), np.zeros(64, np.uint32)],
        {"grid": 64, "threadgroup": 64},
        find,
    )
    for name, second, find in (
        ("an atomic change behind fences, and a plain read of another lane", "", "M202"),
        ("an atomic change behind fences, fences, and a plain read", WAIT, ""),
    )
)
