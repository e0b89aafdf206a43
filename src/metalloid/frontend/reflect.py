"""Read a kernel's signature out of its compiled module.

`__mt_signature` is a variable whose type lists the parameters; its debug info gives every element
type with its layout, template instances included.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from metalloid.frontend.declared import declared
from metalloid.frontend.members import Member, Members, members
from metalloid.frontend.names import LIMIT, SIGNATURE
from metalloid.frontend.unit import Unit
from metalloid.location import plain_name
from metalloid.patterns import pattern
from metalloid.records import dataclass, field
from metalloid.types import Array, DType, Field, Matrix, Pointer, Scalar, Struct, Type, Vector

_NODE = pattern(r"^!(\d+) = (?:distinct )?(.*)$", re.MULTILINE)
_FIELDS = pattern(r'(\w+): ("(?:[^"\\]|\\.)*"|![0-9]+|[^,()]+(?:\([^)]*\))?)')
_TEMPLATE = pattern(r"^(?:metal::)?(\w+)<(.*)>$")

_SCALARS = {
    "bool": DType.BOOL,
    "char": DType.INT8,
    "signed char": DType.INT8,
    "unsigned char": DType.UINT8,
    "short": DType.INT16,
    "unsigned short": DType.UINT16,
    "int": DType.INT32,
    "unsigned int": DType.UINT32,
    "long": DType.INT64,
    "unsigned long": DType.UINT64,
    "long long": DType.INT64,
    "unsigned long long": DType.UINT64,
    "_Float16": DType.FLOAT16,
    "__bf16": DType.BFLOAT16,
    "float": DType.FLOAT32,
}
ANONYMOUS = "(anonymous)"
_SPACES = ("device", "constant", "threadgroup", "thread")


@dataclass(frozen=True)
class Described:
    """One parameter as the compiler saw it."""

    space: str
    const: bool
    reference: bool
    present: bool
    index: int
    type: Type


@dataclass
class DebugInfo:
    """The metadata of a module, read on demand."""

    text: str
    unit: Unit
    _types: dict[str, Type] = field(default_factory=dict)

    @cached_property
    def members(self) -> Members:
        return members(self.unit)

    @cached_property
    def has_ids(self) -> bool:
        tokens = self.unit.tokens
        behind = (token for at in self.unit.words.places("id") for token in tokens[at + 1 : at + 2])
        return any(token.text == "(" for token in behind)

    @cached_property
    def nodes(self) -> Mapping[str, str]:
        start = max(0, self.text.find("\n!"))  # behind the code, which is most of it
        return {match[1]: match[2] for match in _NODE.finditer(self.text, start)}

    def fields(self, reference: str) -> dict[str, str]:
        body = self.nodes.get(reference.lstrip("!"), "")
        found = {name: value.strip() for name, value in _FIELDS.findall(body)}
        found["node"] = body.split("(")[0]
        return found

    def items(self, reference: str) -> list[str]:
        return re.findall(r"!\d+", self.nodes.get(reference.lstrip("!"), ""))

    # ---- parameters

    def variable_type(self, name: str) -> str:
        """What the variable of this name points at; "" where there is none."""
        for body in self.nodes.values():
            if body.startswith("!DIGlobalVariable(") and f'"{name}"' in body:
                return self.fields(dict(_FIELDS.findall(body))["type"])["baseType"]
        return ""

    def parameters(self) -> tuple[Described, ...]:
        """In the order of the kernel's parameters: the type is a list of first and rest."""
        type_ = self.variable_type(SIGNATURE)
        found: list[Described] = []
        while members := self.items(self.fields(type_).get("elements", "")):
            first, type_ = (self.fields(member)["baseType"] for member in members)
            found.append(self.parameter(first))
        return tuple(found)

    def thread_limit(self) -> int:
        """The kernel's [[max_total_threads_per_threadgroup(n)]]."""
        name = self.fields(self.variable_type(LIMIT))["name"]  # "thread_limit<256>"
        return int(name[name.index("<") + 1 : name.index(">")])

    def parameter(self, reference: str) -> Described:
        info = self.fields(reference)
        if self.fields(self.items(info["elements"])[0]).get("tag") == "DW_TAG_inheritance":  # a void pointer
            info = self.fields(self.fields(self.items(info["elements"])[0])["baseType"])
        values = [self.fields(p) for p in self.items(info["templateParams"])]
        space, const, is_reference, present, index = (v.get("value", "i32 0").split()[-1] for v in values[:5])
        return Described(
            _SPACES[int(space)],
            _true(const),
            _true(is_reference),
            _true(present),
            int(index),
            self.type(values[5]["type"]),
        )

    # ---- types

    def type(self, reference: str) -> Type:
        if reference not in self._types:
            self._types[reference] = self._type(reference)
        return self._types[reference]

    def _type(self, reference: str) -> Type:
        info = self.fields(reference)
        tag = info.get("tag", "")
        if info["node"] == "!DIBasicType":
            return Scalar(_SCALARS.get(_unquote(info["name"]), DType.UINT8))
        if tag in ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_member"):
            return self.type(info["baseType"])
        if tag == "DW_TAG_enumeration_type":
            return self.type(info["baseType"]) if "baseType" in info else Scalar(DType.INT32)
        if tag in ("DW_TAG_pointer_type", "DW_TAG_reference_type"):
            return self.pointer(info)
        if tag == "DW_TAG_array_type":
            return self.array(info)
        return self.composite(reference, info)

    def pointer(self, info: dict[str, str]) -> Type:
        target = info.get("baseType", "null")
        name = self.fields(target)
        const = name.get("tag") == "DW_TAG_const_type"
        if const:
            target = name.get("baseType", "null")
            name = self.fields(target)
        if target == "null":
            return Pointer("device", None, const)
        if name.get("tag") in ("DW_TAG_structure_type", "DW_TAG_class_type") and target in self._types:
            return Pointer("device", self._types[target], const)
        self._types.setdefault(target, Struct(_unquote(name.get("name", '"?"')), (), 0, 1))
        element = self._type(target)
        self._types[target] = element
        return Pointer("device", element, const)

    def array(self, info: dict[str, str]) -> Type:
        element = self.type(info["baseType"])
        for extent in reversed(self.items(info["elements"])):
            count = self.fields(extent).get("count", "0")
            element = Array(element, int(re.sub(r"\D", "", count) or 0))
        return element

    def member(self, info: dict[str, str]) -> Field:
        name, type_ = _unquote(info.get("name", '""')), self.type(info["baseType"])
        offset, shift = divmod(int(info.get("offset", "0")), 8)
        if "DIFlagBitField" in info.get("flags", ""):
            return Field(name, type_, offset, bits=int(info["size"]), shift=shift)
        if not self.has_ids and not _points(type_):
            return Field(name, type_, offset)
        said = self.members.get((name, int(info.get("line", "0"))), Member())
        return Field(name, said.pointer(type_), offset, said.id)

    def composite(self, reference: str, info: dict[str, str]) -> Type:
        name = _unquote(info.get("name", '""'))
        template = _TEMPLATE.match(name)
        if template and template[1] in _TEMPLATES and "templateParams" not in info:
            if (only := declared(name, _SCALARS)) is not None:
                return only
        elif template and template[1] in _TEMPLATES:
            parameters = [self.fields(p) for p in self.items(info["templateParams"])]
            known = _TEMPLATES[template[1]](self, parameters)
            if known is not None:
                return known
        size = int(info.get("size", "0")) // 8
        found: list[Field] = []
        for item in self.items(info.get("elements", "")):
            member = self.fields(item)
            if member["node"] == "!DIDerivedType" and member.get("tag") in (
                "DW_TAG_member",
                "DW_TAG_inheritance",
            ):
                if "DIFlagStaticMember" in self.nodes[item.lstrip("!")]:
                    continue
                found.append(self.member(member))
        alignment = int(info.get("align", "0")) // 8 or max((m.type.alignment for m in found), default=1)
        union = info.get("tag") == "DW_TAG_union_type"
        return Struct(_in_metal(name) or _typedef(info), tuple(found), size, alignment, union)


