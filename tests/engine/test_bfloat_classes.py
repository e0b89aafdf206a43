"""Classes of bfloats (llvm.is.fpclass), as compiled libraries ask for them: PyTorch's poisson_bfloat."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.both import same

CLASSES = {"a NaN": 0x3, "an infinity": 0x204, "normal": 0x108, "below the normal": 0x90, "a zero": 0x60}


@pytest.mark.parametrize("mask", CLASSES.values(), ids=CLASSES.keys())
def test_every_bfloat_has_its_class(mask: int) -> None:
    text = f"""
kernel void k(device const bfloat* x, device uint* y, uint i [[thread_position_in_grid]]) {{
    y[i] = __builtin_isfpclass(x[i], {mask}) ? i : 0;
}}"""
    bits = np.arange(0, 1 << 16, 13, dtype=np.uint16)
    exponent, mantissa = bits >> 7 & 0xFF, bits & 0x7F
    edge = np.where(exponent == 0xFF, np.where(mantissa > 0, 0x3, 0x204), 0x108)
    classes = np.where(exponent == 0, np.where(mantissa > 0, 0x90, 0x60), edge)
    _, found = same(text, [bits, np.full(bits.size, 99, np.uint32)], bits.size, 64, widths=(0, 1))
    assert (found == np.where(classes == mask, np.arange(bits.size), 0)).all()
