"""SIMD-groups and threadgroups that work together on rows, as engines for language models have them."""

from __future__ import annotations

import numpy as np

from bench.shapes.textbook import Data, Size, Textbook, double, empty, numbers, total


def rowwise(a, *more, expected, out, size: Size, threads: int, strays: float = 0) -> Data:
    rows, width = size
    arrays = (a, *more, *(out if isinstance(out, tuple) else (out,)))
    return Data(arrays, expected, (rows * threads,), (width,), (rows,), strays=strays)


def softmax_simd(kind: str, size: Size, group: Size) -> Data:
    a, out = numbers(size, kind, -4, 4), empty(size, kind)
    e = np.exp(double(a) - double(a).max(1, keepdims=True))
    return rowwise(a, expected={1: e / e.sum(1, keepdims=True)}, out=out, size=size, threads=32)


def layernorm_simd(kind: str, size: Size, group: Size) -> Data:
    a, w, b, out = numbers(size, kind), numbers(size[1], seed=1), numbers(size[1], seed=2), empty(size, kind)
    x = double(a)
    expected = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * double(w) + double(
        b
    )
    return rowwise(a, w, b, expected={3: expected}, out=out, size=size, threads=total(group))


def quantise_rows(kind: str, size: Size, group: Size) -> Data:
    a, out, scales = numbers(size, kind), empty(size, "char"), empty(size[0])
    most = np.abs(double(a)).max(1)
    expected = {1: np.rint(double(a) * 127 / most[:, None]), 2: most / 127}
    return rowwise(a, expected=expected, out=(out, scales), size=size, threads=32, strays=0.01)


def gemv_simd4(kind: str, size: Size, group: Size) -> Data:
    a, x, y = numbers(size, kind), numbers(size[1], seed=1), empty(size[0])
    return rowwise(a, x, expected={2: double(a) @ double(x)}, out=y, size=size, threads=32)


def logsumexp(kind: str, size: Size, group: Size) -> Data:
    a, out = numbers(size, kind, -4, 4), empty(size[0])
    x = double(a)
    expected = x.max(1) + np.log(np.exp(x - x.max(1, keepdims=True)).sum(1))
    return rowwise(a, expected={1: expected}, out=out, size=size, threads=total(group))


def dot_atomic(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a, b, out = numbers(size, kind, 0), numbers(size, kind, 0, seed=1), empty(1)
    return Data((a, b, out), {2: np.array([double(a) @ double(b)])}, (-(-n // 32) * 32,), (n,), start={2: 0})


def scan_simd(kind: str, size: Size, group: Size) -> Data:
    a, out = numbers(size), empty(size)
    return rowwise(a, expected={1: np.cumsum(double(a), 1)}, out=out, size=size, threads=32)


ALL = "groups"
ONE, FLOATS = ((32,),), ("float", "half")
WIDTHS = ((256, 1024), (1000, 100), (64, 4096))
LONG, SHORT = ((256, 1024), (64, 4096)), ((1000, 100),)
FEW, MANY = ((32,), (128,)), ((32,), (128,), (256,), (1024,))
BOOKS = (
    Textbook("softmax_simd", ALL, softmax_simd, WIDTHS, ONE, FLOATS),
    Textbook("layernorm_simd", ALL, layernorm_simd, LONG, MANY, FLOATS),
    Textbook("layernorm_simd", ALL, layernorm_simd, SHORT, FEW, FLOATS),
    Textbook("quantise_rows", ALL, quantise_rows, WIDTHS, ONE, FLOATS),
    Textbook("gemv_simd4", ALL, gemv_simd4, WIDTHS, ((32,), (64,), (256,)), FLOATS),
    Textbook("logsumexp", ALL, logsumexp, LONG, MANY, FLOATS),
    Textbook("logsumexp", ALL, logsumexp, SHORT, FEW, FLOATS),
    Textbook("dot_atomic", ALL, dot_atomic, ((1 << 17,), (100001,)), ((32,), (256,), (1024,)), FLOATS),
    Textbook("scan_simd", ALL, scan_simd, WIDTHS, ONE),
)