def _vector(info: DebugInfo, parameters: list[dict[str, str]], packed: bool = False) -> Type | None:
    element = info.type(parameters[0]["type"])
    length = int(parameters[1]["value"].split()[-1])
    return Vector(element, length, packed) if isinstance(element, Scalar) else None


def _packed(info: DebugInfo, parameters: list[dict[str, str]]) -> Type | None:
    return _vector(info, parameters, packed=True)


def _matrix(info: DebugInfo, parameters: list[dict[str, str]]) -> Type | None:
    element = info.type(parameters[0]["type"])
    columns, rows = (int(p["value"].split()[-1]) for p in parameters[1:3])
    return Matrix(element, columns, rows) if isinstance(element, Scalar) else None


def _atomic(info: DebugInfo, parameters: list[dict[str, str]]) -> Type | None:
    element = info.type(parameters[0]["type"])
    return Scalar(element.dtype, atomic=True) if isinstance(element, Scalar) else None


def _array(info: DebugInfo, parameters: list[dict[str, str]]) -> Type:
    return Array(info.type(parameters[0]["type"]), int(parameters[1]["value"].split()[-1]))


_TEMPLATES = {"vec": _vector, "packed_vec": _packed, "matrix": _matrix, "atomic": _atomic, "array": _array}


def _in_metal(name: str) -> str:
    """`Row<_Float16>` as its author wrote it."""
    return name.replace("_Float16", "half").replace("__bf16", "bfloat")


def _typedef(info: dict[str, str]) -> str:
    """The name of `typedef struct { ... } Name;`: the struct has none of its own, its symbol has the typedef's."""
    symbol = _unquote(info.get("identifier", '""')).replace("_ZTS", "_Z", 1)
    name = plain_name(symbol)
    return name if symbol and name != symbol else ANONYMOUS


def _points(type: Type) -> bool:
    return isinstance(type, Pointer) or (isinstance(type, Array) and _points(type.element))


def _unquote(text: str) -> str:
    return text.strip('"')


def _true(text: str) -> bool:
    return text not in ("0", "false")
