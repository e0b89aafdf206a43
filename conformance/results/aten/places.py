"""Moving and finding: copies through strides, searches, coordinates of triangles, windows, histograms."""

from __future__ import annotations

from functools import partial

import numpy as np

from conformance.results.aten.common import DTYPES, ROUNDING, case, numbers, per_element, source, there
from conformance.results.case import Case, Output, Step, poisoned


def cases() -> list[Case]:
    if not there():
        return []
    return [
        *(
            case("views", f"{way} {n}-d {t}", partial(_view, way, n, t))
            for way in ("scatter", "gather")
            for n in (1, 2, 3, 4, 5)
            for t in ("float float", "float half", "long long", "bool bool")
        ),
        *(
            case("searchsorted", f"{t} {side}", partial(_search, t, side))
            for t in ("float", "half", "bfloat", "long", "uchar")
            for side in ("left", "right")
        ),
        *(
            case("triangle", f"{which} {t}", partial(_triangle, which, t))
            for which in ("tril", "triu")
            for t in ("int", "long")
        ),
        *(case("unfold", t, partial(_unfold, t)) for t in ("float", "half", "bfloat")),
        *(case("im2col", t, partial(_im2col, t)) for t in ("float", "half", "bool")),
        *(
            case("histogram", way, partial(_histogram, n))
            for n, way in enumerate(("linear", "local search", "binary search"))
        ),
        *(case("cross", t, partial(_cross, t)) for t in ("float", "half", "bfloat", "int", "short", "uchar")),
        case("repeat_interleave", "int", _repeat),
    ]


def _view(way: str, dims: int, types: str, rng: np.random.Generator) -> tuple[Step, Output]:
    """Between a dense array and every other element of a transposed one."""
    first, second = types.split()
    shape = (29, 3, 2, 4, 2)[:dims]
    dense = numbers(rng, first, shape)
    strides = np.cumprod((2, *shape[:-1])).astype(np.uint32)  # the first axis moves fastest
    wide = int(2 * np.prod(shape))
    places = sum(np.indices(shape)[n] * int(s) for n, s in enumerate(strides))
    size, number = np.array(shape, np.uint32), np.array([dense.size], np.uint32)
    more = (np.array([dims], np.int32),) if dims > 4 else ()
    kernel = f"{way}_kernel_{dims if dims < 5 else 'n'}"
    text = f"IndexKernels.h {way} {first} {second}"
    if way == "scatter":
        out = poisoned(wide, DTYPES[second])
        step = per_element(text, kernel, dense.size, dense, out, size, strides, number, *more)
        return step, Output("dst", out, dense.astype(out.dtype), look=lambda a: a[places])
    given = numbers(rng, first, wide)
    out = poisoned(shape, DTYPES[second])
    step = per_element(text, kernel, dense.size, given, out, size, strides, number, *more)
    return step, Output("dst", out, given[places].astype(out.dtype))


def _search(type: str, side: str, rng: np.random.Generator) -> tuple[Step, Output]:
    rows, bounds, columns = 3, 17, 41
    table = np.sort(numbers(rng, type, (rows, bounds)).astype(np.float64), 1).astype(DTYPES[type])
    given = numbers(rng, type, (rows, columns))
    out = poisoned((rows, columns), np.int64)
    expected = np.stack(
        [
            np.searchsorted(t.astype(np.float64), g.astype(np.float64), side)
            for t, g in zip(table, given, strict=True)
        ]
    )
    scalars = [np.array([n], np.int64) for n in (columns, bounds, rows * columns, side == "right", 0)]
    step = Step(
        *(source("Bucketization.metal"), f"searchsorted_{type}_long", (given, table, out, *scalars)),
        *((64, 1, 1), (1, 1, 1)),
    )
    return step, Output("out", out, expected)


