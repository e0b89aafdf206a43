"""Products of matrices and vectors: plain, tiled, in batches, of rows by one thread, sparse, of four bits."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from bench.shapes.textbook import LINE, PLANE, POWERS, Data, Size, Textbook, double, empty, numbers


def matmul(kind: str, size: Size, group: Size) -> Data:
    n, k = size
    a, b, c = numbers((n, k), kind), numbers((k, n), kind, seed=1), empty((n, n), kind)
    plain = (lambda: np.matmul(a, b, out=c)) if kind == "float" else None
    return Data((a, b, c), {2: double(a) @ double(b)}, (n, n), (n, k), numpy=plain)


def tiled(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a, b, c = numbers((n, n)), numbers((n, n), seed=1), empty((n, n))
    return Data((a, b, c), {2: double(a) @ double(b)}, (n, n), (n,), numpy=lambda: np.matmul(a, b, out=c))


def tiled_nt(kind: str, size: Size, group: Size) -> Data:
    (n,) = size
    a, b, c = numbers((n, n)), numbers((n, n), seed=1), empty((n, n))
    return Data((a, b, c), {2: double(a) @ double(b).T}, (n, n), (n,), numpy=lambda: np.matmul(a, b.T, out=c))


def batched(kind: str, size: Size, group: Size) -> Data:
    (count,) = size
    a, b, c = numbers((count, 8, 8)), numbers((count, 8, 8), seed=1), empty((count, 8, 8))
    return Data(
        (a, b, c), {2: double(a) @ double(b)}, (8, 8, count), more=size, numpy=lambda: np.matmul(a, b, out=c)
    )


def matvec(kind: str, size: Size, group: Size) -> Data:
    rows, k = size
    a, x, y = numbers(size, kind), numbers(k, kind, seed=1), empty(rows, kind)
    plain = (lambda: np.matmul(a, x, out=y)) if kind == "float" else None
    return Data((a, x, y), {2: double(a) @ double(x)}, (rows,), (k,), (rows,), numpy=plain)


def matvec_simd(kind: str, size: Size, group: Size) -> Data:
    return replace(matvec(kind, size, group), grid=(size[0] * 32,))


def _csr(lengths: np.ndarray, width: int) -> Data:
    rows = len(lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    columns, values = numbers(int(starts[-1]), "int", 0, width), numbers(int(starts[-1]))
    x, y = numbers(width, seed=1), empty(rows)
    products = double(values) * double(x)[columns]
    expected = np.array([products[a:b].sum() for a, b in pairwise(starts)])
    return Data((starts, columns, values, x, y), {4: expected}, (rows,), (rows,))


def csr(kind: str, size: Size, group: Size) -> Data:
    rows, length = size
    return _csr(np.random.default_rng(0).integers(length // 2, length + length // 2, rows), 4096)


def power_law(kind: str, size: Size, group: Size) -> Data:
    rows, most = size
    lengths = np.minimum(np.random.default_rng(0).zipf(1.6, rows), most)
    return _csr(lengths, 4096)


def q4_0(kind: str, size: Size, group: Size) -> Data:
    rows, k = size
    blocks = k // 32
    packed = np.random.default_rng(0).integers(0, 256, (rows, blocks, 18), np.uint8)
    scale = np.random.default_rng(1).uniform(0.01, 0.02, (rows, blocks)).astype(np.float16)
    packed[..., :2] = scale[..., None].view(np.uint8)
    bits = packed[..., 2:].astype(np.int32)
    whole = np.concatenate([(bits & 15) - 8, (bits >> 4) - 8], 2) * scale.astype(np.float64)[..., None]
    x, y = numbers(k, seed=1), empty(rows)
    return Data((packed, x, y), {2: whole.reshape(rows, k) @ double(x)}, (rows * 32,), (blocks,), (rows,))


def q4_0_rows(kind: str, size: Size, group: Size) -> Data:
    return replace(q4_0(kind, size, group), grid=(size[0],))


def column_sums(kind: str, size: Size, group: Size) -> Data:
    h, w = size
    a, y = numbers(size, kind), empty(w, kind)
    return Data((a, y), {1: double(a).sum(0)}, (w,), (w, h), numpy=lambda: np.sum(a, 0, out=y))


ALL = "products"
SQUARES = ((1024,), (512,), (256,))
ROWS = ((256, 256), (1000, 1000), (4096, 4096), (1024, 1024))
BATCH = ((8, 8, 1), (8, 8, 4), (8, 4, 8), (8, 1, 1), (8, 2, 16))
BOOKS = (
    Textbook("matmul", ALL, matmul, ((128, 128), (250, 250), (512, 512), (256, 256)), PLANE, ("float",)),
    Textbook("matmul", ALL, matmul, ((1024, 1024),), ((16, 16), (32, 8)), ("float",)),
    Textbook("matmul", ALL, matmul, ((256, 256),), PLANE, ("half",)),
    Textbook("tiled_16", ALL, tiled, ((256,), (512,)), ((16, 16),), kernel="tiled", c="product", tile=16),
    Textbook("tiled_32", ALL, tiled, ((256,), (512,)), ((32, 32),), kernel="tiled", c="product", tile=32),
    Textbook("tiled_nt_16", ALL, tiled_nt, SQUARES, ((16, 16),), kernel="tiled_nt", c="product_nt", tile=16),
    Textbook("tiled_nt_32", ALL, tiled_nt, SQUARES, ((32, 32),), kernel="tiled_nt", c="product_nt", tile=32),
    Textbook("turns_16", ALL, tiled, ((256,), (512,)), ((16, 16),), kernel="turns", c="product", tile=16),
    Textbook("turns_32", ALL, tiled, ((256,), (512,)), ((32, 32),), kernel="turns", c="product", tile=32),
    Textbook("batched", ALL, batched, ((4096,),), BATCH),
    Textbook("matvec", ALL, matvec, ROWS, LINE, ("float", "half")),
    Textbook("matvec_simd", ALL, matvec_simd, ((1024, 1024),), POWERS, ("float", "half"), c="matvec"),
    Textbook("csr", ALL, csr, ((16384, 16), (4096, 64)), LINE),
    Textbook("power_law", ALL, power_law, ((65536, 4096),), LINE, kernel="csr", c="csr"),
    Textbook("q4_0", ALL, q4_0, ((1024, 4096),), ((32,), (64,), (256,))),
    Textbook("q4_0_rows", ALL, q4_0_rows, ((1024, 4096),), LINE, c="q4_0"),
    Textbook("column_sums", ALL, column_sums, ((1024, 1024), (1000, 1000)), LINE, ("float", "half")),
)  # fmt: skip
