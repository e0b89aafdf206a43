"""Kernels of one element each: sums, functions, generators, bodies, gathers of rows."""

from __future__ import annotations

import numpy as np

from bench.shapes.textbook import LINE, PLANE, Data, Size, Textbook, double, empty, numbers, total


def add(kind: str, size: Size, group: Size) -> Data:
    a, b, c = numbers(size, kind), numbers(size, kind, seed=1), empty(size, kind)
    return Data(
        (a, b, c), {2: double(a) + double(b)}, size[::-1], size[::-1], numpy=lambda: np.add(a, b, out=c)
    )


def saxpy(kind: str, size: Size, group: Size) -> Data:
    x, y = numbers(size, kind), numbers(size, kind, seed=1)
    first = y.copy()
    return Data((x, y), {1: 0.5 * double(x) + double(first)}, size, size, start={1: first})


def silu(kind: str, size: Size, group: Size) -> Data:
    x, y = numbers(size, kind, -8, 8), empty(size, kind)
    expected = double(x) / (1 + np.exp(-double(x)))
    return Data((x, y), {1: expected}, size, more=size, numpy=lambda: np.divide(x, 1 + np.exp(-x), out=y))


def _cdf(d: np.ndarray) -> np.ndarray:
    k = 1 / (1 + 0.2316419 * np.abs(d))
    s = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    c = 0.39894228 * np.exp(-0.5 * d * d) * s
    return np.where(d > 0, 1 - c, c)


def black_scholes(kind: str, size: Size, group: Size) -> Data:
    price, strike = numbers(size, kind, 5, 30), numbers(size, kind, 1, 100, 1)
    years, call, put = numbers(size, kind, 0.25, 10, 2), empty(size), empty(size)
    s, x, t = double(price), double(strike), double(years)
    rate, sigma = 0.02, 0.3
    d1 = (np.log(s / x) + (rate + 0.5 * sigma**2) * t) / (sigma * np.sqrt(t))
    n1, n2 = _cdf(d1), _cdf(d1 - sigma * np.sqrt(t))
    worth = x * np.exp(-rate * t)
    expected = {3: s * n1 - worth * n2, 4: worth * (1 - n2) - s * (1 - n1)}
    return Data((price, strike, years, call, put), expected, size, more=size)


def random(kind: str, size: Size, group: Size) -> Data:
    seed, out, rounds = numbers(size, "uint", 1, 1 << 31), empty(size), 16
    s, expected = seed.copy(), np.zeros(size)
    for _ in range(rounds):
        s ^= s << 13
        s ^= s >> 17
        s ^= s << 5
        expected += (s >> 8) / 16777216
    return Data((seed, out), {1: expected}, size, (rounds,), size)


def mandelbrot(kind: str, size: Size, group: Size) -> Data:
    h, w = size
    most, out = 64, empty(size, "int")
    cx = np.float32(-2) + np.float32(3) * np.arange(w, dtype=np.float32)[None] / np.float32(w)
    cy = np.float32(-1.5) + np.float32(3) * np.arange(h, dtype=np.float32)[:, None] / np.float32(h)
    x, y, n = np.zeros(size, np.float32), np.zeros(size, np.float32), np.zeros(size, np.int32)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(most):
            inside = x * x + y * y <= 4
            n += inside
            x, y = np.where(inside, x * x - y * y + cx, x), np.where(inside, 2 * x * y + cy, y)
    return Data((out,), {0: n}, (w, h), (w, h, most), strays=0.01)


def nbody(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    bodies, pull = numbers((n, 4), low=0), empty((n, 4))
    b, expected = double(bodies), np.zeros((n, 4))
    for i in range(n):
        d = b[:, :3] - b[i, :3]
        expected[i, :3] = (d * (b[:, 3] * ((d * d).sum(1) + 0.01) ** -1.5)[:, None]).sum(0)
    return Data((bodies, pull), {1: expected}, size, size)


def gather_rows(kind: str, size: Size, group: Size) -> Data:
    count, width = size
    table, rows = numbers((4096, width), kind), numbers(count, "int", 0, 4096)
    out = empty(size, kind)
    grid = (width, count) if len(group) > 1 else (total(size),)
    return Data(
        (table, rows, out), {2: double(table)[rows]}, grid, (width,), (count,),
        numpy=lambda: np.take(table, rows, 0, out=out),
    )  # fmt: skip


def gray(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a, b = numbers((n, 4), "uchar", 0, 256), empty(size, "uchar")
    expected = a[:, :3].astype(np.int64) @ (77, 150, 29) >> 8
    return Data((a, b), {1: expected}, size, size)


def brighten(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a, b = numbers((n, 4), "uchar", 0, 256), empty((n, 4), "uchar")
    expected = np.minimum(a.astype(np.float32) * np.float32(1.25), 255).astype(np.int64)
    return Data((a, b), {1: expected}, size, size)


def length3(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a, b = numbers((n, 4)), empty(size)
    return Data((a, b), {1: np.sqrt((double(a)[:, :3] ** 2).sum(1))}, size, size)


ALL = "pointwise"
FLAT = ((32, 1), (64, 1), (32, 8), (8, 8))
WIDE = ((1 << 18,), (1 << 20,))
BOOKS = (
    Textbook("add", ALL, add, ((1 << 18,), (1 << 22,)), LINE, ("float", "half")),
    Textbook("add2d", ALL, add, ((1024, 1024), (500, 500)), PLANE, ("float", "half")),
    Textbook("saxpy", ALL, saxpy, WIDE, LINE, ("float", "half")),
    Textbook("silu", ALL, silu, ((1 << 18,),), LINE, ("float", "half")),
    Textbook("black_scholes", ALL, black_scholes, ((1 << 17,),), LINE),
    Textbook("random", ALL, random, ((1 << 18,),), LINE, c="random_"),
    Textbook("mandelbrot", ALL, mandelbrot, ((256, 256),), PLANE),
    Textbook("nbody", ALL, nbody, ((1024,),), LINE),
    Textbook("gather_rows", ALL, gather_rows, ((4096, 128), (4096, 100)), FLAT, ("half", "float")),
    Textbook("gather_flat", ALL, gather_rows, ((4096, 128), (4096, 100)), LINE, ("half", "float"), c="gather_rows"),
    Textbook("gray", ALL, gray, ((1 << 18,),), LINE, ("uchar",)),
    Textbook("brighten", ALL, brighten, ((1 << 18,),), LINE, ("uchar",)),
    Textbook("length3", ALL, length3, ((1 << 18,),), LINE),
)  # fmt: skip
