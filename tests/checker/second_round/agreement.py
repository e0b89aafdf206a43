"""Threads that store what others have stored: who may read it, and who collides."""

from __future__ import annotations

import numpy as np

from tests.checker.second_round.case import Case

HEAD = """kernel void k(device uint* o, device uint* p, uint i [[thread_position_in_grid]],
                     uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
    threadgroup uint s[2];
"""
WAIT = "threadgroup_barrier(mem_flags::mem_threadgroup);"
BODIES = (
    (
        "a thread of another threadgroup reads a flag",
        "if (g == 0 && t < 2) o[0] = 1; if (g == 1 && t == 1) p[0] = o[0];",
        "M203",
    ),
    ("a flag that everybody sets", "o[0] = 1; p[i] = i;", ""),
    ("a lane in the middle stores another value", "o[0] = t == 13; p[i] = i;", "M202"),
    ("every lane stores the same position", "o[0] = g / 4; p[i] = i;", ""),
    ("set by all, changed by one", f"s[0] = 1; if (t == 63) s[0] = 2; {WAIT} p[i] = s[0];", "M201"),
    (
        "set by all, changed by one behind a barrier",
        f"s[0] = 1; {WAIT} if (t == 63) s[0] = 2; {WAIT} p[i] = s[0];",
        "",
    ),
    (
        "set by two, read by all",
        "if (g == 0 && (t == 0 || t == 63)) o[0] = 1; if (g == 0) p[t] = o[0];",
        "M202",
    ),
    (
        "set and read by the same two",
        "if (t == 0 || t == 63) o[0] = 1; if (t == 0 || t == 63) p[i] = o[0];",
        "",
    ),
    ("cleared by all, summed by one", f"s[0] = 0; s[1] = t; {WAIT} p[i] = s[0];", "M201"),
    ("cleared by one, read behind a barrier", f"if (t == 0) s[0] = 5; {WAIT} p[i] = s[0];", ""),
    ("threadgroups disagree about a value", "o[0] = g; p[i] = i;", "M203"),
    ("threadgroups have a place each", "if (t == 0) o[g] = g; p[i] = i;", ""),
    ("agreed, then another value by all", "o[0] = 1; o[1] = t & 1; p[i] = i;", "M202"),
    ("agreed twice", "o[0] = 1; o[1] = 2; p[i] = i;", ""),
)
CASES = tuple(
    Case(
        name,
        f"{HEAD}    {body}\n}}",
        lambda: [np.zeros(4, np.uint32), np.zeros(256, np.uint32)],
        {"grid": 256, "threadgroup": 64},
        find,
    )
    for name, body, find in BODIES
)

MATRIX = """kernel void k(device float* o, device const float* x, uint s [[simdgroup_index_in_threadgroup]]) {
    simdgroup_float8x8 m;
    simdgroup_load(m, x + {FROM}, 8);
    simdgroup_store(m, o, 8);
}"""
CASES += tuple(
    Case(
        name,
        MATRIX.replace("{FROM}", start),
        lambda: [np.zeros(64, np.float32), np.arange(128, dtype=np.float32)],
        {"grid": 64, "threadgroup": 64},
        find,
    )
    for name, start, find in (
        ("two SIMD-groups store one matrix", "0", ""),
        ("two SIMD-groups store a matrix each at one place", "64 * s", "M202"),
    )
)
