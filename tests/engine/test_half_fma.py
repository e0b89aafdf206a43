"""a * b + c of halves is rounded once, on processors that compute halves in float, and never lane by lane."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu import codegen, pipeline
from metalloid.backends.cpu.build import cpu_program
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import LESSER, WIDE, launch, scalar_ir

TEXT = """kernel void k(device const half* a, device const half* b, device const half* c, device half* d,
                        uint i [[thread_position_in_grid]]) { d[i] = a[i] * b[i] + c[i]; }"""


def _numbers() -> list[np.ndarray]:
    """Any bits, and sums that a float rounds to a tie of halves: a product on a tie, and a little more or less."""
    rng = np.random.default_rng(7)
    a, b, c = (rng.integers(0, 1 << 16, 20000).astype(np.uint16).view(np.float16) for _ in range(3))
    left = (1 + np.arange(1024) / 1024).astype(np.float16)
    near = np.repeat(left, 64)
    other = np.tile(left[:: 1024 // 64], 1024)
    product = near.astype(np.float64) * other.astype(np.float64)
    ties = (product * 2048 % 1 == 0) & (product * 1024 % 1 != 0)
    near, other = near[ties][:4000], other[ties][:4000]
    little = np.where(np.arange(near.size) % 2, 1, -1) * np.float16(2.0**-24)
    large = np.float16([0, -0.0, np.inf, -np.inf, np.nan, 65504, 2.0**-24, 1])
    x, y, z = (v.reshape(-1) for v in np.meshgrid(large, large, large))
    columns = ((a, near, x), (b, other, y), (c, little.astype(np.float16), z))
    made = [np.concatenate(column) for column in columns]
    return [v[: v.size // 128 * 128].astype(np.float16) for v in made]


@pytest.mark.parametrize("target", ["host", *LESSER])
@pytest.mark.parametrize("width", [0, 1, 8, 16])
def test_one_rounding(target: str, width: int) -> None:
    a, b, c = _numbers()
    with np.errstate(all="ignore"):  # in double nothing is lost that a half would see
        expected = (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(np.float16)
        twice = (a.astype(np.float32) * b.astype(np.float32) + c.astype(np.float32)).astype(np.float16)
    assert (twice.view(np.uint16) != expected.view(np.uint16))[~np.isnan(expected)].any()
    got = np.zeros_like(a)
    chosen = codegen.limited(target) if target != "host" else None
    program = cpu_program(*scalar_ir(TEXT, "k", "fast"), width, target=chosen)
    program.run(launch([a, b, c, got], a.size, 128))
    nan = np.isnan(expected)
    assert np.isnan(got[nan]).all()
    np.testing.assert_array_equal(got[~nan].view(np.uint16), expected[~nan].view(np.uint16))


@pytest.mark.parametrize("width", [0, 16, 32])
def test_three_parts_of_each_thread(width: int) -> None:
    """As they lie in memory they fill three registers, or six."""
    text = """kernel void k(device const packed_half3* a, device packed_half3* b, uint i [[thread_position_in_grid]]) {
        half3 x = a[i], y = a[i + 1];
        b[i] = packed_half3(x * 0.25h + y);
    }"""
    a = (np.arange(3 * 65) % 97 * 0.123).astype(np.float16)
    got = np.zeros(3 * 64, np.float16)
    cpu_program(*scalar_ir(text, "k", "fast"), width).run(launch([a, got], 64, 64))
    np.testing.assert_array_equal(got, (a[:-3].astype(np.float64) * 0.25 + a[3:]).astype(np.float16))


@pytest.mark.parametrize("target", [WIDE, codegen.Target("x86-64-v3", "+avx2,+f16c", WIDE.triple)])
def test_no_lane_calls_a_function(target: codegen.Target) -> None:
    variant = ((64, 1, 1), False, False, False, False, None)
    module = canonical(scalar_ir(TEXT, "k", "fast")[0])
    text = pipeline.vector_code(module, variant, 0, target).text
    assert "llvm.fma.v" not in text and "truncdfhf" not in codegen.to_assembly(text, target)
