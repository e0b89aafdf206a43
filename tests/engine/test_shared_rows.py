"""Rows of a tile that all sums read: they are turned round once, 32 bytes of each at a time."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu.pipeline import vector_code
from metalloid.targets.x86 import AVX512
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import WIDE, same, scalar_ir

RNG = np.random.default_rng(11)
KINDS = {"float": "float32", "half": "float16", "int": "int32", "ushort": "uint16", "long": "int64"}


def _text(kind: str, x: int, y: int, stride: int, first: int, count: int) -> str:
    """Each thread adds up a row of its line's numbers times a row of its column's, from `first` on."""
    return f"""kernel void k(device const {kind}* a, device const {kind}* b, device {kind}* out,
            uint2 t [[thread_position_in_threadgroup]], uint2 g [[threadgroup_position_in_grid]]) {{
        threadgroup {kind} rows[{x}][{stride}];
        for (uint j = t.y; j < {stride}; j += {y}) rows[t.x][j] = b[(g.x * {x} + t.x) * {stride} + j];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        {kind} sum = 0;
        for (uint j = 0; j < {count}; j++) sum += a[(g.y * {y} + t.y) * {count} + j] * rows[t.x][{first} + j];
        out[(g.y * {y} + t.y) * {2 * x} + g.x * {x} + t.x] = sum;
    }}"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("x", "y", "stride", "first", "count"),
    [(16, 16, 16, 0, 16), (32, 8, 33, 0, 32), (16, 16, 17, 3, 13), (8, 32, 24, 5, 11), (64, 4, 9, 0, 8)],
)
def test_rows_that_all_sums_read(kind, x, y, stride, first, count):
    dtype = KINDS[kind]
    a = RNG.integers(-3, 4, (2 * y, count)).astype(dtype)
    b = RNG.integers(-3, 4, (2 * x, stride)).astype(dtype)
    out = np.full((2 * y, 2 * x), 99, dtype)
    text = _text(kind, x, y, stride, first, count)
    got = same(text, [a, b, out], (2 * x, 2 * y), (x, y), widths=(0, 16, 32, 64, 256))[2]
    with np.errstate(over="ignore"):
        expected = (a.astype("int64") @ b[:, first : first + count].astype("int64").T).astype(dtype)
    np.testing.assert_array_equal(got.reshape(expected.shape), expected)


def _vector_text(count: int, y: int = 16) -> str:
    ir, _ = scalar_ir(_text("float", 16, y, 16, 0, count), "k")
    variant = ((16, y, 1), False, False, False, False, None)
    return vector_code(canonical(ir), variant, 0, WIDE).text


def test_half_as_many_loads_as_rows_of_16_bytes():
    long, short = _vector_text(8), _vector_text(4)
    assert AVX512.vector_bytes == 4 * AVX512.shuffle_part
    assert long.count("load <8 x float>") == 16  # one for each row
    assert short.count("load <4 x float>") == 16
    assert "load <4 x float>" not in long


def test_a_row_that_is_no_multiple_is_read_in_pieces_of_16_bytes():
    text = _vector_text(12)
    assert text.count("load <8 x float>") == 16
    assert text.count("load <4 x float>") == 16


def test_rows_that_nobody_shares_are_read_in_pieces_of_16_bytes():
    text = _vector_text(8, y=1)
    assert "load <8 x float>" not in text
    assert text.count("load <4 x float>") >= 32
