"""Numbers keep their exact bits from text to model and back."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metalloid.ir import floats
from metalloid.ir.types import BFLOAT, DOUBLE, FLOAT, HALF, I8, I32, VectorType
from metalloid.ir.values import Float, Int, Splat, const
from metalloid.ir.write import write_value

NUMPY = {HALF: np.float16, BFLOAT: ml_dtypes.bfloat16, FLOAT: np.float32, DOUBLE: np.float64}


@given(st.integers(0, 0xFFFF))
@pytest.mark.parametrize("type", [HALF, BFLOAT])
def test_every_16_bit_pattern_survives_a_double(type, bits: int) -> None:
    assert floats.narrow(type, floats.widen(type, bits)) == bits


@given(st.integers(0, 0xFFFFFFFF))
def test_every_float_pattern_survives_a_double(bits: int) -> None:
    assert floats.narrow(FLOAT, floats.widen(FLOAT, bits)) == bits


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # a busy machine is slow
@given(st.floats(width=32))
@pytest.mark.parametrize("type", [HALF, BFLOAT])
def test_rounding_from_float_is_numpys(type, value: float) -> None:
    with np.errstate(over="ignore"):
        expected = float(np.float32(value).astype(NUMPY[type]))
    got = floats.to_float(type, floats.to_bits(type, value))
    assert got == expected or (math.isnan(got) and math.isnan(expected))
    assert math.copysign(1, got) == math.copysign(1, expected)


def test_a_double_is_rounded_to_bfloat_once() -> None:
    just_above_a_tie = 1 + 2**-8 + 2**-40
    assert floats.to_bits(BFLOAT, just_above_a_tie) == 0x3F81
    assert floats.to_bits(BFLOAT, 2.0**-133) == 1
    assert floats.to_bits(BFLOAT, 1e39) == 0x7F80


def test_constants_are_written_as_llvm_wants() -> None:
    assert write_value(Int(I8, 255)) == "-1"
    assert write_value(Float(HALF, 0x3C00)) == "0xH3C00"
    assert write_value(const(BFLOAT, 2.2)) == "0xR400D"
    assert write_value(const(FLOAT, 0.1)) == "0x3FB99999A0000000"
    assert write_value(const(VectorType(4, I32), 7)) == "splat (i32 7)"
    assert const(VectorType(4, I32), 7) == Splat(VectorType(4, I32), Int(I32, 7))
