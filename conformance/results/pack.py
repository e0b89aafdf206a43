"""Put Python numbers into the bytes that a kernel's parameter has, by the layout its signature tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from metalloid.types import Array, Scalar, Struct, Type, Vector


class Fields(dict[str, Any]):
    """Fields of a struct. Those in `optional` are used where the struct has them, all others must fit."""

    def __init__(self, optional: Mapping[str, Any], **given: Any) -> None:
        super().__init__(given)
        self.optional = dict(optional)


def pack(type: Type, value: Any) -> bytes:
    """The bytes of one parameter."""
    into = bytearray(type.size)
    _put(type, value, into, 0)
    return bytes(into)


def _put(type: Type, value: Any, into: bytearray, offset: int) -> None:
    match type:
        case Scalar(dtype=dtype):
            into[offset : offset + type.size] = np.dtype(dtype.numpy_name).type(value).tobytes()
        case Struct():
            _put_struct(type, value, into, offset)
        case Array(element=element, length=length) | Vector(element=element, length=length):
            _put_all(element, length, value, into, offset)
        case _:
            raise TypeError(f"[pack] a {type} cannot be given by value")


def _put_struct(type: Struct, value: Mapping[str, Any], into: bytearray, offset: int) -> None:
    optional = value.optional if isinstance(value, Fields) else {}
    names = {field.name for field in type.fields}
    if unknown := value.keys() - names:
        raise KeyError(f"[pack] {type.name} has no field {', '.join(sorted(unknown))}")
    for field in type.fields:
        if field.name in value:
            _put(field.type, value[field.name], into, offset + field.offset)
        elif field.name in optional:
            _put(field.type, optional[field.name], into, offset + field.offset)
        else:
            raise KeyError(f"[pack] {type.name}.{field.name} was not given")


def _put_all(element: Type, length: int, values: Sequence[Any], into: bytearray, offset: int) -> None:
    if len(values) != length:
        raise ValueError(f"[pack] {length} values expected, {len(values)} given")
    for n, value in enumerate(values):
        _put(element, value, into, offset + n * element.size)