def _triangle(which: str, type: str, rng: np.random.Generator) -> tuple[Step, Output]:
    """As `tril_indices` and `triu_indices` of 11 rows and 7 columns, from the second diagonal on."""
    rows, columns, offset = 11, 7, 2
    found = np.stack(
        np.tril_indices(rows, offset, columns) if which == "tril" else np.triu_indices(rows, offset, columns)
    )
    count = found.shape[1]
    if which == "tril":
        first = min(columns, 1 + offset)
        last = max(0, min(columns, rows + offset))
        height = last - first + 1
        numbers_ = (0, first, columns, (first + last) * height // 2, count)
    else:
        first = max(columns - offset, 0)
        numbers_ = (max(0, offset), first, columns, 0, count)
    out = poisoned((2, count), DTYPES[type])
    given = [np.array([n], np.int64) for n in numbers_]
    return per_element("TriangularOps.metal", f"{which}_indices_{type}", count, out, *given), Output(
        "tensor", out, found
    )


def _unfold(type: str, rng: np.random.Generator) -> tuple[Step, Output]:
    rows, columns, size, step = 5, 19, 4, 3
    windows = (columns - size) // step + 1
    grad = numbers(rng, type, (rows, windows, size))
    expected = np.zeros((rows, columns))
    for n in range(windows):
        expected[:, n * step : n * step + size] += grad[:, n].astype(np.float64)
    out = poisoned((rows, columns), DTYPES[type])
    long = partial(np.array, dtype=np.int64)
    launched = per_element(
        *(
            "UnfoldBackward.metal",
            f"unfold_backward_{type}",
            out.size,
            grad,
            out,
            long([windows * size, size, 1]),
        ),
        *(long([rows, columns]), long([columns, 1]), np.array([1, size, step, 2], np.uint32)),
    )
    return launched, Output("grad", out, expected, ROUNDING[type])


def _im2col(type: str, rng: np.random.Generator) -> tuple[Step, Output]:
    batch, planes, height, width = 2, 3, 6, 9
    (ky, kx), (dy, dx), (py, px), (sy, sx) = (2, 3), (2, 1), (1, 2), (1, 2)
    given = numbers(rng, type, (batch, planes, height, width))
    high, wide = (
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in ((height, py, dy, ky, sy), (width, px, dx, kx, sx))
    )
    padded = np.pad(given, ((0, 0), (0, 0), (py, py), (px, px)))
    expected = np.stack(
        [
            padded[:, :, i * dy :, j * dx :][:, :, : high * sy : sy, : wide * sx : sx]
            for i in range(ky)
            for j in range(kx)
        ],
        2,
    ).reshape(batch, planes * ky * kx, high * wide)
    out = poisoned(expected.shape, DTYPES[type])
    long = partial(np.array, dtype=np.int64)
    arguments = (
        *(given, out, np.array([kx, ky, dx, dy], np.uint32), np.array([px, py, sx, sy], np.int32)),
        *(
            long([1, width, height * width, planes * height * width]),
            long([1, high * wide, out[0].size, wide]),
        ),
        long([width, height, planes, batch]),
    )
    step = Step(
        source("Im2Col.metal"), f"im2col_{type}", arguments, (64, 1, 1), grid=(high * wide, planes, batch)
    )
    return step, Output("columns", out, expected)


def _histogram(algorithm: int, rng: np.random.Generator) -> tuple[Step, Output]:
    """Each thread has a histogram of its own; the host adds them up."""
    count, bins, dims = 37, (4, 3), 2
    given = rng.uniform(-0.1, 1.1, (count, dims)).astype(np.float32)
    edges = [np.linspace(0, 1, b + 1, dtype=np.float32) for b in bins]
    out = np.zeros((count, *bins), np.float32)
    expected = np.stack([np.histogramdd(row[None].astype(np.float64), edges)[0] for row in given])
    weights = np.ones(count, np.float32)
    long = partial(np.array, dtype=np.int64)
    step = per_element(
        *("HistogramKernel.metal", "histogramdd_float", count, given, weights, out),
        *(
            np.arange(count * dims, dtype=np.uint32),
            long([dims]),
            np.concatenate(edges),
            long([b + 1 for b in bins]),
        ),
        *(np.zeros(dims, np.float32), np.ones(dims, np.float32), long([out[0].size, bins[1], 1])),
        *(np.array([algorithm], np.uint8), np.array([0], np.uint8)),
    )
    return step, Output("histograms", out, expected)


def _cross(type: str, rng: np.random.Generator) -> tuple[Step, Output]:
    """Vectors lie along the first axis."""
    count = 43
    one, other = (numbers(rng, type, (3, count)) for _ in range(2))
    out = poisoned((3, count), DTYPES[type])
    offsets = np.repeat(np.arange(count, dtype=np.uint32)[:, None] * one.itemsize, 4, 1)
    wide = np.float64 if type in ROUNDING else np.int64
    expected = np.cross(one.astype(wide), other.astype(wide), axis=0)
    expected = expected if type in ROUNDING else expected.astype(out.dtype)
    stride = np.array([count], np.int64)
    step = per_element(
        "CrossKernel.metal", f"cross_{type}", count, one, other, out, offsets, stride, stride, stride
    )
    return step, Output("out", out, expected, 2 * ROUNDING.get(type, 0.0))


def _repeat(rng: np.random.Generator) -> tuple[Step, Output]:
    repeats = rng.integers(0, 6, 33).astype(np.int32)
    sums = np.cumsum(repeats, dtype=np.int64)
    out = poisoned(int(sums[-1]), np.int32)
    step = per_element("Repeat.metal", "repeat_interleave_int32_t", repeats.size, repeats, sums, out)
    return step, Output("result", out, np.repeat(np.arange(repeats.size), repeats))
