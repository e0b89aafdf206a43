"""Kernels that look something up, or have rows of their own: scatters, embeddings, words, rotary positions."""

from __future__ import annotations

import numpy as np

from bench.shapes.textbook import LINE, PLANE, Data, Size, Textbook, double, empty, numbers


def scatter_add(kind: str, size: Size, group: Size) -> Data:
    n, places = size
    a, at, out = numbers(n, kind, -9, 9), numbers(n, "int", 0, places), empty(places, kind)
    expected = np.bincount(at, double(a), places)
    return Data((a, at, out), {2: expected}, (n,), (n,), start={2: 0}, numpy=lambda: np.add.at(out, at, a))


def embed(kind: str, size: Size, group: Size) -> Data:
    rows, width = size
    table, at, out = (
        numbers((5000, 4 * width), kind),
        numbers(rows, "int", 0, 5000),
        empty((rows, 4 * width), kind),
    )
    expected = double(table)[at]
    return Data((table, at, out), {2: expected}, (width, rows), (width,), (rows,),
                numpy=lambda: np.take(table, at, 0, out=out))  # fmt: skip


def find_word(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a, out = numbers(n, "uchar", ord("d"), ord("x")), empty(n, "uchar")
    a[100::1000], a[101::1000], a[102::1000], a[103::1000] = b"word"
    starts = a[: n - 3]
    found = (
        (starts == ord("w")) & (a[1 : n - 2] == ord("o")) & (a[2 : n - 1] == ord("r")) & (a[3:] == ord("d"))
    )
    return Data((a, out), {1: np.concatenate([found, [0, 0, 0]])}, size, size, start={1: 0})


def rotate_pairs(kind: str, size: Size, group: Size) -> Data:
    tokens, heads, width = size
    a, out, turns = numbers((tokens, heads, width), kind), empty(size, kind), empty((tokens, width // 2, 2))
    angles = np.random.default_rng(2).uniform(0, 6, (tokens, width // 2))
    turns[..., 0], turns[..., 1] = np.cos(angles), np.sin(angles)
    x, y, (c, s) = double(a)[..., ::2], double(a)[..., 1::2], (double(turns)[:, None, :, n] for n in (0, 1))
    expected = np.stack([x * c - y * s, x * s + y * c], -1).reshape(size)
    return Data((a, turns, out), {2: expected}, (width // 2, heads, tokens), (width, heads), (tokens,))


def running_sums(kind: str, size: Size, group: Size) -> Data:
    rows, width = size
    a, out = numbers(size, "uchar", 0, 256), empty(size, "uint")
    expected = a.astype(np.int64).cumsum(1)
    return Data(
        (a, out), {1: expected}, (rows,), (width, rows), numpy=lambda: np.cumsum(a, 1, np.uint32, out)
    )


def mean2x2(kind: str, size: Size, group: Size) -> Data:
    h, w = size
    a, out = numbers((2 * h, 2 * w), kind), empty(size, kind)
    expected = double(a).reshape(h, 2, w, 2).mean((1, 3))
    return Data((a, out), {1: expected}, (-(-w // 32) * 32, h), (w, h))


ALL = "lookups"
ROWS = ((32, 1), (8, 8), (32, 8), (20, 20))
HEADS = ((32, 1, 1), (8, 8, 1), (16, 4, 2))
BOOKS = (
    Textbook("scatter_add", ALL, scatter_add, ((1 << 18, 5000), (1 << 18, 64)), LINE, ("float", "int")),
    Textbook("embed", ALL, embed, ((2048, 32), (1000, 100)), ROWS, ("float", "half")),
    Textbook("find_word", ALL, find_word, ((1 << 20,),), LINE, ("uchar",)),
    Textbook("rotate_pairs", ALL, rotate_pairs, ((128, 16, 64), (100, 12, 80)), HEADS, ("float", "half")),
    Textbook("running_sums", ALL, running_sums, ((1000, 1000), (4096, 100)), LINE, ("uchar",)),
    Textbook("mean2x2", ALL, mean2x2, ((500, 500), (512, 512)), PLANE, ("float", "half")),
)  # fmt: skip
