"""How far a result is from the truth, in units of its type's last place; and inputs worth trying."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Format:
    metal: str
    dtype: np.dtype[np.generic]
    mantissa: int
    lowest: int  # exponent of the smallest normal number


FLOAT = Format("float", np.dtype(np.float32), 23, -126)
HALF = Format("half", np.dtype(np.float16), 10, -14)
BFLOAT = Format("bfloat", np.dtype(ml_dtypes.bfloat16), 7, -126)
WHOLE = Format("int", np.dtype(np.float64), 52, 52)  # an error of 1 is one unit


def promised(bits: NDArray[np.unsignedinteger], form: Format) -> NDArray[np.unsignedinteger]:
    """Without signaling NaNs where minima make NaNs of them: LLVM leaves that open, and only x86 leaves them out."""
    if platform.machine() in ("x86_64", "AMD64"):
        return bits
    quiet = bits.dtype.type(1 << form.mantissa - 1)
    with np.errstate(all="ignore"):
        return np.where(np.isnan(bits.view(form.dtype)), bits | quiet, bits)


def wide(a: NDArray[np.generic]) -> Array:
    with np.errstate(all="ignore"):  # signalling NaNs are among the inputs
        return np.asarray(a.astype(np.float64))


def ulp_size(reference: Array, form: Format) -> Array:
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log2(np.abs(reference)))
    exponent = np.where(np.isfinite(exponent), np.maximum(exponent, form.lowest), form.lowest)
    return np.asarray(2.0 ** (exponent - form.mantissa))


def ulp_error(got: NDArray[np.generic], reference: Array, form: Format) -> Array:
    """0 where both are the same infinity or NaN; infinite where only one is special."""
    value = wide(got)
    with np.errstate(all="ignore"):
        rounded = wide(reference.astype(form.dtype))
        error = np.abs(value - reference) / ulp_size(reference, form)
    error = np.where(np.isnan(error) | np.isinf(error), np.inf, error)
    same = (np.isnan(value) & np.isnan(reference)) | (value == rounded)
    return np.asarray(np.where(same & np.isinf(error), 0.0, error))


# Edges of the format, of domains, of overflow, of reductions.
WORDS = """
    00000000 00000001 007fffff 00800000 00800001 3f7fffff 3f800000 3f800001 40000000 3f000000 7f7fffff
    7f800000 7fc00000 3fc90fdb 40490fdb 3f490fdb 42aeac50 42b17218 42cff1b5 4b000000 4b800001 3eaaaaab
    3f3504f3 3f3504f4 3fb504f3 3fb504f4
"""
SPECIAL = np.array([int(word, 16) for word in WORDS.split()], np.uint32)


@cache
def floats(count: int = 60_000) -> NDArray[np.float32]:
    """Special ones, random bits, dense stretches, and around powers of two and multiples of pi/2."""
    rng = np.random.default_rng(7)
    special = np.concatenate([SPECIAL, SPECIAL | 0x80000000]).astype(np.uint32).view(np.float32)
    random = promised(rng.integers(0, 2**32, count, dtype=np.uint32), FLOAT).view(np.float32)
    powers = (np.arange(1, 255, dtype=np.uint32) << 23)[:, None] + np.array([-1, 0, 1], np.int64)
    quarter_turns = (np.arange(1, 4000) * (np.pi / 2)).astype(np.float32)
    return np.concatenate(
        [special, random, powers.astype(np.uint32).ravel().view(np.float32), quarter_turns]
        + [np.linspace(-s, s, count // 3, dtype=np.float32) for s in (1, 4, 110, 30000)]
        + [1 + np.linspace(-0.01, 0.01, count // 6, dtype=np.float32)]
    )


@cache
def float_pairs(count: int = 80_000) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    rng = np.random.default_rng(8)
    special = np.concatenate([SPECIAL, SPECIAL | 0x80000000]).astype(np.uint32).view(np.float32)
    special = np.concatenate([special, np.array([-3, 3, -2, 2.5, -2.5, 7, 100, -100], np.float32)])
    a, b = (m.ravel() for m in np.meshgrid(special, special))
    bits = promised(rng.integers(0, 2**32, (2, count), dtype=np.uint32), FLOAT).view(np.float32)
    near = rng.uniform(-8, 8, (2, count)).astype(np.float32)
    base = np.exp2(rng.uniform(-4, 4, count)).astype(np.float32)
    exponent = rng.uniform(-40, 40, count).astype(np.float32)
    one = (1 + rng.uniform(-1e-3, 1e-3, count)).astype(np.float32)
    steep = rng.uniform(-80000, 80000, count).astype(np.float32)
    return (
        np.concatenate([a, bits[0], near[0], base, one]),
        np.concatenate([b, bits[1], near[1], exponent, steep]),
    )


@cache
def sixteen_bits(form: Format) -> NDArray[np.generic]:
    return promised(np.arange(65536, dtype=np.uint16), form).view(form.dtype)


@cache
def sixteen_bit_pairs(form: Format, count: int = 60_000) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    rng = np.random.default_rng(9)
    bits = promised(rng.integers(0, 65536, (2, count), dtype=np.uint16), form).view(form.dtype)
    near = rng.uniform(-8, 8, (2, count)).astype(form.dtype)
    return np.concatenate([bits[0], near[0]]), np.concatenate([bits[1], near[1]])


@cache
def tuples(form: Format, arity: int, count: int = 30_000) -> tuple[NDArray[np.generic], ...]:
    """All combinations of some special values, random bits, near ones, and a third that cancels a * b."""
    rng = np.random.default_rng(10 + arity)
    size = form.dtype.itemsize * 8
    edges = np.array([0, -0.0, 1, -1, 0.5, 3, np.inf, -np.inf, np.nan], np.float32)
    edges = edges if arity > 3 else np.concatenate([edges, SPECIAL.view(np.float32)[:11]])
    with np.errstate(all="ignore"):
        grid = [m.ravel() for m in np.meshgrid(*[edges.astype(form.dtype)] * arity)]
    unsigned = np.dtype(f"u{size // 8}")
    numbers = rng.integers(0, 2**size, (arity, count), dtype=unsigned)  # type: ignore[call-overload]
    bits = promised(numbers, form).view(form.dtype)
    near = rng.uniform(-8, 8, (arity, count)).astype(form.dtype)
    scaled = (rng.uniform(-2, 2, (arity, count)) * 2.0 ** rng.integers(-12, 12, (arity, count))).astype(
        form.dtype
    )
    cancels = rng.uniform(-2, 2, (arity, count)).astype(form.dtype)
    cancels[2] = (-wide(cancels[0]) * wide(cancels[1])).astype(form.dtype)
    return tuple(np.concatenate(parts) for parts in zip(grid, bits, near, scaled, cancels, strict=True))


@cache
def shifts(count: int) -> NDArray[np.int32]:
    k = np.random.default_rng(12).integers(-320, 320, count).astype(np.int32)
    k[::50] = 2**31 - 1
    k[1::50] = -(2**31)
    return k
