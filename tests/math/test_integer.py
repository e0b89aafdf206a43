"""Integer functions of every width against Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.math.scalar_jit import Kernel, Module, build


@dataclass(frozen=True)
class Kind:
    metal: str
    bits: int
    signed: bool

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return np.dtype(f"{'i' if self.signed else 'u'}{self.bits // 8}")

    def wrap(self, value: int) -> int:
        value &= (1 << self.bits) - 1
        return value - (1 << self.bits) if self.signed and value >> (self.bits - 1) else value

    def saturate(self, value: int) -> int:
        low, high = (
            (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)
            if self.signed
            else (0, (1 << self.bits) - 1)
        )
        return max(low, min(high, value))


KINDS = [
    Kind(name, bits, signed)
    for bits, names in (
        (8, ("char", "uchar")),
        (16, ("short", "ushort")),
        (32, ("int", "uint")),
        (64, ("long", "ulong")),
    )
    for name, signed in zip(names, (True, False), strict=True)
]
Model = Callable[[Kind, int, int, int], int]


def _raw(k: Kind, x: int) -> int:
    return x & ((1 << k.bits) - 1)


def _rotate(k: Kind, x: int, n: int, _: int) -> int:
    n %= k.bits
    return k.wrap(_raw(k, x) << n | _raw(k, x) >> (k.bits - n))


def _ctz(k: Kind, x: int) -> int:
    return k.bits if x == 0 else (x & -x).bit_length() - 1


def _extract(k: Kind, x: int, offset: int, count: int) -> int:
    field = _raw(k, x) >> offset & ((1 << count) - 1)
    return field - (1 << count) if k.signed and count and field >> (count - 1) else field


def _insert(k: Kind, x: int, y: int, offset: int, count: int) -> int:
    mask = (((1 << count) - 1) << offset) & ((1 << k.bits) - 1)
    return k.wrap(_raw(k, x) & ~mask | (_raw(k, y) << offset) & mask)


MODELS: dict[str, tuple[str, Model]] = {
    "abs": ("abs(a)", lambda k, x, y, z: k.wrap(abs(x))),
    "absdiff": ("absdiff(a, b)", lambda k, x, y, z: k.wrap(abs(x - y))),
    "addsat": ("addsat(a, b)", lambda k, x, y, z: k.saturate(x + y)),
    "subsat": ("subsat(a, b)", lambda k, x, y, z: k.saturate(x - y)),
    "clz": ("clz(a)", lambda k, x, y, z: k.bits - _raw(k, x).bit_length()),
    "ctz": ("ctz(a)", lambda k, x, y, z: _ctz(k, x)),
    "popcount": ("popcount(a)", lambda k, x, y, z: _raw(k, x).bit_count()),
    "reverse_bits": ("reverse_bits(a)", lambda k, x, y, z: k.wrap(int(f"{_raw(k, x):0{k.bits}b}"[::-1], 2))),
    "hadd": ("hadd(a, b)", lambda k, x, y, z: (x + y) >> 1),
    "rhadd": ("rhadd(a, b)", lambda k, x, y, z: (x + y + 1) >> 1),
    "rotate": ("rotate(a, b)", _rotate),
    "mulhi": ("mulhi(a, b)", lambda k, x, y, z: x * y >> k.bits),
    "madhi": ("madhi(a, b, c)", lambda k, x, y, z: k.wrap((x * y >> k.bits) + z)),
    "madsat": ("madsat(a, b, c)", lambda k, x, y, z: k.saturate(x * y + z)),
    "min": ("min(a, b)", lambda k, x, y, z: min(x, y)),
    "max": ("max(a, b)", lambda k, x, y, z: max(x, y)),
    "min3": ("min3(a, b, c)", lambda k, x, y, z: min(x, y, z)),
    "max3": ("max3(a, b, c)", lambda k, x, y, z: max(x, y, z)),
    "median3": ("median3(a, b, c)", lambda k, x, y, z: sorted((x, y, z))[1]),
    "clamp": ("clamp(a, min(b, c), max(b, c))", lambda k, x, y, z: min(max(x, min(y, z)), max(y, z))),
    "extract_0_8": ("extract_bits(a, 0, 8)", lambda k, x, y, z: _extract(k, x, 0, 8)),
    "extract_3_4": ("extract_bits(a, 3, 4)", lambda k, x, y, z: _extract(k, x, 3, 4)),
    "extract_all": ("extract_bits(a, 0, 8 * sizeof(a))", lambda k, x, y, z: x),
    "extract_none": ("extract_bits(a, 2, 0)", lambda k, x, y, z: 0),
    "extract_top": (
        "extract_bits(a, 8 * sizeof(a) - 1, 1)",
        lambda k, x, y, z: _extract(k, x, k.bits - 1, 1),
    ),
    "insert_3_4": ("insert_bits(a, b, 3, 4)", lambda k, x, y, z: _insert(k, x, y, 3, 4)),
    "insert_all": ("insert_bits(a, b, 0, 8 * sizeof(a))", lambda k, x, y, z: y),
    "insert_none": ("insert_bits(a, b, 1, 0)", lambda k, x, y, z: x),
}


@pytest.fixture(scope="module")
def functions() -> Module:
    return build(
        [
            Kernel(f"{name}_{kind.metal}", (kind.metal,) * 4, expression)
            for kind in KINDS
            for name, (expression, _) in MODELS.items()
        ],
        "safe",
    )


def values(kind: Kind, seed: int) -> NDArray[np.generic]:
    edges = [
        0,
        1,
        2,
        3,
        -1,
        -2,
        1 << (kind.bits - 1),
        (1 << (kind.bits - 1)) - 1,
        (1 << (kind.bits - 1)) + 1,
        5,
        100,
    ]
    rng = np.random.default_rng(seed)
    random = rng.integers(0, 256, 400 * kind.bits // 8, dtype=np.uint8).view(kind.dtype)
    small = rng.integers(0, 30, 200).astype(kind.dtype)
    both = np.concatenate([np.array([kind.wrap(e) for e in edges], kind.dtype).repeat(30), random, small])
    return rng.permutation(both)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.metal)
def test_integer_function(functions: Module, kind: Kind, name: str) -> None:
    a, b, c = (values(kind, seed) for seed in (1, 2, 3))
    got = functions(f"{name}_{kind.metal}", a, b, c, dtype=kind.dtype.str)
    model = MODELS[name][1]
    for x, y, z, result in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
        assert result == model(kind, x, y, z), (x, y, z)


def test_products_of_24_bits() -> None:
    module = build(
        [Kernel("mul", ("int", "int", "int"), "mul24(a, b)"), Kernel("mad", ("uint",) * 4, "mad24(a, b, c)")],
        "safe",
    )
    rng = np.random.default_rng(6)
    a, b = rng.integers(-(1 << 23), 1 << 23, (2, 1000)).astype(np.int32)
    with np.errstate(over="ignore"):
        assert (module("mul", a, b, dtype="int32") == a * b).all()
        u, v, w = rng.integers(0, 1 << 24, (3, 1000)).astype(np.uint32)
        assert (module("mad", u, v, w, dtype="uint32") == u * v + w).all()
