"""Values of function constants, from the bytes and the MTLDataType that a program gave."""

from __future__ import annotations

import struct

from metalloid.errors import MetalloidError
from metalloid.source import Constant

# MTLDataType to struct's letters.
_FORMATS = {3: "f", 16: "e", 29: "i", 33: "I", 37: "h", 41: "H", 45: "b", 49: "B", 53: "?", 81: "q", 85: "Q"}
_BFLOAT = 121


def value_of(type: int, data: bytes) -> Constant:
    if type == _BFLOAT:
        number: float = struct.unpack("<f", b"\0\0" + data[:2])[0]
        return number
    if type not in _FORMATS:
        raise MetalloidError(f"function constants of MTLDataType {type} are not supported; scalars are.")
    value: Constant = struct.unpack_from("<" + _FORMATS[type], data)[0]
    return value
