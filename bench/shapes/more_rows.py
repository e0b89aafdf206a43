"""More kernels that give each thread a row of its own, in widths that fill no register."""

from __future__ import annotations

import numpy as np

from bench.shapes.rows import FLOATS, GROUPS, rows_data
from bench.shapes.textbook import Data, Size, Textbook, double, empty, numbers


def softmax_of_rows(kind: str, size: Size, group: Size) -> Data:
    a = numbers(size, kind)
    e = np.exp(double(a) - double(a).max(1, keepdims=True))
    return rows_data(a, expected=e / e.sum(1, keepdims=True), out=empty(size, kind), size=size)


def layernorm_of_rows(kind: str, size: Size, group: Size) -> Data:
    a, weight, bias = numbers(size, kind), numbers(size[1], seed=1), numbers(size[1], seed=2)
    x = double(a)
    expected = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    expected = expected * double(weight) + double(bias)
    return rows_data(a, weight, bias, expected=expected, out=empty(size, kind), size=size)


def place_of_greatest(kind: str, size: Size, group: Size) -> Data:
    a = numbers(size, kind)
    return rows_data(a, expected=a.argmax(1), out=empty(size[0], "int"), size=size)


def distances(kind: str, size: Size, group: Size) -> Data:
    a, point = numbers(size, kind), numbers(size[1], kind, seed=1)
    expected = np.sqrt(((double(a) - double(point)) ** 2).sum(1))
    return rows_data(a, point, expected=expected, out=empty(size[0]), size=size)


def absolute_rows(kind: str, size: Size, group: Size) -> Data:
    a = numbers(size, kind)
    return rows_data(a, expected=np.abs(double(a)), out=empty(size, kind), size=size)


def dots_of_bytes(kind: str, size: Size, group: Size) -> Data:
    a, b = numbers(size, kind, -128, 128), numbers(size[1], kind, -128, 128, seed=1)
    return rows_data(a, b, expected=a.astype(np.int64) @ b, out=empty(size[0], "int"), size=size)


def add_bias(kind: str, size: Size, group: Size) -> Data:
    a, bias = numbers(size, kind), numbers(size[1], kind, seed=1)
    return rows_data(a, bias, expected=double(a) + double(bias), out=empty(size, kind), size=size)


def reversed_rows(kind: str, size: Size, group: Size) -> Data:
    a = numbers(size, kind)
    return rows_data(a, expected=double(a)[:, ::-1], out=empty(size, kind), size=size)


def even_rows(kind: str, size: Size, group: Size) -> Data:
    a = numbers((*size, 2), kind)
    return rows_data(a, expected=double(a)[:, :, 0], out=empty(size, kind), size=size)


def complex_rows(kind: str, size: Size, group: Size) -> Data:
    a, b = numbers((*size, 2), kind), numbers((size[1], 2), kind, seed=1)
    product = (double(a)[..., 0] + 1j * double(a)[..., 1]) * (double(b)[..., 0] + 1j * double(b)[..., 1])
    expected = np.stack([product.real, product.imag], -1)
    return rows_data(a, b, expected=expected, out=empty((*size, 2), kind), size=size)


def dots_from_the_end(kind: str, size: Size, group: Size) -> Data:
    a, b = numbers(size, kind), numbers(size[1], kind, seed=1)
    return rows_data(a, b, expected=double(a) @ double(b)[::-1], out=empty(size[0]), size=size)


def even_sums(kind: str, size: Size, group: Size) -> Data:
    a = numbers((*size, 2), kind)
    return rows_data(a, expected=double(a)[:, :, 0].sum(1), out=empty(size[0]), size=size)


ALL = "more_rows"
WIDTHS = ((4096, 7), (4096, 33), (4096, 130), (1000, 2000))
BOOKS = (
    Textbook("softmax_of_rows", ALL, softmax_of_rows, WIDTHS, GROUPS),
    Textbook("layernorm_of_rows", ALL, layernorm_of_rows, WIDTHS, GROUPS, FLOATS),
    Textbook("place_of_greatest", ALL, place_of_greatest, WIDTHS, GROUPS, FLOATS),
    Textbook("distances", ALL, distances, WIDTHS, GROUPS, FLOATS),
    Textbook("absolute_rows", ALL, absolute_rows, WIDTHS, GROUPS),
    Textbook("dots_of_bytes", ALL, dots_of_bytes, WIDTHS, GROUPS, ("char",)),
    Textbook("add_bias", ALL, add_bias, WIDTHS, GROUPS, FLOATS),
    Textbook("reversed_rows", ALL, reversed_rows, WIDTHS, GROUPS),
    Textbook("even_rows", ALL, even_rows, WIDTHS, GROUPS),
    Textbook("complex_rows", ALL, complex_rows, WIDTHS, GROUPS, FLOATS),
    Textbook("dots_from_the_end", ALL, dots_from_the_end, WIDTHS, GROUPS, FLOATS),
    Textbook("even_sums", ALL, even_sums, WIDTHS, GROUPS),
)
