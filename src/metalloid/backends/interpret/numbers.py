"""Arithmetic on single numbers, exactly.

An integer is kept unsigned; a floating-point number is kept as its bits, so
NaN payloads and signed zeros survive being moved. Each floating-point
operation rounds once, to nearest even; denormals are kept.
What LLVM leaves undefined is defined here: see "Defined here" in
docs/design/intrinsics.md.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction

from metalloid.ir import floats
from metalloid.ir.floats import EXPONENT, to_bits, to_float
from metalloid.ir.types import FloatType


def signed(value: int, bits: int) -> int:
    half = 1 << bits - 1
    return value - 2 * half if value >= half else value


def wrap(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def _udiv(a: int, b: int, bits: int) -> int:
    return a // b if b else 0


def _urem(a: int, b: int, bits: int) -> int:
    return a % b if b else 0  # not a: LLVM drops `& 7` behind a remainder it knows to be below 8


def _sdiv(a: int, b: int, bits: int) -> int:
    x, y = signed(a, bits), signed(b, bits)
    if y == 0:
        return 0
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _srem(a: int, b: int, bits: int) -> int:
    x, y = signed(a, bits), signed(b, bits)
    if y == 0:
        return 0
    rest = abs(x) % abs(y)
    return -rest if x < 0 else rest


INTEGER: dict[str, Callable[[int, int, int], int]] = {  # results still to be wrapped
    "add": lambda a, b, bits: a + b,
    "sub": lambda a, b, bits: a - b,
    "mul": lambda a, b, bits: a * b,
    "and": lambda a, b, bits: a & b,
    "or": lambda a, b, bits: a | b,
    "xor": lambda a, b, bits: a ^ b,
    "shl": lambda a, b, bits: a << b % bits,
    "lshr": lambda a, b, bits: a >> b % bits,
    "ashr": lambda a, b, bits: signed(a, bits) >> b % bits,
    "udiv": _udiv,
    "urem": _urem,
    "sdiv": _sdiv,
    "srem": _srem,
}

ICMP: dict[str, Callable[[int, int, int], bool]] = {
    "eq": lambda a, b, bits: a == b,
    "ne": lambda a, b, bits: a != b,
    "ult": lambda a, b, bits: a < b,
    "ule": lambda a, b, bits: a <= b,
    "ugt": lambda a, b, bits: a > b,
    "uge": lambda a, b, bits: a >= b,
    "slt": lambda a, b, bits: signed(a, bits) < signed(b, bits),
    "sle": lambda a, b, bits: signed(a, bits) <= signed(b, bits),
    "sgt": lambda a, b, bits: signed(a, bits) > signed(b, bits),
    "sge": lambda a, b, bits: signed(a, bits) >= signed(b, bits),
}


def _divide(a: float, b: float) -> float:
    if b:
        return a / b
    if a == 0 or math.isnan(a) or math.isnan(b):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _remainder(a: float, b: float) -> float:
    if math.isinf(a) or b == 0 or math.isnan(a) or math.isnan(b):
        return math.nan
    return math.fmod(a, b)


# On doubles, then rounded: for types of 24 bits or fewer that is the same as rounding once.
FLOATING: dict[str, Callable[[float, float], float]] = {
    "fadd": lambda a, b: a + b,
    "fsub": lambda a, b: a - b,
    "fmul": lambda a, b: a * b,
    "fdiv": _divide,
    "frem": _remainder,
}


def _ordered(a: float, b: float) -> bool:
    return not (math.isnan(a) or math.isnan(b))


_RELATION: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def fcmp(predicate: str, a: float, b: float) -> bool:
    """A comparison by LLVM's name for it: `o...` is false of NaNs, `u...` true."""
    if predicate in ("true", "false"):
        return predicate == "true"
    if predicate in ("ord", "uno"):
        return _ordered(a, b) == (predicate == "ord")
    if not _ordered(a, b):
        return predicate[0] == "u"
    return _RELATION[predicate[1:]](a, b)


def round_exact(type: FloatType, value: Fraction) -> int:
    """The bits of the nearest number to an exact value, ties to even. Zero is positive."""
    exponent_bits, mantissa = EXPONENT[type.name]
    if value == 0:
        return 0
    bias = (1 << exponent_bits - 1) - 1
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    units = round(magnitude / Fraction(2) ** (exponent - mantissa))  # Python rounds to even
    field = (exponent + bias - 1 << mantissa) + units
    largest = ((1 << exponent_bits) - 1) << mantissa
    return int(value < 0) << exponent_bits + mantissa | min(field, largest)


def fma(type: FloatType, a: int, b: int, c: int) -> int:
    """a * b + c with one rounding."""
    x, y, z = to_float(type, a), to_float(type, b), to_float(type, c)
    if type.name != "double":
        return to_bits(type, _rounded_to_odd(x, y, z))
    if all(math.isfinite(v) for v in (x, y, z)):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        if exact:
            return round_exact(type, exact)
    return to_bits(type, x * y + z)  # zeros, infinities, NaN: doubles get their signs right


def _rounded_to_odd(x: float, y: float, z: float) -> float:
    """x * y + z of numbers of 24 bits or fewer, in a double that rounds to such a type as the exact value does.

    The product is exact. Where the sum is not, an odd last bit remembers that, on either side of every tie.
    """
    product = x * y
    total = product + z
    if not math.isfinite(total):
        return total
    part = total - product
    lost = (product - (total - part)) + (z - part)
    if lost and not struct.unpack("<Q", struct.pack("<d", total))[0] & 1:
        return math.nextafter(total, math.copysign(math.inf, lost))
    return total


def exact_sum(type: FloatType, values: list[int]) -> int:
    """The sum of several numbers, rounded once at the end."""
    numbers = [to_float(type, v) for v in values]
    if all(math.isfinite(v) for v in numbers):
        exact = sum((Fraction(v) for v in numbers), Fraction(0))
        if exact or any(numbers):
            return round_exact(type, exact)
    return to_bits(type, sum(numbers, -0.0))


def exact_product(type: FloatType, values: list[int]) -> int:
    """The product of several numbers, rounded once at the end."""
    numbers = [to_float(type, v) for v in values]
    if all(math.isfinite(v) and v for v in numbers):
        return round_exact(type, math.prod((Fraction(v) for v in numbers), start=Fraction(1)))
    return to_bits(type, math.prod(numbers))


def from_int(type: FloatType, value: int) -> int:
    """An integer as a floating-point number, rounded once."""
    return round_exact(type, Fraction(value))


def to_int(value: float, bits: int, is_signed: bool) -> int:
    """Towards zero; NaN becomes 0, what does not fit the nearest that does."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return wrap(high if value > 0 else low, bits)
    return wrap(min(max(int(value), low), high), bits)


def convert(source: FloatType, target: FloatType, bits: int) -> int:
    """From one floating-point type to another; a NaN stays one, made quiet."""
    result = floats.narrow(target, floats.widen(source, bits))
    return result | 1 << EXPONENT[target.name][1] - 1 if floats.is_nan(target, result) else result
