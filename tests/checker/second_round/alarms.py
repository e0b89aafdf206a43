"""Parts that are written or read on purpose, over one launch or several, beside those that are mistakes."""

from __future__ import annotations

import numpy as np

from metalloid.runtime.kernel import Kernel
from tests.checker.second_round.case import Case, floats, twin

CHUNK = """kernel void k(device const float* x, device float* out, constant uint& start,
                     uint i [[thread_position_in_grid]]) {
    out[start + i] = x[start + i] + 1;
}"""
HALVE = """kernel void k(device const float* x, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = x[2 * i] + x[2 * i + 1];
}"""
CACHE = """kernel void k(device const float* row, device float* cache, constant uint& at,
                     uint i [[thread_position_in_grid]]) {
    cache[at * 64 + i] = row[i];
}"""
HEAD = """kernel void k(device const float* qkv, device float* q, uint i [[thread_position_in_grid]]) {
    q[i] = 2 * qkv[(i / 16) * 48 + i % 16];
}"""
LAPLACE = """kernel void k(device const float* x, device float* out, constant uint& n,
                     uint2 p [[thread_position_in_grid]]) {
    if (p.x == 0 || p.y == 0 || p.x + 1 == n || p.y + 1 == n) return;
    uint at = p.y * n + p.x;
    out[at] = x[at - 1] + x[at + 1] + x[at - n] + x[at + n] - 4 * x[at];
}"""
FORWARD = """kernel void k(device const float* x, device float* out, constant uint& n,
                     uint i [[thread_position_in_grid]]) {
    if (i + 1 < n) out[i] = x[i + 1] - x[i];
}"""


def chunks(count: int):
    def call(kernel: Kernel) -> None:
        x, out = floats(256), np.zeros(256, np.float32)
        for n in range(count):
            kernel(x, out, 64 * n, grid=64)

    return call


def ping_pong(kernel: Kernel) -> None:
    a, b = floats(256), np.zeros(256, np.float32)
    for n in (128, 64, 32):
        kernel(a, b, grid=n)
        a, b = b, a


MISSING = Case("the last chunk is missing", CHUNK, find="M305", call=chunks(1))
CASES = (
    MISSING,
    twin(MISSING, call=chunks(4)),
    Case("halving back and forth", HALVE, call=ping_pong),
    Case(
        "a cache that is filled so far",
        CACHE,
        lambda: [floats(64), np.zeros(64 * 32, np.float32), 3],
        {"grid": 64},
    ),
    Case(
        "one part of a packed tensor",
        HEAD,
        lambda: [floats(48 * 8), np.zeros(128, np.float32)],
        {"grid": 128},
    ),
    Case(
        "a stencil that leaves the border",
        LAPLACE,
        lambda: [floats(256), np.zeros(256, np.float32), 16],
        {"grid": (16, 16)},
    ),
    Case(
        "a difference that leaves the last",
        FORWARD,
        lambda: [floats(256), np.zeros(256, np.float32), 256],
        {"grid": 256},
    ),
)
