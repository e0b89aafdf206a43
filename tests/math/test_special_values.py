"""Signed zeros, NaN, exact values and second results, which an error in ulp does not see."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.math.scalar_jit import Kernel, Module, build
from tests.math.ulp import HALF, float_pairs, floats, sixteen_bit_pairs, sixteen_bits, wide

ODD = [
    "asin",
    "asinh",
    "atan",
    "atanh",
    "sin",
    "sinh",
    "sinpi",
    "tan",
    "tanh",
    "tanpi",
    "rint",
    "round",
    "trunc",
]
ODD += ["ceil", "floor", "sqrt", "sign"]
F, INT = "float", "int"


@pytest.fixture(scope="module")
def functions() -> Module:
    kernels = [Kernel(name, (F, F), f"precise::{name}(a)") for name in ODD]
    kernels += [
        Kernel("frexp_m", (F, F), "({ int e; frexp(a, e); })"),
        Kernel("frexp_e", (INT, F), "({ int e; frexp(a, e); e; })"),
        Kernel("modf_f", (F, F), "({ float w; modf(a, w); })"),
        Kernel("modf_w", (F, F), "({ float w; modf(a, w); w; })"),
        Kernel("sincos_c", (F, F), "({ float c; sincos(a, c); c; })"),
        Kernel("sincos_s", (F, F), "({ float c; sincos(a, c); })"),
        Kernel("cosine", (F, F), "cos(a)"),
        Kernel("ldexp2", (F, F, INT), "ldexp(a, b)"),
        Kernel("ldexp_half", ("half", "half", INT), "ldexp(a, b)"),
        Kernel("ilogb1", (INT, F), "ilogb(a)"),
        Kernel("nextafter2", (F, F, F), "nextafter(a, b)"),
        Kernel("nextafter_half", ("half", "half", "half"), "nextafter(a, b)"),
        Kernel("fma3", (F, F, F, F), "fma(a, b, c)"),
        Kernel("fma_half3", ("half", "half", "half", "half"), "fma(a, b, c)"),
        Kernel("pow2", (F, F, F), "pow(a, b)"),
        Kernel("atan22", (F, F, F), "atan2(a, b)"),
        Kernel("fmod2", (F, F, F), "fmod(a, b)"),
        Kernel("copysign2", (F, F, F), "copysign(a, b)"),
    ]
    return build(kernels, "safe")


def same(got: NDArray[np.generic], expected: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Equal, with the sign of zero; any NaN is like any other."""
    alike = (got == expected) & (np.signbit(got) == np.signbit(expected))
    return np.asarray(alike | (np.isnan(got) & np.isnan(expected)))


@pytest.mark.parametrize("name", ODD)
def test_zero_keeps_its_sign(functions: Module, name: str) -> None:
    zeros = np.array([0.0, -0.0], np.float32)
    assert same(functions(name, zeros, dtype="float32"), zeros).all()


def test_frexp_takes_apart_what_ldexp_puts_together(functions: Module) -> None:
    x = floats()
    with np.errstate(all="ignore"):
        mantissa, exponent = np.frexp(x)
    exponent = np.where(np.isfinite(x), exponent, 0).astype(np.int32)
    m = functions("frexp_m", x, dtype="float32")
    e = functions("frexp_e", x, dtype="int32")
    assert same(m, mantissa).all()
    assert (e == exponent).all()
    assert same(functions("ldexp2", m, e, dtype="float32"), x).all()


def test_ldexp_rounds_once(functions: Module) -> None:
    rng = np.random.default_rng(3)
    x = floats()
    k = rng.integers(-320, 320, len(x)).astype(np.int32)
    with np.errstate(all="ignore"):
        expected = np.ldexp(wide(x), k).astype(np.float32)
        assert same(functions("ldexp2", x, k, dtype="float32"), expected).all()
        h = sixteen_bits(HALF)
        k = rng.integers(-45, 45, len(h)).astype(np.int32)
        expected = np.ldexp(wide(h), k).astype(np.float16)
    assert same(functions("ldexp_half", h, k, dtype="float16"), expected).all()


def test_modf(functions: Module) -> None:
    x = floats()
    with np.errstate(all="ignore"):
        fraction, whole = np.modf(x)
    assert same(functions("modf_f", x, dtype="float32"), fraction).all()
    assert same(functions("modf_w", x, dtype="float32"), whole).all()


def test_sincos_gives_sin_and_cos(functions: Module) -> None:
    x = floats()
    assert same(functions("sincos_s", x, dtype="float32"), functions("sin", x, dtype="float32")).all()
    assert same(functions("sincos_c", x, dtype="float32"), functions("cosine", x, dtype="float32")).all()


def test_ilogb(functions: Module) -> None:
    x = floats()
    with np.errstate(all="ignore"):
        expected = np.frexp(wide(x))[1] - 1
    expected = np.where(np.isinf(x), 2**31 - 1, np.where((x == 0) | np.isnan(x), -(2**31), expected))
    assert (functions("ilogb1", x, dtype="int32") == expected).all()


def test_nextafter(functions: Module) -> None:
    x, y = float_pairs()
    with np.errstate(all="ignore"):
        assert same(functions("nextafter2", x, y, dtype="float32"), np.nextafter(x, y)).all()
        h, k = sixteen_bit_pairs(HALF)
        assert same(functions("nextafter_half", h, k, dtype="float16"), np.nextafter(h, k)).all()


def test_fma_rounds_once(functions: Module) -> None:
    # Products of floats are exact in float64; sums are made to need little more than 53 bits.
    rng = np.random.default_rng(4)
    a, b = rng.uniform(-2, 2, (2, 50_000)).astype(np.float32)
    c = (-(wide(a) * wide(b))).astype(np.float32)
    expected = (wide(a) * wide(b) + wide(c)).astype(np.float32)
    assert same(functions("fma3", a, b, c, dtype="float32"), expected).all()


def test_fma_of_halves_rounds_once(functions: Module) -> None:
    rng = np.random.default_rng(5)
    a, b, c = rng.integers(0, 65536, (3, 400_000), dtype=np.uint16).view(np.float16)
    near = rng.uniform(-2, 2, (3, 400_000)).astype(np.float16)
    a, b, c = (np.concatenate(pair) for pair in zip((a, b, c), near, strict=True))
    got = functions("fma_half3", a, b, c, dtype="float16")
    with np.errstate(all="ignore"):  # numpy rounds this sum twice on its way to half
        naive = (wide(a) * wide(b) + wide(c)).astype(np.float32).astype(np.float16)
    differ = np.flatnonzero(~same(got, naive))
    assert len(differ) > 0
    for i in differ:
        exact = Fraction(float(a[i])) * Fraction(float(b[i])) + Fraction(float(c[i]))
        assert abs(Fraction(float(got[i])) - exact) < abs(Fraction(float(naive[i])) - exact)


@pytest.mark.parametrize(
    ("name", "reference"),
    [("pow2", np.power), ("atan22", np.arctan2), ("fmod2", np.fmod), ("copysign2", np.copysign)],
)
def test_zeros_infinities_and_nans_of_two_arguments(
    functions: Module, name: str, reference: np.ufunc
) -> None:
    values = np.array(
        [0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e-45, -1e-45], np.float32
    )
    x, y = (m.ravel() for m in np.meshgrid(values, values))
    got = functions(name, x, y, dtype="float32")
    with np.errstate(all="ignore"):
        expected = reference(x, y)
    plain = np.isfinite(expected) & (expected != 0)
    assert same(np.where(plain, 1, got), np.where(plain, 1, expected)).all()
