"""Twins: beside every number of a thread, the number it would be without rounding and wrap-around.

An integer's twin is exact and has no width; a pointer's is the distance it would have moved; a float's is a
double, with what has happened to it on the way: sums in a narrow type, the birth of an infinity or a NaN.
A twin knows the bits it belongs to. Where a register holds other bits, something that twins do not follow
has written it, and it starts over from what is there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from metalloid.backends.base import Triple
from metalloid.backends.interpret.memory import Pointer
from metalloid.backends.interpret.numbers import signed
from metalloid.ir.floats import to_float
from metalloid.ir.module import Instruction
from metalloid.ir.types import FloatType

LOST_ULPS = 4  # of the largest sum on the way: what is worth a word
MOST_ADDS = 1 << 20  # that are counted: `x = x + x` doubles them


@dataclass(frozen=True, slots=True)
class Whole:
    """An integer without wrap-around. What memory held may have been signed or not: both are followed."""

    actual: int
    low: int  # with leaves read as signed
    high: int  # with leaves read as unsigned
    made: Instruction | None = None  # the last arithmetic in it


@dataclass(frozen=True, slots=True)
class Place:
    """A pointer's distance from the start of its object, without wrap-around."""

    actual: Pointer
    low: int
    high: int
    made: Instruction | None = None

    @property
    def wrapped(self) -> bool:
        return self.actual.offset not in (self.low, self.high)


@dataclass(frozen=True, slots=True)
class Birth:
    """Where finite numbers made something that is not, or numbers made a NaN."""

    instruction: Instruction
    thread: Triple
    threadgroup: Triple
    operands: tuple[float, ...]
    result: float
    half: bool  # an overflow of half
    given: tuple[float, ...] = ()  # in a function of Metal's: what the user's call gave it


@dataclass(frozen=True, slots=True)
class Real:
    """A floating-point number as a double."""

    actual: int  # its bits
    exact: float
    adds: int = 0  # additions in a narrow type that are in it, one after the other or as a tree
    narrow: FloatType | None = None  # that type
    largest: float = 0.0  # of the sums on the way
    lost: float = 0.0  # how far the last of them is off, in units in the last place of the largest
    summed: Instruction | None = None  # the last of those additions
    birth: Birth | None = None  # an infinity or NaN that went into it
    told: bool = False  # its infinity has been reported


def whole(actual: int, bits: int) -> Whole:
    return Whole(actual, signed(actual, bits), actual)


def place(actual: Pointer) -> Place:
    return Place(actual, actual.offset, actual.offset)


def real(type: FloatType, actual: int) -> Real:
    return Real(actual, to_float(type, actual))


def finite(type: FloatType, bits: int) -> bool:
    return math.isfinite(to_float(type, bits))


def ulp(type: FloatType, size: float) -> float:
    """The distance between neighbours of a type near a number."""
    digits = {"half": 10, "bfloat": 7, "float": 23, "double": 52}[type.name]
    least = {"half": -14, "bfloat": -126, "float": -126, "double": -1022}[type.name]
    exponent = math.frexp(size)[1] - 1 if size and math.isfinite(size) else least
    return math.ldexp(1.0, max(exponent, least) - digits)


Twin = Whole | Place | Real | None


def belongs(twin: Any, actual: Any) -> bool:
    return twin is not None and (twin.actual is actual or twin.actual == actual)
