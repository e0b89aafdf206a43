"""Generic pointers: what they look like in the IR, and how one is written as a number.

A pointer to device memory is its address. One to threadgroup or private memory has its 32 bits below and the number
of its space above, in bits that no address of device memory has. None at all is 0, of whatever space it was.
"""

from __future__ import annotations

from metalloid.ir.types import I64, ArrayType, FloatType, IntType, PlainType, PointerType, StructType, Type
from metalloid.ir.values import Aggregate, Expression, Int, Local, Value

GENERIC = PointerType(0)
DEVICE = 1
WIDE = frozenset((1, 4))  # spaces whose pointers are addresses of 64 bits: buffers and constant tables
_MARK = 0x7FFF0000  # above 47 bits, and not what a processor takes for an address
NOTHING = (1 << 32) - 1  # a null pointer of threadgroup or private memory, where 0 is an address
WORDLESS = (
    "llvm.lifetime.",
    "llvm.assume",
    "llvm.invariant.",
    "llvm.prefetch.",
)  # they only tell LLVM something


_SIMPLE = frozenset((Local, Int))
_NUMBERS = frozenset((IntType, FloatType, PlainType))


def mark(space: int) -> int:
    """The upper half of the number of a pointer to this space."""
    return _MARK | space


def mentions(thing: Type | Value) -> bool:
    """Whether a generic pointer is in a type or a value."""
    if thing.__class__ in _SIMPLE:  # nearly all: an instruction's operands are asked one by one
        thing = thing.type  # type: ignore[union-attr]
    if thing.__class__ in _NUMBERS:
        return False
    if thing.__class__ is PointerType:
        return thing.space == GENERIC.space
    match thing:
        case ArrayType(_, element):
            return mentions(element)
        case StructType(elements):
            return any(mentions(e) for e in elements)
        case Expression() | Aggregate():
            parts = thing.operands if isinstance(thing, Expression) else thing.elements
            return mentions(thing.type) or any(mentions(p) for p in parts)
        case _:
            return mentions(thing.type) if hasattr(thing, "type") else False


def without_generic(type: Type) -> Type:
    """A type with numbers for the generic pointers in it; it takes the same room."""
    match type:
        case PointerType(0):
            return I64
        case ArrayType(count, element):
            return ArrayType(count, without_generic(element))
        case StructType(elements, packed) if mentions(type):
            return StructType(tuple(without_generic(e) for e in elements), packed)
        case _:
            return type
