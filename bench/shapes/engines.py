"""What engines and simulations are full of: activations, copies by strides, pools, filters, waves, sorted pieces."""

from __future__ import annotations

import numpy as np

from bench.shapes.textbook import PLANE, Array, Data, Size, Textbook, double, empty, numbers


def gelu(kind: str, size: Size, group: Size) -> Data:
    a, out = numbers(size, kind, -3, 3), empty(size, kind)
    x = double(a)
    expected = 0.5 * x * (1 + np.tanh(0.79788456 * (x + 0.044715 * x**3)))
    return Data((a, out), {1: expected}, size, size)


def copy_by_strides(kind: str, size: Size, group: Size) -> Data:
    z, y, x = size
    a, out = numbers((x, z, y), kind), empty(size, kind)
    shape, strides = empty(3, "int"), empty(3, "int")
    shape[...], strides[...] = size, (y, 1, z * y)
    expected = double(a).transpose(1, 2, 0)
    return Data((a, out, shape, strides), {1: expected}, (x * y * z,), (3, x * y * z))


def slices(kind: str, size: Size, group: Size) -> Data:
    """Rows of larger rows."""
    z, y, x = size
    a, out = numbers((z, y, 2 * x), kind), empty(size, kind)
    shape, strides = empty(3, "int"), empty(3, "int")
    shape[...], strides[...] = size, (2 * y * x, 2 * x, 1)
    return Data((a, out, shape, strides), {1: double(a)[:, :, :x]}, (x * y * z,), (3, x * y * z))


def max_pool(kind: str, size: Size, group: Size) -> Data:
    c, h, w = size
    toh, tow = (h + 1) // 2, (w + 1) // 2
    a, out = numbers(size, kind, 0, 100), empty((c, toh, tow), kind)
    wide = np.full((c, 2 * toh + 2, 2 * tow + 2), -10000.0)
    wide[:, :h, :w] = double(a)
    near = [wide[:, y : y + 2 * toh : 2, x : x + 2 * tow : 2] for y in range(3) for x in range(3)]
    return Data((a, out), {1: np.maximum.reduce(near)}, (tow, toh, c), (w, h, tow, toh), (c,))


def ell(kind: str, size: Size, group: Size) -> Data:
    rows, each = size
    columns, values = numbers((each, rows), "int", 0, rows), numbers((each, rows), seed=1)
    x, y = numbers(rows, seed=2), empty(rows)
    expected = (double(values) * double(x)[columns]).sum(0)
    return Data((columns, values, x, y), {3: expected}, (rows,), (each, rows))


def gauss(kind: str, size: Size, group: Size) -> Data:
    h, w, radius = size
    a, weights, out = numbers((h, w)), numbers(2 * radius + 1, seed=1), empty((h, w))
    wide = np.pad(double(a), ((0, 0), (radius, radius)), mode="edge")
    expected = sum(double(weights)[d] * wide[:, d : d + w] for d in range(2 * radius + 1))
    return Data((a, weights, out), {2: expected}, (w, h), (radius, w, h))


