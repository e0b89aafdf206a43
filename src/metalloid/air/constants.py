"""Constants as the engine has them: vectors element by element, null pointers as its spaces have them."""

from __future__ import annotations

from metalloid.air.refused import Refused
from metalloid.air.shapes import LAYOUT, PRIVATE, THREADGROUP, field, lanes, memory, value
from metalloid.ir.types import (
    I8,
    I32,
    ArrayType,
    FloatType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
    scalar,
)
from metalloid.ir.values import (
    Aggregate,
    Bytes,
    Constant,
    Expression,
    Float,
    Global,
    Int,
    Named,
    Splat,
)

_EMPTY = ("undef", "poison")
_CASTS = ("bitcast", "ptrtoint", "inttoptr", "trunc")


def null(type: PointerType) -> Constant:
    """0 is an address of private and threadgroup memory: none is all ones there."""
    if type.space in (PRIVATE, THREADGROUP):
        return Expression("inttoptr", type, (Int(I32, -1),))
    return Named(type, "null")


def nothing(type: Type) -> Constant:
    """The zero of a scalar type."""
    match type:
        case IntType():
            return Int(type, 0)
        case FloatType():
            return Float(type, 0)
        case PointerType():
            return null(type)
        case _:
            return Named(type, "zeroinitializer")


def constant(given: Constant) -> Constant:
    """A constant that is no vector."""
    type = value(given.type)
    match given:
        case Int() | Float() | Bytes():
            return given
        case Named(_, word) if word in _EMPTY:
            return Named(type, word)
        case Named():
            return nothing(type)
        case Global(name):
            return Global(name, type)
        case Expression():
            return _expression(given, type)
        case Aggregate(_, elements):
            return Aggregate(type, tuple(part(e) for e in elements))
        case _:
            raise Refused(f"a constant of type {given.type} is not supported")


def part(given: Constant) -> Constant:
    """A constant inside a struct that is a value: vectors are arrays there."""
    if not isinstance(given.type, VectorType):
        return constant(given)
    elements = elements_of(given)
    return Aggregate(ArrayType(len(elements), elements[0].type), elements)


def elements_of(given: Constant) -> tuple[Constant, ...]:
    """The elements of a vector constant."""
    count, type = lanes(given.type), value(given.type)
    match given:
        case Splat(_, element):
            return (constant(element),) * count
        case Aggregate(_, elements):
            return tuple(constant(e) for e in elements[:count])
        case Named(_, word) if word in _EMPTY:
            return (Named(type, word),) * count
        case Named():
            return (nothing(type),) * count
        case _:
            raise Refused(f"a constant of type {given.type} is not supported")


def _expression(given: Expression, type: Type) -> Constant:
    if given.opcode == "getelementptr" and given.element is not None:
        base, *indices = (constant(o) for o in given.operands)
        stepped = tuple(index_constants(given.element, tuple(indices)))
        return Expression("getelementptr", type, (base, *stepped), given.flags, memory(given.element))
    if given.opcode == "bitcast" and isinstance(given.type, PointerType):
        return constant(given.operands[0])
    if given.opcode in _CASTS or given.opcode in ("add", "sub"):
        return Expression(given.opcode, type, tuple(constant(o) for o in given.operands), given.flags)
    raise Refused(f"a constant {given.opcode} is not supported")


def index_constants(element: Type, indices: tuple[Constant, ...]) -> list[Constant]:
    """The indices of a step through memory, those of fields as they are numbered here."""
    found: list[Constant] = list(indices[:1])
    type = element
    for index in indices[1:]:
        if isinstance(type, StructType):
            assert isinstance(index, Int)
            found.append(Int(index.type, field(type, index.value)))
            type = type.elements[index.value]
        else:
            assert isinstance(type, ArrayType | VectorType)
            found.append(index)
            type = type.element
    return found


def stored(given: Constant) -> Constant:
    """A constant as it lies in memory: the initialiser of a global."""
    type = memory(given.type)
    match given:
        case Named(_, word):
            return (
                Named(type, word if word in _EMPTY else "zeroinitializer")
                if type != given.type
                else constant(given)
            )
        case Int() | Float() | Bytes():
            return given
        case Splat() | Aggregate() if isinstance(given.type, VectorType):
            elements = [stored(e) for e in elements_of(given)]
            assert isinstance(type, ArrayType)
            rest = [nothing(scalar(type.element))] * (type.count - len(elements))
            return Aggregate(type, (*elements, *rest))
        case Aggregate(ArrayType(), elements):
            return Aggregate(type, tuple(stored(e) for e in elements))
        case Aggregate(StructType() as struct, elements):
            return _stored_struct(struct, type, elements)
        case Global() | Expression() if isinstance(type, StructType):  # a pointer and its padding
            return Aggregate(type, (constant(given), Named(ArrayType(4, I8), "undef")))
        case _:
            return constant(given)


def _stored_struct(struct: StructType, type: Type, elements: tuple[Constant, ...]) -> Constant:
    assert isinstance(type, StructType)
    places = {field(struct, number): stored(e) for number, e in enumerate(elements)}
    filled = (places.get(at, Named(t, "undef")) for at, t in enumerate(type.elements))
    return Aggregate(type, tuple(filled))


def size(type: Type) -> int:
    """Bytes in memory, as AIR counts them."""
    return LAYOUT.size(type)
