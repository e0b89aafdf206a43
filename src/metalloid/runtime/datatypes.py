"""MTLDataType, Metal's numbers for types: of parameters and members, and of function constants with their bytes."""

from __future__ import annotations

import re
import struct

from metalloid.errors import MetalloidError
from metalloid.source import Constant, Number
from metalloid.types import Array, DType, Matrix, Pointer, Scalar, Struct, Type, Vector

STRUCT, ARRAY, POINTER = 1, 2, 60
# Scalars, with struct's letters; vectors of two to four follow them.
_SCALARS = {
    "float": (3, "f"),
    "half": (16, "e"),
    "int": (29, "i"),
    "uint": (33, "I"),
    "short": (37, "h"),
    "ushort": (41, "H"),
    "char": (45, "b"),
    "uchar": (49, "B"),
    "bool": (53, "?"),
    "long": (81, "q"),
    "ulong": (85, "Q"),
    "bfloat": (121, "bfloat"),
}
_MATRICES = {"float": 7, "half": 20}  # of two columns and two rows; rows count first
_FIRST = {number: name for name, (number, _) in _SCALARS.items()}
_DECLARED = re.compile(
    r"constant\s+(?:constexpr\s+)?(\w+)\s+(\w+)\s*\[\[\s*function_constant\s*\(\s*(\d+)\s*\)"
)


def data_type(type: Type) -> int:
    """The number of a type; 0 where Metal has none."""
    match type:
        case Scalar(dtype):
            return _SCALARS.get(dtype.msl, (0, ""))[0]
        case Vector(element, length):
            first = data_type(element)
            return first + length - 1 if first else 0
        case Matrix(element, columns, rows):
            first = _MATRICES.get(element.dtype.msl, 0)
            return first + 3 * (columns - 2) + rows - 2 if first else 0
        case Struct():
            return STRUCT
        case Array():
            return ARRAY
        case Pointer():
            return POINTER


def type_of(number: int) -> Type | None:
    """The type with this number: a scalar, a vector, a matrix or a pointer."""
    if number == POINTER:
        return Pointer("device", None)
    for length in range(1, 5):
        if name := _FIRST.get(number - length + 1):
            element = Scalar(named(name))
            return Vector(element, length) if length > 1 else element
    for name, first in _MATRICES.items():
        if 0 <= number - first < 9:
            return Matrix(Scalar(named(name)), 2 + (number - first) // 3, 2 + (number - first) % 3)
    return None


def named(msl: str) -> DType:
    return next(dtype for dtype in DType if dtype.msl == msl)


def constant_of(number: int, data: bytes) -> Constant:
    """A function constant from the bytes that a program gave for this type."""
    type = type_of(number)
    if not isinstance(type, Scalar | Vector):
        raise MetalloidError(
            f"function constants of MTLDataType {number} are not supported; scalars and vectors are."
        )
    if len(data) < type.size:
        raise MetalloidError(f"a function constant of type {type} has {type.size} bytes; got {len(data)}.")
    if isinstance(type, Scalar):
        return _number(type, data)
    size = type.element.size
    return tuple(_number(type.element, data[n * size :]) for n in range(type.length))


def _number(type: Scalar, data: bytes) -> Number:
    letter = _SCALARS[type.dtype.msl][1]
    if letter == "bfloat":
        data, letter = b"\0\0" + data[:2], "f"
    value: Number = struct.unpack_from("<" + letter, data)[0]
    return value


def declared_constants(text: str) -> dict[str, tuple[int, int]]:
    """Function constants as a text declares them: MTLDataType and index, by name."""
    found = _DECLARED.findall(text)
    return {name: (_spelled(kind), int(index)) for kind, name, index in found}


def _spelled(kind: str) -> int:
    """float, float4; 0 for a word that is no such type."""
    name, length = (kind[:-1], int(kind[-1])) if kind[-1:] in ("2", "3", "4") else (kind, 1)
    return _SCALARS[name][0] + length - 1 if name in _SCALARS else 0
