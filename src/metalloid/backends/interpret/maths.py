"""The `llvm.*` intrinsics that compute something from numbers.

A table from the name (less `llvm.` and the types after it) to a function of
the operands' bits. `T` is the type of the first operand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from metalloid.backends.interpret.numbers import convert, fma, signed, to_int, wrap
from metalloid.ir.floats import EXPONENT, is_nan, to_bits, to_float
from metalloid.ir.types import FloatType, IntType, Type

Function = Callable[..., Any]


def _float_function(name: str) -> Callable[[float], float]:
    """A function of numpy's on doubles, without its warnings."""
    function = getattr(np, name)

    def call(value: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(np.float64(value)))

    return call


def _round_half_away(value: float) -> float:
    if not math.isfinite(value) or abs(value) >= 2.0**52:
        return value
    return math.copysign(math.floor(abs(value) + 0.5) if abs(value) != 0.49999999999999994 else 0.0, value)


UNARY: dict[str, Callable[[float], float]] = {
    "sqrt": _float_function("sqrt"),
    "floor": _float_function("floor"),
    "ceil": _float_function("ceil"),
    "trunc": _float_function("trunc"),
    "rint": _float_function("rint"),
    "nearbyint": _float_function("rint"),
    "roundeven": _float_function("rint"),
    "round": _round_half_away,
    "exp": _float_function("exp"),
    "exp2": _float_function("exp2"),
    "exp10": lambda v: _power(10.0, v),
    "log": _float_function("log"),
    "log2": _float_function("log2"),
    "log10": _float_function("log10"),
    "sin": _float_function("sin"),
    "cos": _float_function("cos"),
    "tan": _float_function("tan"),
    "asin": _float_function("arcsin"),
    "acos": _float_function("arccos"),
    "atan": _float_function("arctan"),
    "sinh": _float_function("sinh"),
    "cosh": _float_function("cosh"),
    "tanh": _float_function("tanh"),
}


def _power(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.power(np.float64(a), np.float64(b)))


def _atan2(a: float, b: float) -> float:
    return math.atan2(a, b)


def _less(a: float, b: float) -> bool:
    """a < b, with -0 below +0."""
    return a < b or (a == b == 0 and math.copysign(1, a) < math.copysign(1, b))


