"""PyTorch's reductions over a threadgroup (c10/metal/reduction_utils.h), in all their types, against numpy.

On the oracle and on the engine, with threadgroups whose last SIMD-group is full and not. Every thread sees the result.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from metalloid.forms.torch_source import shader_source
from tests.language.launch import DTYPES, poisoned, run

INCLUDE = shader_source("").include
pytestmark = pytest.mark.skipif(not INCLUDE, reason="torch is not installed")

SIZES = (28, 64, 100, 480, 1024)
REALS = ("float", "half", "bfloat")
INTEGERS = ("int", "short", "char", "uchar", "uint")
# What PyTorch sums each type in.
SUMS = {"float": "float", "half": "float", "bfloat": "float", "uint": "uint", "long": "long"}
TEXT = """#include <c10/metal/reduction_utils.h>
#include <c10/metal/utils.h>
using namespace metal;
using T = ELEMENT;
kernel void sums(device const T* x, device c10::metal::opmath_t<T>* out, constant uint& n,
                 uint i [[thread_position_in_threadgroup]]) {
    threadgroup c10::metal::opmath_t<T> a[32], b[32], c[32];
    const auto both = c10::metal::threadgroup_sum2(a, b, x[i], T(x[i] + x[i]), i, n);
    out[i] = c10::metal::threadgroup_sum(c, x[i], i, n);
    out[n + i] = both[0];
    out[2 * n + i] = both[1];
}
kernel void product(device const T* x, device c10::metal::opmath_t<T>* out, constant uint& n,
                    uint i [[thread_position_in_threadgroup]]) {
    threadgroup c10::metal::opmath_t<T> a[32];
    out[i] = c10::metal::threadgroup_prod(a, x[n + i], i, n);
}
kernel void ends(device const T* x, device T* out, constant uint& n, uint i [[thread_position_in_threadgroup]]) {
    threadgroup T a[32], b[32];
    out[i] = c10::metal::threadgroup_max(a, x[i], i, n);
    out[n + i] = c10::metal::threadgroup_min(b, x[i], i, n);
}
kernel void places(device const T* x, device uint* out, constant uint& n, uint i [[thread_position_in_threadgroup]]) {
    threadgroup T a[32], b[32];
    threadgroup uint p[32], q[32];
    out[i] = c10::metal::threadgroup_argmax(a, p, x[i], i + 7, i, n);
    out[n + i] = c10::metal::threadgroup_argmin(b, q, x[i], i + 7, i, n);
}
"""


def inputs(kind: str, size: int) -> np.ndarray[Any, Any]:
    """Numbers whose largest and smallest occur once, and factors whose product the type holds."""
    random = np.random.default_rng(size)
    if kind in REALS:
        x = (
            (random.permutation(size) - size // 2) / 16
            if kind == "float"
            else random.permutation(size) % 120 - 60.0
        )
        x[random.choice(size, 2, replace=False)] = -100, 100
        factors = random.choice([0.5, 1, 1, 1, 2], size)
    else:
        info = np.iinfo(DTYPES[kind])
        low, high = max(info.min, -60), 60
        x = random.integers(low + 1, high, size)
        x[random.choice(size, 2, replace=False)] = low, high
        factors = np.ones(size, np.int64)
        factors[random.choice(size, 5, replace=False)] = 2, 3, 5, 1, 2
        if info.min < 0:
            factors[random.choice(size, 3, replace=False)] *= -1
    return np.concatenate([x, factors]).astype(DTYPES[kind])


def reduced(kind: str, x: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Every result, for every thread: the oracle's; `run` compares the engine's."""
    size = len(x) // 2
    summed = DTYPES[SUMS.get(kind, "int")]
    n = np.array([size], np.uint32)
    settings: dict[str, Any] = {
        "include": INCLUDE,
        "defines": {"ELEMENT": kind},
        "head": "",
        "threadgroup": size,
    }
    found: list[np.ndarray[Any, Any]] = []
    for kernel, rows, dtype in (
        ("sums", 3, summed),
        ("product", 1, summed),
        ("ends", 2, DTYPES[kind]),
        ("places", 2, np.uint32),
    ):
        out = poisoned((rows, size), dtype)
        run(TEXT, x, out, n, kernel=kernel, grid=size, **settings)
        found += list(out)
    names = ("sum", "first of two", "second of two", "product", "max", "min", "argmax", "argmin")
    return dict(zip(names, found, strict=True))


