"""Between floating-point numbers and their bits, for every type LLVM IR names.

All conversions round to nearest even, as the hardware does, and keep the
payload of a NaN where the wider type has room for it.
"""

from __future__ import annotations

import math
import struct

from metalloid.ir.types import FloatType

PACK = {"half": ("<e", "<H"), "float": ("<f", "<I"), "double": ("<d", "<Q")}
EXPONENT = {
    "half": (5, 10),
    "bfloat": (8, 7),
    "float": (8, 23),
    "double": (11, 52),
}  # exponent, mantissa bits


def is_nan(type: FloatType, bits: int) -> bool:
    exponent, mantissa = EXPONENT[type.name]
    return (bits >> mantissa) & ((1 << exponent) - 1) == (1 << exponent) - 1 and bits & (
        (1 << mantissa) - 1
    ) != 0


def to_float(type: FloatType, bits: int) -> float:
    """The number these bits stand for (exact: a double holds them all)."""
    if type.name == "bfloat":
        bits, name = bits << 16, "float"
    else:
        name = type.name
    floating, integer = PACK[name]
    return float(struct.unpack(floating, struct.pack(integer, bits))[0])


def to_bits(type: FloatType, value: float) -> int:
    """The bits of the nearest number of this type; too large becomes infinity."""
    if math.isnan(value):
        sign, exponent, mantissa = math.copysign(1, value) < 0, *EXPONENT[type.name]
        return (sign << exponent + mantissa) | ((1 << exponent) - 1 << mantissa) | (1 << mantissa - 1)
    if type.name == "bfloat":
        return _double_to_bfloat(value)
    floating, integer = PACK[type.name]
    try:
        packed = struct.pack(floating, value)
    except OverflowError:
        packed = struct.pack(floating, math.copysign(math.inf, value))
    return int(struct.unpack(integer, packed)[0])


def _double_to_bfloat(value: float) -> int:
    """Round a double once: by way of float it would be rounded twice."""
    sign, magnitude = int(math.copysign(1, value) < 0), math.fabs(value)
    if magnitude in (0, math.inf):
        return sign << 15 | (0x7F80 if magnitude else 0)
    exponent = max(math.frexp(magnitude)[1] - 1, -126)
    units = round(math.ldexp(magnitude, 7 - exponent))  # of the last place; Python rounds to even
    return sign << 15 | min((exponent + 126 << 7) + units, 0x7F80)


def widen(type: FloatType, bits: int) -> int:
    """The bits of the same number as a double, NaN payload included."""
    exponent, mantissa = EXPONENT[type.name]
    if is_nan(type, bits):
        sign = bits >> exponent + mantissa
        return sign << 63 | 0x7FF << 52 | (bits & ((1 << mantissa) - 1)) << 52 - mantissa
    return int(struct.unpack("<Q", struct.pack("<d", to_float(type, bits)))[0])


def narrow(type: FloatType, bits: int) -> int:
    """The reverse of `widen`: from the bits of a double to this type's."""
    exponent, mantissa = EXPONENT[type.name]
    value = float(struct.unpack("<d", struct.pack("<Q", bits))[0])
    if math.isnan(value):
        payload = (bits & ((1 << 52) - 1)) >> 52 - mantissa
        quiet = payload or 1 << mantissa - 1
        return (bits >> 63) << exponent + mantissa | ((1 << exponent) - 1) << mantissa | quiet
    return to_bits(type, value)
