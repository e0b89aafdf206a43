"""Products of matrices, plain and of quantised weights, and images made larger."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np

from conformance.results.aten.common import DTYPES, ROUNDING, case, numbers, per_element, source, there
from conformance.results.case import Array, Case, Output, Step, poisoned
from metalloid.source import Source

REAL = ("float", "half", "bfloat")


def cases() -> list[Case]:
    if not there():
        return []
    return [
        *(case("matmul", t, partial(_matmul, t)) for t in REAL),
        *(case("int4pack_mm", f"{t} groups of {g}", partial(_int4, t, g)) for t in REAL for g in (32, 64)),
        *(case("int8pack_mv", t, partial(_int8_vector, t)) for t in REAL),
        *(
            case("int8pack_mm", f"{t} {m}x{n}, mended", partial(_int8_matrix, t, m, n))
            for t in REAL
            for m, n in ((13, 37), (35, 70))
        ),
        *(
            case("bicubic", f"{t} {'corners' if c else 'centres'}", partial(_bicubic, t, c))
            for t in REAL
            for c in (False, True)
        ),
    ]


def _product(type: str, out: Array, a: Array, b: Array) -> Output:
    """Sums of many terms: a few roundings of float32 for each power of two, one of the type."""
    expected = a.astype(np.float64) @ b.astype(np.float64)
    return Output("out", out, expected, ROUNDING[type] * (4 if type == "float" else 2))


def _matmul(type: str, rng: np.random.Generator) -> tuple[Step, Output]:
    """The second matrix is transposed; the kernel's sums are of the type."""
    rows, inner, columns = 5, 19, 7
    one, other = numbers(rng, type, (rows, inner)), numbers(rng, type, (columns, inner))
    out = poisoned((rows, columns), DTYPES[type])
    strides = np.array([[inner, 1], [1, inner], [columns, 1]], np.uint64)
    sizes = np.array([rows, inner, columns, 0], np.uint32)
    step = per_element(
        "LinearAlgebra.metal", f"naive_matmul_{type}", out.size, one, other, out, strides, sizes
    )
    expected = _product(type, out, one, other.T)
    return step, Output("out", out, expected.expected, ROUNDING[type] * (4 if type == "float" else 6))


def _int4(type: str, group: int, rng: np.random.Generator) -> tuple[Step, Output]:
    rows, inner, columns = 2, 128, 8
    given = numbers(rng, type, (rows, inner), -1, 1)
    quants = rng.integers(0, 16, (columns, inner))
    table = numbers(rng, type, (inner // group, columns, 2), -1, 1)
    packed = (quants[:, ::2] | quants[:, 1::2] << 4).astype(np.uint8)
    scales, zeros = (np.repeat(table[..., n].astype(np.float64).T, group, 1) for n in range(2))
    weights = (quants - 8) * scales + zeros
    out = poisoned((rows, columns), DTYPES[type])
    arguments = (given, packed, table, out, np.array([rows, inner, columns, 0], np.uint32))
    step = Step(
        *(source("Quantized.metal"), f"int4pack_mm_{group}_{type}", arguments, (64, 1, 1)),
        grid=(columns // 4 * 32, 1, rows),
    )
    return step, Output("out", out, given.astype(np.float64) @ weights.T, 4 * ROUNDING[type])


def _int8(
    type: str, m: int, n: int, inner: int, rng: np.random.Generator
) -> tuple[tuple[Array, ...], Array, Array]:
    """Rows of eight are read whole, and scales of a tile past the last row: NaN, which must not get into a result."""
    given = numbers(rng, type, (m, inner), -1, 1)
    weights = rng.integers(-100, 100, (-(-n // 8) * 8, inner)).astype(np.int8)
    scales = numbers(rng, type, n, 0.01, 0.1)
    expected = given.astype(np.float64) @ (weights[:n] * scales.astype(np.float64)[:, None]).T
    out, room = poisoned((m, n), DTYPES[type]), np.concatenate([scales, poisoned(64, DTYPES[type])])
    return (given, weights, room, out, np.array([m, inner, n, 0], np.uint32)), out, expected


def _int8_vector(type: str, rng: np.random.Generator) -> tuple[Step, Output]:
    arguments, out, expected = _int8(type, 1, 13, 96, rng)
    step = Step(
        *(source("Quantized.metal"), f"int8pack_mv_{type}", arguments, (64, 1, 1), (2, 1, 1)),
        threadgroup_memory={0: 32},
    )
    return step, Output("out", out, expected, 4 * ROUNDING[type])


def _int8_matrix(type: str, m: int, n: int, rng: np.random.Generator) -> tuple[Step, Output]:
    """With two barriers that the kernel lacks (docs/found-in-the-wild.md)."""
    arguments, out, expected = _int8(type, m, n, 64, rng)
    step = Step(
        *(_with_barriers(), f"large_m_int8pack_mm_{type}", arguments, (128, 1, 1)),
        threadgroups=(-(-m // 32), -(-n // 64), 1),
        threadgroup_memory={0: 12288},
    )
    return step, Output("out", out, expected, 4 * ROUNDING[type])


@cache
def _with_barriers() -> Source:
    """Before the scales are written over the weights, and before one SIMD-group reads what all have stored."""
    text = (given := source("Quantized.metal")).text
    for line in ("    threadgroup float * temp_str", "    device T * C = outputData + (BLOCK_SIZE_N"):
        assert text.count(line) == 1, line
        text = text.replace(line, "    threadgroup_barrier(mem_flags::mem_threadgroup);" + line)
    return replace(given, text=text)


def _bicubic(type: str, corners: bool, rng: np.random.Generator) -> tuple[Step, Output]:
    batch, planes, (height, width), (high, wide) = 1, 2, (5, 6), (9, 13)
    given = numbers(rng, type, (batch, planes, height, width))
    out = poisoned((batch, planes, high, wide), DTYPES[type])
    pairs = ((width, wide), (height, high))
    scales = np.array([(n - 1) / (m - 1) if corners else n / m for n, m in pairs], np.float32)
    long = partial(np.array, dtype=np.int64)
    arguments = (
        *(
            given,
            out,
            long([1, width, height * width, given[0].size]),
            long([1, wide, high * wide, out[0].size]),
        ),
        *(
            long([width, height, planes, batch]),
            long([wide, high, planes, batch]),
            scales,
            np.array([corners]),
        ),
    )
    across, down = (_cubic(n, m, float(s), corners) for (n, m), s in zip(pairs, scales, strict=True))
    expected = down @ given.astype(np.float64) @ across.T
    step = per_element("UpSample.metal", f"upsample_bicubic2d_{type}", high * wide, *arguments)
    return step, Output("image", out, expected, 8 * ROUNDING[type])


def _cubic(count: int, wanted: int, scale: float, corners: bool) -> Array:
    """The matrix that makes `wanted` elements out of `count`, with A = -0.75."""
    a = -0.75
    found = np.zeros((wanted, count))
    for row in range(wanted):
        place = scale * row if corners else scale * (row + 0.5) - 0.5
        whole = int(np.floor(place))
        for step in range(-1, 3):
            x = abs(place - whole - step)
            near = ((a + 2) * x - (a + 3)) * x * x + 1
            weight = near if x <= 1 else ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
            found[row, min(max(whole + step, 0), count - 1)] += weight
    return found
