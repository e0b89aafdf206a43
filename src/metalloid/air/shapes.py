"""Types as the engine has them: pointers of its address spaces, no vectors, AIR's layout in memory kept.

AIR's pointers are all 64 bits wide; those to private and threadgroup memory are 32 here. So that a copy of a struct
still copies all of it, such a pointer is followed by four bytes of nothing wherever it lies in memory, and structs
that hold one, or a vector, spell out their padding.
"""

from __future__ import annotations

from metalloid.air.refused import Refused
from metalloid.ir.layout import data_layout
from metalloid.ir.types import (
    I1,
    I8,
    ArrayType,
    FunctionType,
    PointerType,
    StructType,
    Type,
    VectorType,
)

LAYOUT = data_layout(
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32"
    "-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
)
PRIVATE, DEVICE, THREADGROUP = 5, 1, 3
SPACES = {0: PRIVATE, 1: DEVICE, 2: DEVICE, 3: THREADGROUP}
MATRIX = 64  # a simdgroup_matrix is a vector of so many elements, of which the first two are the lane's
_NARROW = (PRIVATE, THREADGROUP)


def space(number: int) -> int:
    if number not in SPACES:
        raise Refused(f"it uses address space {number}, which is not supported")
    return SPACES[number]


def lanes(type: Type) -> int:
    """How many scalars stand for a value of this type; 0 for one that is no vector."""
    if not isinstance(type, VectorType):
        return 0
    return 2 if type.count == MATRIX else type.count


def value(type: Type) -> Type:
    """The type of a value; that of a vector's element. Structs keep their fields, and hold vectors as arrays."""
    match type:
        case PointerType(number):
            return PointerType(space(number))
        case VectorType(_, element):
            return value(element)
        case ArrayType(count, element):
            return ArrayType(count, inside(element))
        case StructType(elements, packed):
            return StructType(tuple(inside(e) for e in elements), packed)
        case FunctionType():
            raise Refused("it calls a function by its address, which is not supported")
        case _:
            return type


def inside(type: Type) -> Type:
    """The type of a part of a struct that is a value."""
    return ArrayType(lanes(type), value(type)) if isinstance(type, VectorType) else value(type)


def memory(type: Type) -> Type:
    """The type of what lies in memory, as large as AIR has it and with its parts where AIR has them."""
    match type:
        case PointerType(number):
            pointer = PointerType(space(number))
            return StructType((pointer, ArrayType(4, I8)), True) if pointer.space in _NARROW else pointer
        case VectorType(_, element):
            if element == I1:
                raise Refused("it keeps a vector of bools in memory, which is not supported")
            return ArrayType(LAYOUT.size(type) // LAYOUT.size(element), memory(element))
        case ArrayType(count, element):
            return ArrayType(count, memory(element))
        case StructType(elements, packed) if _is_plain(type):
            return StructType(tuple(memory(e) for e in elements), packed)
        case StructType():
            return StructType(tuple(part for _, part in _padded(type)), True)
        case _:
            return type


def field(type: StructType, index: int) -> int:
    """Where a field of a struct is among those that it has in memory."""
    if _is_plain(type):
        return index
    return next(at for at, (number, _) in enumerate(_padded(type)) if number == index)


def _is_plain(type: Type) -> bool:
    """Whether it is the same in memory here."""
    match type:
        case PointerType(number):
            return space(number) == number
        case VectorType():
            return False
        case ArrayType(_, element):
            return _is_plain(element)
        case StructType(elements):
            return all(_is_plain(e) for e in elements)
        case _:
            return True


def _padded(type: StructType) -> list[tuple[int, Type]]:
    """Its fields with their numbers, and the bytes between them with -1."""
    offsets, size = LAYOUT.struct(type)
    found: list[tuple[int, Type]] = []
    at = 0
    for number, (offset, element) in enumerate(zip(offsets, type.elements, strict=True)):
        if offset > at:
            found.append((-1, ArrayType(offset - at, I8)))
        found.append((number, memory(element)))
        at = offset + LAYOUT.size(element)
    return [*found, (-1, ArrayType(size - at, I8))] if size > at else found
