"""Inputs of a batch of which every position reads the first part, and inputs that all are to share."""

from __future__ import annotations

import numpy as np

from tests.checker.second_round.case import Case, floats, halves, ints, pair, twin

SCALED = """kernel void k(device const float* x, device const float* w, device float* y, constant uint& n,
                     constant uint& rows, uint3 at [[thread_position_in_grid]]) {
    if (at.x >= n || at.y >= rows) return;
    y[(at.z * rows + at.y) * n + at.x] = x[{AT} * n + at.x] * w[at.x];
}"""
SUMS = """kernel void k(device const half* x, device float* y, constant int& n,
                   uint row [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    float sum = 0;
    for (int i = t; i < n; i += 32) sum += x[{START}i];
    sum = simd_sum(sum);
    if (t == 0) y[row] = sum;
}"""
PRODUCT = """kernel void k(device const float* a, device const float* b, device float* c, constant uint3& size,
                      uint3 at [[thread_position_in_grid]]) {
    if (at.x >= size.y || at.y >= size.x) return;
    a += at.z * size.x * size.z;
    {MOVED}
    float sum = 0;
    for (uint k = 0; k < size.z; k++) sum += a[at.y * size.z + k] * b[k * size.y + at.x];
    c[(at.z * size.x + at.y) * size.y + at.x] = sum;
}"""
HEADS = """kernel void k(device const float4* q, device const float4* keys, device float* out, constant uint& length,
                    uint2 group [[threadgroup_position_in_grid]], uint2 t [[thread_position_in_threadgroup]]) {
    device const float4* mine = keys {HEAD};
    for (uint i = t.x; i < length; i += 8) {
        float sum = 0;
        for (uint d = 0; d < 4; d++) sum += dot(q[group.y * 4 + d], mine[i * 4 + d]);
        out[group.y * length + i] = sum;
    }
}"""
TABLE = """kernel void k(device const float* table, device const int* ids, device float* out,
                    uint2 at [[thread_position_in_grid]]) {
    out[at.y * 16 + at.x] = table[ids[at.y] * 16 + at.x];
}"""
FIRST = """kernel void k(device const float* x, device const float* factor, device float* y,
                    uint i [[thread_position_in_grid]]) {
    y[i] = x[i] * factor[0];
}"""
TURNED = """kernel void k(device const float* x, device const float* angles, device float* y,
                     uint3 at [[thread_position_in_grid]]) {
    uint i = (at.z * 5 + at.y) * 8 + at.x;
    y[i] = x[i] * cos(angles[at.y * 8 + at.x]);
}"""

PLACES = """kernel void k(device const float* x, device const int* places, device float* y,
                     uint2 at [[thread_position_in_grid]]) {
    uint i = at.y * 24 + at.x;
    y[i] = x[i] * places[at.x];
}"""


def made(*counts: int):
    """Arrays of so many elements; the last one is for results."""
    return [*(floats(n) + 1 for n in counts[:-1]), np.zeros(counts[-1], np.float32)]


PRODUCTS = Case(
    "a batch of products with one right side, and data for three",
    PRODUCT.replace("{MOVED}", ""),
    lambda: [*made(3 * 9 * 8, 3 * 8 * 11, 3 * 9 * 11), np.array([9, 11, 8, 0], np.uint32)],
    {"grid": (11, 9, 3), "threadgroup": (11, 3, 1)},
    "M311",
    "add at.z * 88 to the index of 'b'",
)
CASES = (
    *pair(
        "a batch of which the first one is read three times",
        SCALED.replace("{AT}", "at.y"),
        SCALED.replace("{AT}", "(at.z * rows + at.y)"),
        lambda: [*made(555, 37, 555), 37, 5],
        {"grid": (40, 5, 3), "threadgroup": (8, 5, 1)},
        "M311",
        "all 3 threads along z read the same 185 of the 555 elements of 'x'",
    ),
    *pair(
        "rows that all sum the first one",
        SUMS.replace("{START}", ""),
        SUMS.replace("{START}", "row * n + "),
        lambda: [halves(700), np.zeros(7, np.float32), 100],
        {"grid": 7 * 32, "threadgroup": 32},
        "M311",
        "add row * 100 to the index of 'x'",
    ),
    *pair(
        "heads that all read the keys of the first",
        HEADS.replace("{HEAD}", ""),
        HEADS.replace("{HEAD}", "+ group.y * length * 4"),
        lambda: [*made(2 * 16, 2 * 13 * 16, 2 * 13), 13],
        {"grid": (8, 2), "threadgroup": (8, 1)},
        "M311",
        "if both are to share them",
    ),
    PRODUCTS,
    twin(PRODUCTS, text=PRODUCT.replace("{MOVED}", "b += at.z * size.z * size.y;")),
    twin(
        PRODUCTS,
        name="a right side that all products of a batch share",
        arguments=lambda: [*made(3 * 9 * 8, 8 * 11, 3 * 9 * 11), np.array([9, 11, 8, 0], np.uint32)],
    ),
    Case(
        "rows of a table that data chooses",
        TABLE,
        lambda: [floats(4 * 16), ints(4) % 2, np.zeros(64, np.float32)],
        {"grid": (16, 4), "threadgroup": (16, 1)},
    ),
    Case(
        "one number of an array that all take",
        FIRST,
        lambda: made(64, 64, 64),
        {"grid": 64},
    ),
    Case(
        "keys that all heads share, in a cache with room for more",
        HEADS.replace("{HEAD}", ""),
        lambda: [
            floats(32),
            np.append(floats(13 * 16), np.zeros(13 * 16, np.float32)),
            np.zeros(26, np.float32),
            13,
        ],
        {"grid": (8, 2), "threadgroup": (8, 1)},
    ),
    twin(
        PRODUCTS,
        name="weights that all rows of tiles share, with NaN behind them",
        arguments=lambda: [
            floats(3 * 9 * 8),
            np.append(floats(88), np.full(176, np.nan, np.float32)),
            np.zeros(3 * 9 * 11, np.float32),
            np.array([9, 11, 8, 0], np.uint32),
        ],
    ),
    Case(
        "positions in two parts, of which a kernel takes the first",
        PLACES,
        lambda: [floats(2 * 24), ints(48) % 24, np.zeros(48, np.float32)],
        {"grid": (24, 2), "threadgroup": (24, 1)},
    ),
    Case(
        "angles for more rows than there are",
        TURNED,
        lambda: made(4 * 5 * 8, 16 * 8, 4 * 5 * 8),
        {"grid": (8, 5, 4), "threadgroup": (8, 5, 1)},
    ),
)