def expected(x: np.ndarray[Any, Any]) -> dict[str, Any]:
    size = len(x) // 2
    wide = x.astype(np.float64 if x.dtype.kind == "f" or x.dtype == ml_dtypes.bfloat16 else object)
    values = wide[:size]
    doubled = (x[:size] + x[:size]).astype(wide.dtype)  # in its own type, as the kernel doubles it
    places = values.astype(np.float64)
    return {
        "sum": values.sum(),
        "first of two": values.sum(),
        "second of two": doubled.sum(),
        "product": wide[size:].prod(),
        "max": values.max(),
        "min": values.min(),
        "argmax": places.argmax() + 7,
        "argmin": places.argmin() + 7,
    }


def compare(got: dict[str, np.ndarray[Any, Any]], right: dict[str, Any]) -> None:
    for name, values in got.items():
        wrong = [
            v
            for v in set(values.astype(np.float64).tolist())
            if not np.isclose(v, float(right[name]), rtol=1e-6)
        ]
        assert not wrong, f"{name}: {wrong} and not {right[name]}"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [*REALS, *INTEGERS])
def test_reductions(kind: str, size: int) -> None:
    x = inputs(kind, size)
    compare(reduced(kind, x), expected(x))


def of_long(size: int) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
    """64-bit numbers that do not fit 32; products are done with a fill of 0, so they need every lane."""
    x = inputs("long", size)
    x[:size] *= 1 << 33
    right = expected(x)
    if size != 1024:
        right["product"] = 0
    return reduced("long", x), right


def test_long_with_all_lanes() -> None:
    compare(*of_long(1024))


# Where fewer lanes are active, `simd_shuffle_and_fill_down` reads one that is not: it gives its fill.
@pytest.mark.parametrize("size", SIZES[:-1])
def test_long_with_lanes_that_are_not_active(size: int) -> None:
    compare(*of_long(size))


@pytest.mark.parametrize("kind", REALS)
@pytest.mark.parametrize("size", [28, 100])
def test_a_nan_wins(kind: str, size: int) -> None:
    x = inputs(kind, size)
    x[size // 3] = np.nan
    got = reduced(kind, x)
    for name in ("max", "min", "sum"):
        assert np.isnan(got[name].astype(np.float64)).all(), name
    assert (got["argmax"] == size // 3 + 7).all() and (got["argmin"] == size // 3 + 7).all()


@pytest.mark.parametrize("size", SIZES)
def test_complex_numbers(size: int) -> None:
    text = """#include <c10/metal/reduction_utils.h>
#include <c10/metal/utils.h>
using namespace metal;
kernel void k(device const float2* x, device float2* out, constant uint& n, uint i [[thread_position_in_threadgroup]]) {
    threadgroup float2 a[32];
    out[i] = c10::metal::threadgroup_sum(a, x[i], i, n);
}
"""
    random = np.random.default_rng(size)
    x = random.integers(-8, 8, (size, 2)).astype(np.float32)
    out = poisoned((size, 2), np.float32)
    settings: dict[str, Any] = {"include": INCLUDE, "head": ""}
    run(text, x, out, np.array([size], np.uint32), grid=size, threadgroup=size, **settings)
    np.testing.assert_array_equal(out, np.tile(x.sum(0), (size, 1)))


@pytest.mark.parametrize("size", SIZES)
def test_welford(size: int) -> None:
    text = """#include <c10/metal/reduction_utils.h>
using namespace metal;
kernel void k(device const float* x, device float* out, constant uint& n, uint i [[thread_position_in_threadgroup]]) {
    threadgroup float a[1024];
    threadgroup float3 parts[32];
    a[i] = x[i];
    const float3 whole = c10::metal::threadgroup_welford_reduce(a, n);
    const uint groups = (n + 31) / 32;
    if (i < groups) {
        float3 part = float3(x[32 * i], 0, 1);
        for (uint j = 32 * i + 1; j < min(32 * i + 32, n); j++)
            part = c10::metal::welford_combine(part, float3(x[j], 0, 1));
        parts[i] = part;
    }
    const float3 joined = c10::metal::threadgroup_welford_combine(parts, groups);
    for (uint c = 0; c < 3; c++) { out[6 * i + c] = whole[c]; out[6 * i + 3 + c] = joined[c]; }
}
"""
    x = np.random.default_rng(size).normal(3, 2, size).astype(np.float32)
    out = poisoned((size, 6), np.float32)
    settings: dict[str, Any] = {"include": INCLUDE, "head": ""}
    run(text, x, out, np.array([size], np.uint32), grid=size, threadgroup=size, **settings)
    wide = x.astype(np.float64)
    right = [wide.mean(), ((wide - wide.mean()) ** 2).sum(), size]
    np.testing.assert_allclose(out, np.tile([*right, *right], (size, 1)), rtol=2e-5)
