"""pack and unpack against the definitions of the formats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.math.scalar_jit import Kernel, build


@dataclass(frozen=True)
class Layout:
    """Bits of each component and the position of its lowest bit."""

    name: str
    fields: tuple[tuple[int, int], ...]
    signed: bool = False
    srgb: bool = False
    word: str = "uint"

    @property
    def packed(self) -> str:
        return f"srgb_{self.name}" if self.srgb else self.name

    @property
    def unpacked(self) -> str:
        return f"{self.name}_srgb" if self.srgb else self.name


BYTES = ((8, 0), (8, 8), (8, 16), (8, 24))
SHORTS = ((16, 0), (16, 16))
LAYOUTS = [
    Layout("unorm4x8", BYTES),
    Layout("snorm4x8", BYTES, signed=True),
    Layout("unorm4x8", BYTES, srgb=True),
    Layout("unorm2x16", SHORTS),
    Layout("snorm2x16", SHORTS, signed=True),
    Layout("unorm10a2", ((10, 0), (10, 10), (10, 20), (2, 30))),
    Layout("unorm565", ((5, 11), (6, 5), (5, 0)), word="ushort"),
]


def to_linear(c: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def to_srgb(c: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(c < 0.0031308, 12.92 * c, 1.055 * np.maximum(c, 0) ** (1 / 2.4) - 0.055)


def unpack(layout: Layout, words: NDArray[np.generic]) -> NDArray[np.float64]:
    columns = []
    for index, (bits, shift) in enumerate(layout.fields):
        raw = words.astype(np.int64) >> shift & ((1 << bits) - 1)
        if layout.signed:
            raw = np.where(raw >> (bits - 1), raw - (1 << bits), raw)
            columns.append(np.maximum(raw / ((1 << (bits - 1)) - 1), -1.0))
        else:
            value = raw / ((1 << bits) - 1)
            columns.append(to_linear(value) if layout.srgb and index < 3 else value)
    return np.stack(columns, axis=1)


def components(layout: Layout, values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """The integers before rounding, one array per component."""
    out = []
    for index, (bits, _) in enumerate(layout.fields):
        low, largest = (-1.0, (1 << (bits - 1)) - 1) if layout.signed else (0.0, (1 << bits) - 1)
        v = np.clip(values[:, index], low, 1.0)
        out.append((to_srgb(v) if layout.srgb and index < 3 else v) * largest)
    return out


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda x: x.packed)
def test_pack_and_unpack(layout: Layout) -> None:
    n = len(layout.fields)
    slots = 2 if n == 2 else 4
    module = build(
        [
            Kernel("pack", (layout.word, f"float{n}"), f"pack_float_to_{layout.packed}(a)"),
            Kernel("pack_h", (layout.word, f"half{n}"), f"pack_half_to_{layout.packed}(a)"),
            Kernel("unpack", (f"float{n}", layout.word), f"unpack_{layout.unpacked}_to_float(a)"),
            Kernel("unpack_h", (f"half{n}", layout.word), f"unpack_{layout.unpacked}_to_half(a)"),
            Kernel(
                "both",
                (layout.word,) * 2,
                f"pack_float_to_{layout.packed}(unpack_{layout.unpacked}_to_float(a))",
            ),
        ],
        "safe",
    )
    dtype = "uint16" if layout.word == "ushort" else "uint32"
    rng = np.random.default_rng(12)
    words = rng.integers(0, np.iinfo(dtype).max, 4000, dtype=dtype, endpoint=True)
    expected = unpack(layout, words)
    got = module("unpack", words, dtype="float32", width=slots)[:, :n]
    np.testing.assert_allclose(got, expected, rtol=2e-6)
    narrow = module("unpack_h", words, dtype="float16", width=slots)[:, :n]
    np.testing.assert_allclose(narrow, expected, rtol=1e-3, atol=1e-7)

    again = unpack(layout, module("both", words, dtype=dtype))
    np.testing.assert_allclose(again, expected, rtol=1e-12)

    for kernel, kind in (("pack", "float32"), ("pack_h", "float16")):
        values = rng.uniform(-1.3, 1.3, (4000, slots)).astype(kind)
        result = module(kernel, values, dtype=dtype).astype(np.int64)
        exact = components(layout, values[:, :n].astype(np.float64))
        for (bits, shift), unrounded in zip(layout.fields, exact, strict=True):
            field = result >> shift & ((1 << bits) - 1)
            field = np.where(field >> (bits - 1), field - (1 << bits), field) if layout.signed else field
            assert np.max(np.abs(field - unrounded)) <= 0.5 + 0.01
