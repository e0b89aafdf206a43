"""Kernels of several steps in threadgroup memory: scans, compaction, sorting, Fourier transforms."""

from __future__ import annotations

import numpy as np

from bench.shapes.textbook import Data, Size, Textbook, double, empty, numbers, total


def blelloch(kind: str, size: Size, group: Size) -> Data:
    block = 2 * total(group)
    a, out = numbers(size), empty(size)
    rows = double(a).reshape(-1, block)
    return Data(
        (a, out), {1: (rows.cumsum(1) - rows).reshape(size)}, (total(size) // 2,), more=(block, *size)
    )


def hillis_steele(kind: str, size: Size, group: Size) -> Data:
    block = total(group)
    a, out = numbers(size), empty(size)
    expected = double(a).reshape(-1, block).cumsum(1).reshape(size)
    return Data((a, out), {1: expected}, size, more=(block, *size),
                numpy=lambda: np.cumsum(a.reshape(-1, block), 1, out=out.reshape(-1, block)))  # fmt: skip


def compact(kind: str, size: Size, group: Size) -> Data:
    block = total(group)
    a, out, counts = numbers(size, "int", -50, 50), empty(size, "int"), empty(total(size) // block, "int")
    rows = a.reshape(-1, block)
    expected = np.zeros(rows.shape, np.int64)
    for n, row in enumerate(rows):
        kept = row[row > 0]
        expected[n, : len(kept)] = kept
    return Data((a, out, counts), {1: expected.reshape(size), 2: (rows > 0).sum(1)}, size, more=(block, *size),
                start={1: 0})  # fmt: skip


def bitonic(kind: str, size: Size, group: Size) -> Data:
    block = 2 * total(group)
    a, out = numbers(size), empty(size)
    expected = np.sort(a.reshape(-1, block), 1).reshape(size)
    return Data((a, out), {1: expected}, (total(size) // 2,), more=(block, *size),
                numpy=lambda: np.sort(a.reshape(-1, block), 1))  # fmt: skip


def fft(kind: str, size: Size, group: Size) -> Data:
    half = total(group)
    n = total(size)
    a, roots, out = numbers((n, 2)), empty((half, 2)), empty((n, 2))
    root = np.exp(-1j * np.pi * np.arange(half) / half)
    roots[:, 0], roots[:, 1] = root.real, root.imag
    made = np.fft.fft((double(a)[:, 0] + 1j * double(a)[:, 1]).reshape(-1, 2 * half), axis=1).reshape(-1)
    return Data((a, roots, out), {2: np.stack([made.real, made.imag], 1)}, (n // 2,), more=(2 * half, n))


ALL = "scans"
GROUPS = ((32,), (64,), (128,), (256,))
BOOKS = (
    Textbook("blelloch", ALL, blelloch, ((1 << 18,),), (*GROUPS, (512,)), c="exclusive"),
    Textbook("hillis_steele", ALL, hillis_steele, ((1 << 18,),), (*GROUPS, (512,)), c="inclusive"),
    Textbook("compact", ALL, compact, ((1 << 18,),), GROUPS, ("int",)),
    Textbook("bitonic", ALL, bitonic, ((1 << 16,),), GROUPS),
    Textbook("fft", ALL, fft, ((1 << 16,),), GROUPS),
)  # fmt: skip
