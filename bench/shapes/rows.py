"""Kernels that give each thread a row of its own, and one that gathers an image's neighbours."""

from __future__ import annotations

import numpy as np

from bench.shapes.textbook import PLANE, Array, Data, Size, Textbook, double, empty, numbers


def rows_data(*arrays: Array, expected: Array, out: Array, size: Size) -> Data:
    """Of a kernel that takes its arrays, what it writes, and how wide and how many rows are."""
    rows, width = size
    return Data((*arrays, out), {len(arrays): expected}, (rows,), (width, rows))


def cosine_rows(kind: str, size: Size, group: Size) -> Data:
    a, b = numbers(size, kind), numbers(size, kind, seed=1)
    x, y = double(a), double(b)
    expected = (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1))
    return rows_data(a, b, expected=expected, out=empty(size[0]), size=size)


def limits_of_rows(kind: str, size: Size, group: Size) -> Data:
    a = numbers(size, kind)
    expected = np.stack([double(a).min(1), double(a).max(1)], 1)
    return rows_data(a, expected=expected, out=empty((size[0], 2)), size=size)


def greatest_of_rows(kind: str, size: Size, group: Size) -> Data:
    a = numbers(size, kind, *((0, 256) if kind == "uchar" else (-1, 1)))
    return (
        rows_data(a, expected=a.max(1).astype(np.int64), out=empty(size[0], kind), size=size)
        if kind == "uchar"
        else (rows_data(a, expected=double(a).max(1), out=empty(size[0], kind), size=size))
    )


def unit_rows(kind: str, size: Size, group: Size) -> Data:
    a = numbers(size, kind)
    x = double(a)
    expected = x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5)
    return rows_data(a, expected=expected, out=empty(size, kind), size=size)


def scale_rows(kind: str, size: Size, group: Size) -> Data:
    a, scales = numbers(size, kind), numbers(size[0], seed=1)
    return rows_data(
        a, scales, expected=double(a) * double(scales)[:, None], out=empty(size, kind), size=size
    )


def quantise_blocks(kind: str, size: Size, group: Size) -> Data:
    a, out, scales = numbers(size, kind), empty(size, "char"), empty(size[0] // 32)
    x = a.astype(np.float32).reshape(-1, 32)
    scale = np.abs(x).max(1, keepdims=True) / np.float32(127)
    expected = np.rint(x * (1 / scale)).astype(np.int64).reshape(-1)
    blocks = (size[0] // 32,)
    return Data((a, out, scales), {1: expected, 2: double(scale[:, 0])}, blocks, more=blocks, strays=0.01)


def columns_of_image(kind: str, size: Size, group: Size) -> Data:
    channels, height, width = size
    a, out = numbers(size, kind), empty((channels, 3, 3, height, width), kind)
    padded = np.pad(double(a), ((0, 0), (1, 1), (1, 1)))
    expected = np.stack([padded[:, y : y + height, x : x + width] for y in range(3) for x in range(3)], 1)
    return Data(
        (a, out), {1: expected.reshape(out.shape)}, (width, height, channels), (height, width, channels)
    )


ALL = "rows"
WIDTHS = ((4096, 20), (4096, 100), (1000, 1024))
GROUPS = ((32,), (256,))
FLOATS = ("float", "half")
BOOKS = (
    Textbook("cosine_rows", ALL, cosine_rows, WIDTHS, GROUPS, FLOATS),
    Textbook("limits_of_rows", ALL, limits_of_rows, WIDTHS, GROUPS, FLOATS),
    Textbook("greatest_of_rows", ALL, greatest_of_rows, WIDTHS, GROUPS, ("float", "half", "uchar")),
    Textbook("unit_rows", ALL, unit_rows, WIDTHS, GROUPS, FLOATS),
    Textbook("scale_rows", ALL, scale_rows, ((4096, 8), *WIDTHS), GROUPS, FLOATS),
    Textbook("quantise_blocks", ALL, quantise_blocks, ((1 << 18,),), GROUPS, FLOATS),
    Textbook("columns_of_image", ALL, columns_of_image, ((8, 100, 100), (3, 224, 224)), PLANE[:4], FLOATS),
)  # fmt: skip
