"""MTLDataType, Metal's numbers for types: of parameters and members, and of function constants with their bytes."""

from __future__ import annotations

import re
import struct

from metalloid.errors import MetalloidError
from metalloid.source import Constant
from metalloid.types import Array, Matrix, Pointer, Scalar, Struct, Type, Vector

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
_LETTERS = dict(_SCALARS.values())
_NAMES = {number: name for name, (number, _) in _SCALARS.items()}
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


def size_of(number: int) -> int:
    """Bytes of a scalar; 0 where the number is another's."""
    letter = _LETTERS.get(number, "")
    return 2 if letter == "bfloat" else struct.calcsize(letter)


def constant_of(number: int, data: bytes) -> Constant:
    """A function constant from the bytes that a program gave for this type."""
    size = size_of(number)
    if not size:
        raise MetalloidError(f"function constants of MTLDataType {number} are not supported; scalars are.")
    if len(data) < size:
        raise MetalloidError(
            f"a function constant of type {_NAMES[number]} has {size} bytes; got {len(data)}."
        )
    if _LETTERS[number] == "bfloat":
        data, number = b"\0\0" + data[:2], _SCALARS["float"][0]
    value: Constant = struct.unpack_from("<" + _LETTERS[number], data)[0]
    return value


def declared_constants(text: str) -> dict[str, tuple[int, int]]:
    """Function constants as a text declares them: MTLDataType and index, by name."""
    found = _DECLARED.findall(text)
    return {name: (_SCALARS.get(kind, (0, ""))[0], int(index)) for kind, name, index in found}
