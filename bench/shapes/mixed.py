"""Tables, points, axes that change places, counters of each thread, packed weights, searches."""

from __future__ import annotations

import numpy as np

from bench.shapes.textbook import LINE, POWERS, Data, Size, Textbook, double, empty, numbers


def table_of_bytes(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a, table, out = (
        numbers(size, "uchar", 0, 256),
        numbers(256, "uchar", 0, 256, seed=1),
        empty(size, "uchar"),
    )
    return Data((a, table, out), {2: table[a]}, size, (n,), numpy=lambda: np.take(table, a, out=out))


def transform_points(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a, matrix, out = numbers((n, 4)), numbers((4, 4), seed=1), empty((n, 4))
    return Data((a, matrix, out), {2: double(a) @ double(matrix).T}, size, (n,))


def nearest_point(kind: str, size: Size, group: Size) -> Data:
    n, count = size
    a, centres, out = numbers((n, 3)), numbers((count, 3), seed=1), empty(n, "int")
    apart = ((double(a)[:, None] - double(centres)[None]) ** 2).sum(2)
    return Data((a, centres, out), {2: apart.argmin(1)}, (n,), (count, n), strays=0.001)


def permute_axes(kind: str, size: Size, group: Size) -> Data:
    x, y, z = size
    a, out = numbers(size, kind), empty((y, x, z), kind)
    return Data((a, out), {1: double(a).transpose(1, 0, 2)}, (x * y * z,), size)


def votes(kind: str, size: Size, group: Size) -> Data:
    n, each = size
    a, out = numbers(size, "uchar", 0, 256), empty(n, "uchar")
    counts = ((a & 15)[:, :, None] == np.arange(16)).sum(1)
    return Data((a, out), {1: counts.argmax(1)}, (n,), (each, n))


def block_total(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a, out = numbers(size, low=0), empty(1)
    return Data(
        (a, out), {1: double(a).sum(keepdims=True)}, (-(-n // 1024) * 1024,), (n,), group, start={1: 0}
    )


def dequantise(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a = np.zeros(n, np.dtype([("d", np.float16), ("qs", np.uint8, 16)]))
    made = np.random.default_rng(0)
    a["d"], a["qs"] = made.uniform(-1, 1, n), made.integers(0, 256, (n, 16))
    raw, out = a.view(np.uint8), empty((n, 32), kind)
    halves = np.concatenate([a["qs"] & 15, a["qs"] >> 4], 1).astype(np.float64) - 8
    return Data((raw, out), {1: double(a["d"])[:, None] * halves}, size, size)


def pair_distances(kind: str, size: Size, group: Size) -> Data:
    n, m, width = size
    a, b, out = numbers((n, width)), numbers((m, width), seed=1), empty((n, m))
    x, y = double(a), double(b)
    squares = (x * x).sum(1)[:, None] + (y * y).sum(1)[None] - 2 * x @ y.T
    return Data((a, b, out), {2: np.sqrt(squares)}, (m, n), (width, n, m))


def bits_apart(kind: str, size: Size, group: Size) -> Data:
    n, words = size
    a, key, out = numbers(size, "uint", 0, 2**32), numbers(words, "uint", 0, 2**32, seed=1), empty(n, "uint")
    return Data((a, key, out), {2: np.bitwise_count(a ^ key).sum(1)}, (n,), (words, n))


def value_noise(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a, places, out = numbers((n, 2), low=-100, high=100), empty(256, "uchar"), empty(n)
    places[...] = np.random.default_rng(1).permutation(256)
    p, table = double(a), places.astype(np.int64)
    cell = np.floor(p)
    f, (x, y) = p - cell, cell.astype(np.int64).T
    s = f * f * (3 - 2 * f)
    at = [[table[(table[(x + i) & 255] + y + j) & 255].astype(float) for i in (0, 1)] for j in (0, 1)]
    top, low = (row[0] + (row[1] - row[0]) * s[:, 0] for row in at)
    return Data((a, places, out), {2: (top + (low - top) * s[:, 1]) / 255}, size, size)


def collatz(kind: str, size: Size, group: Size) -> Data:
    a, out = numbers(size, "uint", 1, 10000), empty(size, "uint")
    x, expected = a.astype(np.int64), np.zeros(size, np.int64)
    while (x > 1).any():
        expected += x > 1
        x = np.where(x <= 1, x, np.where(x & 1, 3 * x + 1, x // 2))
    return Data((a, out), {1: expected}, size, size)


def lower_bound(kind: str, size: Size, group: Size) -> Data:
    n, count = size
    a, wanted, out = (
        numbers(count, kind, -10000, 10000),
        numbers(n, kind, -10000, 10000, seed=1),
        empty(n, "uint"),
    )
    a.sort()
    return Data((a, wanted, out), {2: np.searchsorted(a, wanted)}, (n,), (count, n))


ALL = "mixed"
PAIRS = ((8, 8), (16, 16), (32, 1), (20, 20))
BOOKS = (
    Textbook("table_of_bytes", ALL, table_of_bytes, ((1 << 18,), (100001,)), LINE, ("uchar",)),
    Textbook("transform_points", ALL, transform_points, ((1 << 16,), (10001,)), LINE),
    Textbook("nearest_point", ALL, nearest_point, ((10000, 16), (2000, 300)), LINE),
    Textbook("permute_axes", ALL, permute_axes, ((64, 32, 64), (50, 60, 70), (300, 12, 20)), LINE, ("float", "half")),
    Textbook("votes", ALL, votes, ((4096, 32), (1000, 500)), LINE, ("uchar",)),
    Textbook("block_total", ALL, block_total, ((1 << 18,), (100001,)), POWERS),
    Textbook("dequantise", ALL, dequantise, ((8192,), (3001,)), LINE, ("float", "half")),
    Textbook("pair_distances", ALL, pair_distances, ((300, 400, 32), (512, 512, 3), (200, 200, 100)), PAIRS),
    Textbook("bits_apart", ALL, bits_apart, ((8192, 8), (4000, 33)), LINE, ("uint",)),
    Textbook("value_noise", ALL, value_noise, ((1 << 16,), (10001,)), LINE),
    Textbook("collatz", ALL, collatz, ((20000,),), LINE, ("uint",)),
    Textbook("lower_bound", ALL, lower_bound, ((1 << 15, 1000), (10001, 50000)), LINE, ("float", "int")),
)  # fmt: skip