def _min_number(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    return a if _less(a, b) else b


def _max_number(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    return b if _less(a, b) else a


def _minimum(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else _min_number(a, b)


def _maximum(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else _max_number(a, b)


BINARY: dict[str, Callable[[float, float], float]] = {
    "minnum": _min_number,
    "maxnum": _max_number,
    "minimumnum": _min_number,
    "maximumnum": _max_number,
    "minimum": _minimum,
    "maximum": _maximum,
    "pow": _power,
    "atan2": _atan2,
}


def _ldexp(type: FloatType, bits: int, exponent: int, width: int) -> int:
    value = to_float(type, bits)
    if not math.isfinite(value) or not value:
        return bits
    power = max(-3000, min(3000, signed(exponent, width)))
    mantissa, own = math.frexp(value)
    # Doubles hold the scaled value exactly unless it is far outside every narrower type's range.
    try:
        return to_bits(type, math.ldexp(mantissa, own + power))
    except OverflowError:
        return to_bits(type, math.copysign(math.inf, value))


def _frexp(type: FloatType, bits: int) -> tuple[int, int]:
    value = to_float(type, bits)
    if not math.isfinite(value):
        return bits, 0
    mantissa, exponent = math.frexp(value)
    return to_bits(type, mantissa), wrap(exponent, 32)


def _modf(type: FloatType, bits: int) -> tuple[int, int]:
    value = to_float(type, bits)
    if math.isinf(value):
        return to_bits(type, math.copysign(0.0, value)), bits
    fraction, whole = math.modf(value)
    return to_bits(type, fraction), to_bits(type, whole)


def classify(type: FloatType, bits: int) -> int:
    """The bit that llvm.is.fpclass uses for this number's class."""
    exponent_bits, mantissa_bits = EXPONENT[type.name]
    negative = bits >> exponent_bits + mantissa_bits
    exponent = bits >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = bits & (1 << mantissa_bits) - 1
    if exponent == (1 << exponent_bits) - 1:
        if mantissa:
            return 2 if mantissa >> mantissa_bits - 1 else 1
        return 1 << 2 if negative else 1 << 9
    kind = 0 if exponent else (1 if mantissa else 2)  # normal, subnormal, zero
    return 1 << (3 + kind if negative else 8 - kind)


def _sign_bit(type: FloatType) -> int:
    return 1 << type.bits - 1


FLOAT: dict[str, Callable[..., Any]] = {
    "fabs": lambda T, a: a & ~_sign_bit(T),
    "copysign": lambda T, a, b: a & ~_sign_bit(T) | b & _sign_bit(T),
    "fma": fma,
    "fmuladd": fma,
    "canonicalize": lambda T, a: convert(T, T, a) if is_nan(T, a) else a,
    "arithmetic.fence": lambda T, a: a,
    "is.fpclass": lambda T, a, mask: int(bool(classify(T, a) & mask)),
    "frexp": _frexp,
    "modf": _modf,
    "sincos": lambda T, a: (
        to_bits(T, UNARY["sin"](to_float(T, a))),
        to_bits(T, UNARY["cos"](to_float(T, a))),
    ),
    "ldexp": lambda T, a, b: _ldexp(T, a, b, 32),
    "powi": lambda T, a, b: to_bits(T, _power(to_float(T, a), float(signed(b, 32)))),
}


def _saturate(value: int, bits: int, is_signed: bool) -> int:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    return wrap(min(max(value, low), high), bits)


def _signed_pair(operation: Callable[[int, int], int]) -> Callable[[int, int, int], int]:
    return lambda a, b, bits: operation(signed(a, bits), signed(b, bits))


_WIDE: dict[str, Callable[[int, int, int], int]] = {  # without wrapping
    "uadd": lambda a, b, bits: a + b,
    "usub": lambda a, b, bits: a - b,
    "umul": lambda a, b, bits: a * b,
    "ushl": lambda a, b, bits: a << b % bits,
    "sadd": _signed_pair(lambda a, b: a + b),
    "ssub": _signed_pair(lambda a, b: a - b),
    "smul": _signed_pair(lambda a, b: a * b),
    "sshl": lambda a, b, bits: signed(a, bits) << b % bits,
}


def _saturating(name: str) -> Function:
    return lambda T, a, b: _saturate(_WIDE[name](a, b, T.bits), T.bits, name[0] == "s")


def _overflowing(name: str) -> Function:
    def call(type: IntType, a: int, b: int) -> tuple[int, int]:
        exact = _WIDE[name](a, b, type.bits)
        wrapped = wrap(exact, type.bits)
        seen = signed(wrapped, type.bits) if name[0] == "s" else wrapped
        return wrapped, int(seen != exact)

    return call


def _funnel(type: IntType, high: int, low: int, amount: int, left: bool) -> int:
    bits = type.bits
    both = high << bits | low
    shift = amount % bits
    return wrap(both >> (bits - shift if left else shift), bits)


def _compare(a: int, b: int, bits: int, is_signed: bool) -> int:
    x, y = (signed(a, bits), signed(b, bits)) if is_signed else (a, b)
    return (x > y) - (x < y)


INTEGER: dict[str, Callable[..., Any]] = {
    "ctpop": lambda T, a: a.bit_count(),
    "ctlz": lambda T, a, zero: T.bits - a.bit_length(),
    "cttz": lambda T, a, zero: (a & -a).bit_length() - 1 if a else T.bits,
    "bitreverse": lambda T, a: int(f"{a:0{T.bits}b}"[::-1], 2),
    "bswap": lambda T, a: int.from_bytes(a.to_bytes(T.bits // 8, "little"), "big"),
    "fshl": lambda T, a, b, c: _funnel(T, a, b, c, left=True),
    "fshr": lambda T, a, b, c: _funnel(T, a, b, c, left=False),
    "abs": lambda T, a, poison: wrap(abs(signed(a, T.bits)), T.bits),
    "smin": lambda T, a, b: a if _compare(a, b, T.bits, True) < 0 else b,
    "smax": lambda T, a, b: a if _compare(a, b, T.bits, True) > 0 else b,
    "umin": lambda T, a, b: min(a, b),
    "umax": lambda T, a, b: max(a, b),
    **{f"{name}.sat": _saturating(name) for name in ("uadd", "usub", "ushl", "sadd", "ssub", "sshl")},
    **{
        f"{name}.with.overflow": _overflowing(name)
        for name in ("uadd", "usub", "umul", "sadd", "ssub", "smul")
    },
    "expect": lambda T, a, b: a,
    "expect.with.probability": lambda T, a, b, p: a,
}


def _three_way(is_signed: bool) -> Function:
    return lambda T, a, b: _compare(a, b, T.bits, is_signed)


COMPARE = {"scmp": _three_way(True), "ucmp": _three_way(False)}  # -1, 0, 1, to be wrapped to the result


def function(name: str, type: Type, result: Type) -> Function | None:
    """The meaning of `llvm.<name>` on operands of `type`; None for one that is not here."""
    if isinstance(type, FloatType):
        if name in UNARY:
            unary = UNARY[name]
            return lambda a: to_bits(type, unary(to_float(type, a)))
        if name in BINARY:
            binary = BINARY[name]
            return lambda a, b: to_bits(type, binary(to_float(type, a), to_float(type, b)))
        if name in FLOAT:
            special = FLOAT[name]
            return lambda *operands: special(type, *operands)
        if name in ("fptosi.sat", "fptoui.sat") and isinstance(result, IntType):
            return lambda a: to_int(to_float(type, a), result.bits, name == "fptosi.sat")
    if isinstance(type, IntType):
        if name in INTEGER:
            integer = INTEGER[name]
            return lambda *operands: integer(type, *operands)
        if name in COMPARE and isinstance(result, IntType):
            compare = COMPARE[name]
            return lambda a, b: wrap(compare(type, a, b), result.bits)
    return None
