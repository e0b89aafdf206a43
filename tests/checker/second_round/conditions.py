"""Grids that have fewer positions than the kernel's own condition lets through, whatever its inputs are."""

from __future__ import annotations

import numpy as np

from tests.checker.second_round.case import Case, floats, twin

PRODUCT = """kernel void k(device const float* a, device const float* b, device float* c, constant uint& m,
                     constant uint& n, constant uint& depth, uint2 p [[thread_position_in_grid]],
                     uint2 g [[threadgroup_position_in_grid]], uint2 t [[thread_position_in_threadgroup]]) {
    uint row = {ROW}, col = {COL};
    if (row >= m || col >= n) return;
    float s = 0;
    for (uint j = 0; j < depth; ++j) s += a[row * depth + j] * b[j * n + col];
    c[row * n + col] = s;
}"""
MULTIPLY = PRODUCT.replace("{ROW}", "p.y").replace("{COL}", "p.x")
BY_HAND = PRODUCT.replace("{ROW}", "g.y * 8 + t.y").replace("{COL}", "g.x * 8 + t.x")
IMAGE = """kernel void k(device const float* x, device float* y, constant uint& w, constant uint& h,
                     uint2 p [[thread_position_in_grid]]) {
    if (p.x < w && p.y < h) y[p.y * w + p.x] = 2 * x[p.y * w + p.x];
}"""
VOLUME = """kernel void k(device const float* x, device float* y, constant uint3& size,
                     uint3 p [[thread_position_in_grid]]) {
    if (any(p >= size)) return;
    uint at = (p.z * size.y + p.y) * size.x + p.x;
    y[at] = 2 * x[at];
}"""
ROWS = """kernel void k(device const float* x, device float* y, constant uint& rows, constant uint& n,
                     uint r [[thread_position_in_grid]]) {
    if (r >= rows) return;
    float s = 0;
    for (uint j = 0; j < n; ++j) s += x[r * n + j];
    y[r] = s;
}"""
CACHE = """kernel void k(device const float* x, device float* y, constant uint& room, constant uint& width,
                     constant uint& first, uint2 p [[thread_position_in_grid]]) {
    uint row = p.y + {FIRST};
    if (row < room && p.x < width) y[row * width + p.x] = x[p.y * width + p.x];
}"""
HEAD = """kernel void k(device const float* x, device float* y, constant uint& w, constant uint& h, constant uint& d,
                     uint2 p [[thread_position_in_grid]]) {
    if (p.x < d && p.y < h) y[p.y * w + p.x] = 2 * x[p.y * d + p.x];
}"""


def product():
    return [floats(20 * 12), floats(12 * 36), np.zeros((20, 36), np.float32), 20, 36, 12]


def image():
    return [floats(50 * 30), np.zeros((30, 50), np.float32), 50, 30]


def volume(*size: int):
    return lambda: [floats(480), np.zeros((8, 6, 10), np.float32), np.array(size, np.uint32)]


def cache(first: int):
    return lambda: [floats(80), np.zeros((64, 8), np.float32), 64, 8, first]


TILES = {"threadgroup": (8, 8)}
WRONG = (
    Case(
        "threadgroups for threads, sizes no multiples",
        MULTIPLY,
        product,
        {"grid": (5, 3), **TILES},
        "M305",
        "grid counts threads, not threadgroups: launch grid=(36, 20), or threadgroups=(5, 3)",
    ),
    Case(
        "axes of the product's grid",
        MULTIPLY,
        product,
        {"grid": (20, 36), **TILES},
        "M106",
        "have changed places",
    ),
    Case(
        "threadgroups rounded down, positions by hand",
        BY_HAND,
        product,
        {"threadgroups": (4, 2), **TILES},
        "M305",
        "lets 36 x 20 threads write, and 32 x 16 of them ran",
    ),
    Case(
        "columns rounded down",
        IMAGE,
        image,
        {"threadgroups": (6, 4), **TILES},
        "M305",
        "launch grid=(50, 30), or threadgroups=(7, 4) (rounded up)",
    ),
    Case(
        "threadgroups along the wrong axes",
        IMAGE,
        image,
        {"threadgroups": (4, 7), **TILES},
        "M305",
        "have changed places: launch grid=(50, 30)",
    ),
    Case(
        "threadgroups for threads of a volume",
        VOLUME,
        volume(10, 6, 8),
        {"grid": (3, 2, 2), "threadgroup": (4, 4, 4)},
        "M305",
        "lets 10 x 6 x 8 threads write, and 3 x 2 x 2 of them ran",
    ),
    Case(
        "four rows too few",
        ROWS,
        lambda: [floats(700), np.zeros(100, np.float32), 100, 7],
        {"grid": 96},
        "M305",
        "lets 100 threads along x write, and 96 of them ran",
    ),
)
RIGHT = (
    twin(WRONG[0], sizes={"threadgroups": (5, 3), **TILES}),
    twin(WRONG[2], sizes={"threadgroups": (5, 3), **TILES}),
    twin(WRONG[3], sizes={"threadgroups": (7, 4), **TILES}),
    twin(WRONG[5], sizes={"grid": (10, 6, 8), "threadgroup": (4, 4, 4)}),
    Case("a cache with room for more", CACHE.replace("{FIRST}", "0"), cache(0), {"grid": (8, 10)}),
    Case(
        "a cache with room for more, from a row on",
        CACHE.replace("{FIRST}", "first"),
        cache(0),
        {"grid": (8, 10)},
    ),
    Case(
        "one head of three",
        HEAD,
        lambda: [floats(480), np.zeros((30, 48), np.float32), 48, 30, 16],
        {"grid": (16, 30)},
    ),
)
CASES = (*WRONG, *RIGHT)
