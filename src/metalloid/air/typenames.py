"""Types by the names AIR gives them: `float`, `uint3`, `packed_half2`, `float4x4`, and structs field by field."""

from __future__ import annotations

import re
from collections.abc import Mapping

from metalloid.air.metadata import Item, Node, after, items
from metalloid.types import Array, DType, Field, Matrix, Pointer, Scalar, Struct, Type, Vector

_SCALARS = {dtype.msl: dtype for dtype in DType} | {
    "unsigned char": DType.UINT8,
    "unsigned short": DType.UINT16,
    "unsigned int": DType.UINT32,
    "unsigned long": DType.UINT64,
    "size_t": DType.UINT64,
    "ptrdiff_t": DType.INT64,
}
_NAME = re.compile(r"(packed_)?([a-z]+)([234])(?:x([234]))?")
_ATOMICS = re.compile(r"(?:metal::)?_?atomic(?:_(\w+)|<(\w+)>)?")
_DEPTH = 16  # structs inside structs: metadata may go in circles
_WORDS = ("air.struct_type_info", "air.indirect_argument")
_FIELD = 5  # offset, size, length, type, name


def type_named(name: str) -> Type | None:
    """A number, vector or matrix type; None for another."""
    if name in _SCALARS:
        return Scalar(_SCALARS[name])
    if (atomic := _ATOMICS.fullmatch(name)) and (atomic[1] or atomic[2]) in _SCALARS:
        return Scalar(_SCALARS[atomic[1] or atomic[2]], atomic=True)
    found = _NAME.fullmatch(name)
    if found is None or found[2] not in _SCALARS:
        return None
    element = Scalar(_SCALARS[found[2]])
    if found[4]:
        return Matrix(element, int(found[3]), int(found[4]))
    return Vector(element, int(found[3]), packed=bool(found[1]))


def struct_type(
    nodes: Mapping[str, str], node: str, name: str, size: int, align: int, depth: int = 0
) -> Type | None:
    """The type that a node of fields describes; None where it is not to be understood."""
    if depth > _DEPTH:
        return None
    row = items(nodes, node)
    fields: list[Field] = []
    at = 0
    while at < len(row):
        inner, indirect = "", ""
        while at + 1 < len(row) and row[at] in _WORDS:
            inner = _node(row[at + 1]) if row[at] == _WORDS[0] else inner
            at += 2
        part = row[at : at + _FIELD]
        at += _FIELD
        number: int | None = None
        if at + 1 < len(row) and row[at] == _WORDS[1]:  # behind a field: its [[id(n)]], or what it points at
            said = row[at + 1]
            number = said if isinstance(said, int) else None
            indirect = _node(said)
            at += 2
        match part:
            case (int(offset), int(bytes_), int(length), str(type_name), str(field)):
                made = _field_type(nodes, inner, indirect, type_name, bytes_, depth)
                fields.append(Field(field, Array(made, length) if length else made, offset, number))
            case _:
                return None
    if name.removeprefix("metal::") in ("array", "_atomic") and len(fields) == 1:
        only = fields[0].type
        return Scalar(only.dtype, atomic=True) if "atomic" in name and isinstance(only, Scalar) else only
    return Struct(name, tuple(fields), size, align)


def _field_type(
    nodes: Mapping[str, str], inner: str, indirect: str, name: str, size: int, depth: int
) -> Type:
    if indirect:  # a pointer of an argument buffer
        row = items(nodes, indirect)
        const, space = "air.read" in row, after(row, "air.address_space")
        return Pointer("constant" if space == (2,) else "device", type_named(name), const)
    made = (
        struct_type(nodes, inner, name, size, min(size & -size, 16), depth + 1) if inner else type_named(name)
    )
    return made or Struct(name, (), size, min(size & -size, 16) or 1)


def _node(item: Item) -> str:
    return item.name if isinstance(item, Node) else ""