def sort_eights(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a = numbers((n, 8))
    first = a.copy()
    return Data((a,), {0: np.sort(first, 1)}, size, size, start={0: first})


def edit_distance(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    words, other, out = numbers((n, 16), "uchar", 0, 4), numbers(16, "uchar", 0, 4, seed=1), empty(n, "int")
    row: list[Array | int] = [np.full(n, k) for k in range(17)]
    for y in range(1, 17):
        corner, row[0] = row[0], np.full(n, y)
        for x in range(1, 17):
            above = row[x]
            row[x] = np.minimum(np.minimum(above, row[x - 1]) + 1, corner + (words[:, y - 1] != other[x - 1]))
            corner = above
    return Data((words, other, out), {2: row[16]}, size, size)


def unpack_bits(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a, out = numbers(n // 32, "uint", 0, 2**32), empty(n, "uchar")
    return Data((a, out), {1: np.unpackbits(a.view(np.uint8), bitorder="little")}, size, size)


def pack_bits(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a, out = numbers((n, 32), "uchar", 0, 2), empty(n, "uint")
    expected = np.packbits(a, axis=1, bitorder="little").view(np.uint32).reshape(-1)
    return Data((a, out), {1: expected}, size, size)


def wave(kind: str, size: Size, group: Size) -> Data:
    h, w = size
    now, before, after = numbers(size), numbers(size, seed=1), empty(size)
    x, expected = double(now), np.zeros(size)
    around = x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1] - 4 * x[1:-1, 1:-1]
    expected[1:-1, 1:-1] = 2 * x[1:-1, 1:-1] - double(before)[1:-1, 1:-1] + 0.25 * around
    return Data((now, before, after), {2: expected}, (w, h), (w, h), start={2: 0})


def mix_words(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a, out = numbers((n, 4), "uint", 0, 2**32), empty(n, "uint")
    x, y, z, w = (a[:, k].copy() for k in range(4))
    for _ in range(16):
        for first, second in ((16, 12), (8, 7)):
            x = x + y
            w = _turned(w ^ x, first)
            z = z + w
            y = _turned(y ^ z, second)
    return Data((a, out), {1: x ^ y ^ z ^ w}, size, size)


def _turned(x: Array, n: int) -> Array:
    return x << np.uint32(n) | x >> np.uint32(32 - n)


def segment_sums(kind: str, size: Size, group: Size) -> Data:
    n, most = size
    lengths = np.random.default_rng(0).integers(0, most, n)
    starts = empty(n + 1, "int")
    starts[...] = np.concatenate([[0], np.cumsum(lengths)])
    a, out = numbers(int(starts[-1])), empty(n)
    sums = np.concatenate([[0], np.cumsum(double(a))])
    return Data((a, starts, out), {2: sums[starts[1:]] - sums[starts[:-1]]}, (n,), (n,))


def particles(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    p, dt = numbers((n, 8)), empty(1)
    dt[0], first = 0.01, p.copy()
    x, v, step = double(first)[:, :3], double(first)[:, 4:7], float(dt[0])
    expected = double(first)
    v = v - x * (step / ((x * x).sum(1, keepdims=True) + 0.1))
    expected[:, 4:7], expected[:, :3], expected[:, 7] = v, x + v * step, expected[:, 7] + step
    return Data((p, dt), {0: expected}, size, size, start={0: first})


ALL = "engines"
BOTH, FLAT = ("float", "half"), ((32,), (256,), (1000,))
STRIDED = "copy_by_strides"
SOLID = ((8, 8, 1), (32, 8, 1), (64, 1, 1))
BOOKS = (
    Textbook("gelu", ALL, gelu, ((1 << 17,), (100001,)), FLAT, BOTH),
    Textbook("copy_by_strides", ALL, copy_by_strides, ((40, 64, 128), (30, 50, 70)), FLAT, BOTH),
    Textbook("slices", ALL, slices, ((40, 64, 128), (30, 50, 70)), FLAT, BOTH, STRIDED, STRIDED),
    Textbook("max_pool", ALL, max_pool, ((16, 112, 112), (3, 55, 77)), SOLID, BOTH),
    Textbook("ell", ALL, ell, ((16384, 16), (5000, 33)), FLAT),
    Textbook("gauss", ALL, gauss, ((512, 512, 3), (300, 500, 8)), PLANE),
    Textbook("sort_eights", ALL, sort_eights, ((1 << 14,), (5001,)), FLAT),
    Textbook("edit_distance", ALL, edit_distance, ((4096,), (1001,)), FLAT, ("uchar",)),
    Textbook("unpack_bits", ALL, unpack_bits, ((1 << 18,), (100000,)), FLAT, ("uchar",)),
    Textbook("pack_bits", ALL, pack_bits, ((1 << 14,), (3001,)), FLAT, ("uchar",)),
    Textbook("wave", ALL, wave, ((512, 512), (500, 700)), PLANE),
    Textbook("mix_words", ALL, mix_words, ((1 << 15,), (10001,)), FLAT, ("uint",)),
    Textbook("segment_sums", ALL, segment_sums, ((10000, 20), (1000, 500)), FLAT),
    Textbook("particles", ALL, particles, ((1 << 15,), (10001,)), FLAT),
)  # fmt: skip
