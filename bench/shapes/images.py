"""Images: patches, other sizes, clamped edges, bytes, channels, weights."""

from __future__ import annotations

import numpy as np

from bench.shapes.textbook import LINE, PLANE, Array, Data, Size, Textbook, double, empty, numbers


def im2col(kind: str, size: Size, group: Size) -> Data:
    c, h, w = size
    a, out = numbers(size, kind), empty((c, 9, h - 2, w - 2), kind)
    patches = [double(a)[:, y : y + h - 2, x : x + w - 2] for y in range(3) for x in range(3)]
    return Data((a, out), {1: np.stack(patches, 1)}, (w, h, c), (w, h, c))


def bilinear(kind: str, size: Size, group: Size) -> Data:
    h, w, toh, tow = size
    a, out = numbers((h, w), kind, *_limits(kind)), empty((toh, tow), kind)

    def places(n: int, to: int) -> tuple[Array, Array, Array]:
        at = np.clip((np.arange(to) + 0.5) * n / to - 0.5, 0, n - 1)
        low = at.astype(np.int64)
        return low, np.minimum(low + 1, n - 1), at - low

    left, right, fx = places(w, tow)
    up, down, fy = places(h, toh)
    x = double(a)
    rows = x[:, left] * (1 - fx) + x[:, right] * fx
    expected = rows[up] * (1 - fy[:, None]) + rows[down] * fy[:, None]
    if kind == "uchar":
        expected = expected.astype(np.uint8)
    return Data((a, out), {1: expected}, (tow, toh), (w, h, tow, toh), strays=0.05)


def _limits(kind: str) -> tuple[float, float]:
    return (
        (0, 256) if kind == "uchar" else (-0.25, 0.25)
    )  # places are rounded: a pixel beside counts a little


def dilate(kind: str, size: Size, group: Size) -> Data:
    h, w = size
    a, out = numbers(size, kind, 0, 255), empty(size, kind)
    around = np.pad(a, 1, mode="edge")
    near = [around[y : y + h, x : x + w] for y in range(3) for x in range(3)]
    return Data((a, out), {1: double(np.maximum.reduce(near)).astype(a.dtype)}, (w, h), (w, h))


def sobel(kind: str, size: Size, group: Size) -> Data:
    h, w = size
    a, out = numbers(size), empty(size)
    x, expected = double(a), np.zeros(size)
    across = x[:, 2:] - x[:, :-2]
    down = x[2:] - x[:-2]
    gx = across[:-2] + 2 * across[1:-1] + across[2:]
    gy = down[:, :-2] + 2 * down[:, 1:-1] + down[:, 2:]
    expected[1:-1, 1:-1] = np.sqrt(gx * gx + gy * gy)
    return Data((a, out), {1: expected}, (w, h), (w, h), start={1: 0})


def planes(kind: str, size: Size, group: Size) -> Data:
    h, w = size
    a, out = numbers((h, w, 3), "uchar", 0, 256), empty((3, h, w))
    return Data((a, out), {1: np.moveaxis(double(a) / 255, -1, 0)}, (w, h), (w, h))


def upsample(kind: str, size: Size, group: Size) -> Data:
    h, w = size
    a, out = numbers(size, kind, 0, 200), empty((2 * h, 2 * w), kind)
    expected = a.repeat(2, 0).repeat(2, 1)
    return Data((a, out), {1: expected}, (2 * w, 2 * h), (w, h))


def depthwise(kind: str, size: Size, group: Size) -> Data:
    h, w, c = size
    a, weights, out = numbers(size), numbers((9, c), seed=1), empty((h - 2, w - 2, c))
    x = double(a)
    near = [x[y : y + h - 2, z : z + w - 2] * double(weights)[3 * y + z] for y in range(3) for z in range(3)]
    return Data((a, weights, out), {2: sum(near)}, (c, w, h), (c, w, h))


def conv2d(kind: str, size: Size, group: Size) -> Data:
    c, filters, h, w = size
    a, weights, out = numbers((c, h, w)), numbers((filters, c, 3, 3), seed=1), empty((filters, h, w))
    x, taps = np.pad(double(a), ((0, 0), (1, 1), (1, 1))), double(weights)
    expected = np.zeros((filters, h, w))
    for y in range(3):
        for z in range(3):
            expected += np.einsum("fc,chw->fhw", taps[:, :, y, z], x[:, y : y + h, z : z + w])
    return Data((a, weights, out), {2: expected}, (w, h, filters), (c, w, h), (filters,))


def life(kind: str, size: Size, group: Size) -> Data:
    h, w = size
    a, out = numbers(size, "uchar", 0, 2), empty(size, "uchar")
    near = sum(np.roll(a, (y, x), (0, 1)).astype(int) for y in (-1, 0, 1) for x in (-1, 0, 1)) - a
    return Data((a, out), {1: (near == 3) | ((near == 2) & (a == 1))}, (w, h), (w, h))


def column_scan(kind: str, size: Size, group: Size) -> Data:
    h, w = size
    a, out = numbers(size, kind, *((0, 9) if kind == "int" else (-1, 1))), empty(size, kind)
    return Data((a, out), {1: np.cumsum(a if kind == "int" else double(a), 0)}, (w,), (w, h))


ALL = "images"
BYTES = ("uchar", "float")
BOOKS = (
    Textbook("im2col", ALL, im2col, ((3, 224, 224), (16, 50, 50)), PLANE, ("float", "half")),
    Textbook("bilinear", ALL, bilinear, ((400, 300, 640, 480), (512, 512, 200, 300)), PLANE, BYTES),
    Textbook("dilate", ALL, dilate, ((512, 512), (500, 700)), PLANE, BYTES),
    Textbook("sobel", ALL, sobel, ((512, 512), (500, 700)), PLANE),
    Textbook("planes", ALL, planes, ((512, 512), (500, 333)), PLANE),
    Textbook("upsample", ALL, upsample, ((512, 512), (250, 333)), PLANE, BYTES),
    Textbook("depthwise", ALL, depthwise, ((56, 56, 64), (30, 30, 100)), PLANE),
    Textbook("conv2d", ALL, conv2d, ((8, 16, 56, 56), (3, 8, 100, 100)), PLANE),
    Textbook("life", ALL, life, ((512, 512), (500, 700)), PLANE),
    Textbook("column_scan", ALL, column_scan, ((512, 512), (1000, 100), (100, 5000)), LINE, ("float", "int")),
)
