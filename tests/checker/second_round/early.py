"""Reads in front of a test, or that nobody uses: the optimiser would move them behind it, or leave them out."""

from __future__ import annotations

import numpy as np

from tests.checker.second_round.case import blank, floats, pair

KERNEL = """kernel void k(device const {TYPE}* x, device float* out, constant uint& n,
              uint i [[thread_position_in_grid]]) {
    {BODY}
}"""
SHARED = """threadgroup {TYPE} s[32];
    s[i % 32] = {TYPE}(x[i % 32]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    """
LATE, SOON = (
    "float v = {READ}; if (i >= n) return; out[i] = v;",
    "if (i >= n) return; float v = {READ}; out[i] = v;",
)
UNUSED = (
    "float v = {READ}; v = 3; if (i < n) out[i] = v;",
    "float v = i < n ? {READ} : 0; v = 3; if (i < n) out[i] = v;",
)


def device(type: str, read: str, body: str) -> str:
    return KERNEL.replace("{BODY}", body).replace("{TYPE}", type).replace("{READ}", read)


def shared(type: str, read: str, body: str) -> str:
    return device("float", "", SHARED.replace("{TYPE}", type) + body.replace("{READ}", read))


def arrays(width: int = 1):
    return lambda: [floats(32 * width), blank(32), np.uint32(32)]


GRID = {"grid": 40, "threadgroup": 40}
CASES = (
    *pair(
        "a packed vector that is read in front of the test",
        device("packed_float3", "x[i].y", LATE),
        device("packed_float3", "x[i].y", SOON),
        arrays(3),
        GRID,
        "M101",
        "return before this line",
    ),
    *pair(
        "threadgroup memory that is read in front of the test",
        shared("float", "s[i]", LATE),
        shared("float", "s[i]", SOON),
        arrays(),
        GRID,
        "M101",
    ),
    *pair(
        "a packed vector of threadgroup memory in front of the test",
        shared("packed_float3", "s[i].z", LATE),
        shared("packed_float3", "s[i].z", SOON),
        arrays(),
        GRID,
        "M101",
    ),
    *pair(
        "a read of threadgroup memory that nobody uses",
        shared("float", "s[i]", UNUSED[0]),
        shared("float", "s[i]", UNUSED[1]),
        arrays(),
        GRID,
        "M101",
    ),
)
