"""Vectors of some threads, end to end in memory: a masked vector, and no gathers or scatters."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import HEADER, WIDE, same, scalar_ir

KINDS = {
    "float4": (np.float32, 4),
    "float2": (np.float32, 2),
    "half4": (np.float16, 4),
    "int4": (np.int32, 4),
}
# Sums of unlike parts, so that they are taken apart, by rows that a table leads to.
TEXT = """kernel void k(device const {kind}* a, device const int* rows, device {kind}* o, constant uint& w,
    uint2 p [[thread_position_in_grid]]) {{
    if ({test}) {{ {kind} v = a[rows[p.y] * w + p.x]; o[p.y * w + p.x] = v.{parts} - v; }} }}"""
TESTS = {"the end": "p.x < w", "some": "p.x < w && (p.x & 3) != 1", "odd rows": "p.x < w && (p.y & 1)"}


def text_of(kind: str, test: str) -> str:
    return TEXT.format(kind=kind, test=TESTS[test], parts="yxwz"[: KINDS[kind][1]])


def arrays(kind: str, w: int, h: int):
    number, n = KINDS[kind]
    rng = np.random.default_rng(w)
    a = rng.integers(0, 90, 11 * w * n).astype(number)
    return [a, rng.integers(0, 11, h).astype(np.int32), np.full(h * w * n, 7, number), np.uint32([w])]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(("w", "group"), [(20, (32, 4)), (33, (16, 8)), (100, (64, 2)), (5, (8, 8))])
def test_each_gets_its_own(kind, test, w, group):
    text = text_of(kind, test)
    grid = (-(-w // group[0]) * group[0], 8)
    for guard in (True, False, "robust"):
        same(text, arrays(kind, w, 8), grid, group, widths=(0, 16, 64), guard=guard)


def test_no_gathers_and_no_scatters():
    module = canonical(scalar_ir(text_of("float4", "the end"), "k")[0])
    made = vector_code(module, ((32, 4, 1), False, False, True, False, None), 0, WIDE).text
    made = made[made.index("define internal i32 @segment0") :]  # behind what goes lane by lane
    assert "masked.scatter" not in made and "masked.gather" not in made
    assert made.count("call <128 x float> @llvm.masked.load.v128f32.p0(ptr") == 1


def test_a_row_outside_is_told():
    kernel = mt.device("cpu").library(HEADER + text_of("float4", "the end"))["k"]
    given = arrays("float4", 20, 8)
    given[1][5] = 11
    with pytest.raises(mt.MetalloidError, match=r"thread \(0,5,0\)"):
        kernel(*given, grid=(32, 8), threadgroup=(32, 1))
    given[1][5] = 10
    kernel(*given, grid=(32, 8), threadgroup=(32, 1))
    v = given[0].reshape(11, 20, 4)[given[1]]
    np.testing.assert_array_equal(given[2].reshape(8, 20, 4), v[..., [1, 0, 3, 2]] - v)
