"""What an instruction can have as an operand.

A `Local` is a reference by name, never by identity: instructions are frozen,
and replacing one costs nothing to those that use its result. Constants are
values of their own; two equal constants are equal.
"""

from __future__ import annotations

from metalloid.ir import floats
from metalloid.ir.types import METADATA, FloatType, IntType, PointerType, Type, VectorType, scalar
from metalloid.records import dataclass


@dataclass(frozen=True, slots=True)
class Local:
    """The result of an instruction, or a parameter: `%name`."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Global:
    """The address of a global or a function: `@name`."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Int:
    """An integer constant; `value` is kept unsigned, in 0 .. 2^bits-1."""

    type: IntType
    value: int

    def __post_init__(self) -> None:
        value, mask = self.value, (1 << self.type.bits) - 1
        if value.__class__ is not int or not 0 <= value <= mask:
            object.__setattr__(self, "value", value & mask)

    @property
    def signed(self) -> int:
        half = 1 << self.type.bits - 1
        return self.value - 2 * half if self.value >= half else self.value


@dataclass(frozen=True, slots=True)
class Float:
    """A floating-point constant, kept as bits: NaNs and signed zeros stay what they are."""

    type: FloatType
    bits: int

    @property
    def value(self) -> float:
        return floats.to_float(self.type, self.bits)


@dataclass(frozen=True, slots=True)
class Named:
    """A constant that is one word: zeroinitializer, null, undef, poison, none."""

    type: Type
    word: str


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An array, struct or vector constant, element by element."""

    type: Type
    elements: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class Bytes:
    """An array of i8 written as text; `data` is what it holds."""

    type: Type
    data: bytes


@dataclass(frozen=True, slots=True)
class Splat:
    """A vector of one repeated constant."""

    type: Type
    element: Constant


@dataclass(frozen=True, slots=True)
class Expression:
    """A constant expression: a cast, getelementptr or sum over addresses of globals."""

    opcode: str
    type: Type
    operands: tuple[Constant, ...]
    flags: tuple[str, ...] = ()
    element: Type | None = None  # what a getelementptr steps over


@dataclass(frozen=True, slots=True)
class Metadata:
    """A metadata operand, kept as text."""

    text: str
    type: Type = METADATA


Constant = Int | Float | Named | Aggregate | Bytes | Splat | Expression | Global
Value = Local | Constant | Metadata


def const(type: Type, value: int | float | bool) -> Constant:
    """A number as a constant of `type`; a splat where `type` is a vector."""
    element = scalar(type)
    made: Constant
    if isinstance(element, IntType):
        made = Int(element, int(value))
    elif isinstance(element, FloatType):
        made = Float(element, floats.to_bits(element, float(value)))
    elif isinstance(element, PointerType) and value == 0:
        made = Named(element, "null")
    else:
        raise TypeError(f"there is no constant {value!r} of type {type}")
    return made if element is type else Splat(type, made)


def vector(elements: tuple[Constant, ...]) -> Aggregate:
    """A vector constant of these elements."""
    return Aggregate(VectorType(len(elements), elements[0].type), elements)


def zero(type: Type) -> Named:
    return Named(type, "null" if isinstance(type, PointerType) else "zeroinitializer")


def poison(type: Type) -> Named:
    return Named(type, "poison")
