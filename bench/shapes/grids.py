"""Kernels whose threads read their neighbours: stencils, transposes, images, steps of a Fourier transform."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.shapes.textbook import LINE, PLANE, Data, Size, Textbook, double, empty, numbers


def stencil5(kind: str, size: Size, group: Size) -> Data:
    h, w = size
    a, b = numbers(size, kind), empty(size, kind)
    x, expected = double(a), np.zeros(size)
    expected[1:-1, 1:-1] = 0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1])
    return Data((a, b), {1: expected}, (w, h), (w, h), start={1: 0})


def stencil7(kind: str, size: Size, group: Size) -> Data:
    d, h, w = size
    a, b = numbers(size, kind), empty(size, kind)
    x, expected = double(a), np.zeros(size)
    inner = x[1:-1, 1:-1, 1:-1]
    around = x[:-2, 1:-1, 1:-1] + x[2:, 1:-1, 1:-1] + x[1:-1, :-2, 1:-1] + x[1:-1, 2:, 1:-1]
    around = around + x[1:-1, 1:-1, :-2] + x[1:-1, 1:-1, 2:]
    expected[1:-1, 1:-1, 1:-1] = 0.25 * around - 0.5 * inner
    return Data((a, b), {1: expected}, (w, h, d), (w, h, d), start={1: 0})


def transpose(kind: str, size: Size, group: Size) -> Data:
    h, w = size
    a, b = numbers(size, kind), empty((w, h), kind)
    grid = (w, h // 4) if group == (32, 8) and h % 32 == 0 else (w, h)
    return Data((a, b), {1: double(a).T}, grid, (w, h), numpy=lambda: np.copyto(b, a.T))


def plain_transpose(kind: str, size: Size, group: Size) -> Data:
    return replace(transpose(kind, size, group), grid=size[::-1])


def blur(kind: str, size: Size, group: Size) -> Data:
    h, w = size
    a, b = numbers((h, w, 4), "uchar", 0, 256), empty((h, w, 4), "uchar")
    x, expected = a.astype(np.int64), np.zeros((h, w, 4), np.int64)
    near = [x[1 + dy : h - 1 + dy, 1 + dx : w - 1 + dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
    expected[1:-1, 1:-1] = sum(near) // 9
    return Data((a, b), {1: expected}, (w, h), (w, h), start={1: 0})


def half4_neighbours(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a, b = numbers((n, 4), "half"), empty((n, 4), "half")
    x, expected = double(a), np.zeros((n, 4))
    expected[1:-1] = 0.25 * (x[:-2] + x[2:]) + 0.5 * x[1:-1]
    return Data((a, b), {1: expected}, size, size, start={1: 0})


def convolve(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a, taps, b = numbers(n + 8, kind), numbers(9, kind, seed=1), empty(n, kind)
    expected = np.convolve(double(a), double(taps)[::-1], "valid")
    return Data((a, taps, b), {2: expected}, size, size)


def fft_step(kind: str, size: Size, group: Size) -> Data:
    n, p = size
    half = n // 2
    x, roots, y = numbers((n, 2)), empty((half, 2)), empty((n, 2))
    root = np.exp(-1j * np.pi * np.arange(half) / half)
    roots[:, 0], roots[:, 1] = root.real, root.imag
    v, i = double(x)[:, 0] + 1j * double(x)[:, 1], np.arange(half)
    k = i & (p - 1)
    j, t = ((i - k) << 1) + k, v[half:] * root[k * (half // p)]
    made = np.zeros(n, complex)
    made[j], made[j + p] = v[:half] + t, v[:half] - t
    return Data((x, roots, y), {2: np.stack([made.real, made.imag], 1)}, (half,), (half, p))


def bitonic_step(kind: str, size: Size, group: Size) -> Data:
    n, j, k = size
    a = numbers(n, kind)
    first, expected = a.copy(), double(a)
    low = np.arange(n)[(np.arange(n) & j) == 0]
    x, y, up = expected[low], expected[low | j], (low & k) == 0
    expected[low], expected[low | j] = (
        np.where(up, np.minimum(x, y), np.maximum(x, y)),
        np.where(up, np.maximum(x, y), np.minimum(x, y)),
    )
    return Data((a,), {0: expected}, (n,), (j, k), (n,), start={0: first})


ALL = "grids"
DEEP = ((4, 4, 4), (8, 8, 8), (32, 4, 2), (64, 1, 1), (16, 16, 1))
BOOKS = (
    Textbook("stencil5", ALL, stencil5, ((1024, 1024), (500, 500)), PLANE, ("float", "half")),
    Textbook("stencil7", ALL, stencil7, ((96, 96, 96),), DEEP),
    Textbook("transpose", ALL, plain_transpose, ((512, 512), (1024, 1024), (1000, 500)), PLANE, ("float", "half")),
    Textbook("transpose_16", ALL, transpose, ((512, 512), (1024, 1024)), ((16, 16),), ("float", "half"), c="transpose"),
    Textbook("transpose_32", ALL, transpose, ((512, 512), (1024, 1024)), ((32, 8),), ("float", "half"), c="transpose"),
    Textbook("blur", ALL, blur, ((512, 512),), PLANE, ("uchar",)),
    Textbook("half4_neighbours", ALL, half4_neighbours, ((1 << 17,),), LINE, ("half",)),
    Textbook("convolve", ALL, convolve, ((1 << 18,),), LINE, ("float", "half")),
    Textbook("fft_step", ALL, fft_step, ((1 << 17, 1), (1 << 17, 16), (1 << 17, 1 << 12)), LINE),
    Textbook("bitonic_step", ALL, bitonic_step, ((1 << 17, 1, 4), (1 << 17, 16, 64), (1 << 17, 4096, 8192)), LINE),
)  # fmt: skip
