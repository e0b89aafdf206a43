"""Kernels that make few numbers of many: sums, largest ones, softmax, norms, histograms."""

from __future__ import annotations

from functools import partial

import numpy as np

from bench.shapes.textbook import LINE, POWERS, Data, Size, Textbook, double, empty, numbers, total


def block_sums(kind: str, size: Size, group: Size, simd: bool = False) -> Data:
    block = 32 if simd else total(group)
    a, out = numbers(size, kind), empty(total(size) // block)
    expected = double(a).reshape(-1, block).sum(1)
    return Data((a, out), {1: expected}, size, more=(block, total(size)),
                numpy=lambda: np.sum(a.reshape(-1, block), 1, dtype=np.float32, out=out))  # fmt: skip


def argmax_rows(kind: str, size: Size, group: Size) -> Data:
    rows, width = size
    a, out = numbers(size), empty(rows, "int")
    return Data((a, out), {1: a.argmax(1)}, (rows * 32,), (width,), (rows,), numpy=lambda: a.argmax(1))


def softmax_rows(kind: str, size: Size, group: Size) -> Data:
    rows, width = size
    a, out = numbers(size, kind, -4, 4), empty(size, kind)
    e = np.exp(double(a) - double(a).max(1, keepdims=True))

    def plain() -> None:
        e = np.exp(a - a.max(1, keepdims=True))
        np.divide(e, e.sum(1, keepdims=True), out=out)

    return Data(
        (a, out), {1: e / e.sum(1, keepdims=True)}, (rows * total(group),), (width,), (rows,), numpy=plain
    )


def rms_norm(kind: str, size: Size, group: Size) -> Data:
    rows, width = size
    a, w, out = numbers(size, kind), numbers(width, kind, seed=1), empty(size, kind)
    x = double(a)
    expected = x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * double(w)

    def plain() -> None:
        np.multiply(a * (1 / np.sqrt((a * a).mean(1, keepdims=True) + a.dtype.type(1e-5))), w, out=out)

    return Data((a, w, out), {2: expected}, (rows * total(group),), (width,), (rows,), numpy=plain)


def histogram(kind: str, size: Size, group: Size, each: int = 0) -> Data:
    (n,) = size
    a, bins = numbers(size, kind, 0, 256), empty(256, "uint")
    expected = np.bincount(a, minlength=256)
    grid, given = ((n // each,), (each,)) if each else (size, ())
    return Data((a, bins), {1: expected}, grid, given, size, start={1: 0},
                numpy=lambda: np.bincount(a, minlength=256))  # fmt: skip


def histogram_cut(kind: str, size: Size, group: Size) -> Data:
    a, bins = numbers(size, low=-1.25, high=1.25), empty(64, "uint")
    at = np.clip(((a + np.float32(1)) * np.float32(32)).astype(np.int32), 0, 63)
    return Data((a, bins), {1: np.bincount(at, minlength=64)}, size, size, start={1: 0}, strays=0.1)


def atomic_total(kind: str, size: Size, group: Size) -> Data:
    a, out = numbers(size, "int", -100, 100), empty(1, "int")
    return Data((a, out), {1: a.sum(keepdims=True)}, size, more=size, start={1: 0})


ALL = "reductions"
simd_sums = partial(block_sums, simd=True)
BOOKS = (
    Textbook("tree_sum", ALL, block_sums, ((1 << 18,),), POWERS, ("float", "half"), c="block_sums"),
    Textbook("simd_total", ALL, simd_sums, ((1 << 18,),), POWERS, ("float", "half"), c="block_sums"),
    Textbook("argmax_rows", ALL, argmax_rows, ((256, 1024),), POWERS),
    Textbook("softmax_rows", ALL, softmax_rows, ((256, 1024), (1024, 256)), POWERS, ("float", "half")),
    Textbook("rms_norm", ALL, rms_norm, ((256, 1024), (64, 4096)), POWERS, ("float", "half")),
    Textbook("histogram_tg", ALL, partial(histogram, each=16), ((1 << 18,),), POWERS, ("uint", "uchar")),
    Textbook("histogram", ALL, histogram, ((1 << 18,),), LINE, ("uint", "uchar")),
    Textbook("histogram_cut", ALL, histogram_cut, ((1 << 18,),), LINE),
    Textbook("atomic_total", ALL, atomic_total, ((1 << 18,),), LINE, ("int",)),
)  # fmt: skip
