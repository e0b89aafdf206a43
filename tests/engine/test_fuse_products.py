"""Products are fused with sums, and divisors inverted, before LLVM sees them, and only where math modes allow it."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.ir.intrinsics import ENTRY
from metalloid.transforms.canonicalize import canonical
from metalloid.transforms.fuse_products import fuse_products
from tests.engine.both import same, scalar_ir

TEXT = """kernel void k(device const float* a, device const half* h, device float* b,
                        uint i [[thread_position_in_grid]]) {
    float x = a[i], y = a[i + 1], z = a[i + 2];
    half p = h[i], q = h[i + 1];
    BODY
}"""
A = np.linspace(-3, 5, 40, dtype=np.float32)
H = np.linspace(-2, 2, 40, dtype=np.float16)


def code(body: str, math: str) -> list[str]:
    function = canonical(scalar_ir(TEXT.replace("BODY", body), "k", math)[0]).function[ENTRY]
    return [i.called or i.opcode for i in fuse_products(function).instructions()]


@pytest.mark.parametrize(
    ("body", "fused", "negations"),
    [
        ("b[i] = x * y + z;", 1, 0),
        ("b[i] = z + x * y;", 1, 0),
        ("b[i] = x * y - z;", 1, 1),
        ("b[i] = z - x * y;", 1, 1),
        ("b[i] = x * y + z * z;", 1, 0),
        ("b[i] = float(p * q + p);", 1, 0),
        ("float t = x * y; b[i] = t + z; b[i + 40] = t;", 0, 0),
    ],
)
def test_one_product_goes_into_one_sum(body: str, fused: int, negations: int) -> None:
    made = code(body, "fast")
    assert sum(c.startswith("llvm.fma.") for c in made) == fused
    assert made.count("fneg") == negations
    assert made.count("fadd") + made.count("fsub") + fused == 1
    arrays = [A, H, np.full(80, np.nan, np.float32)]
    same(
        TEXT.replace("BODY", body), arrays, 38, 19, tolerance=1e-5 if "p *" not in body else 2e-3, math="fast"
    )


def test_safe_math_is_left_alone() -> None:
    made = code("b[i] = x / z; float t = x * y; b[i + 40] = t + z; b[i + 80] = y / z;", "safe")
    assert made.count("fdiv") == 2 and not any(c.startswith("llvm.fma.") for c in made)


def test_one_divisor_is_inverted_once() -> None:
    made = code("b[i] = x / z; b[i + 40] = y / z; b[i + 80] = z / x;", "fast")
    assert made.count("fdiv") == 2 and made.count("fmul") == 2
