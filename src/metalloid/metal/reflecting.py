"""What a pipeline says of its arguments: `MTLComputePipelineReflection` and what is in it."""

from __future__ import annotations

from typing import Any

from metalloid.metal.objects import NSObject
from metalloid.runtime.datatypes import data_type
from metalloid.runtime.kernel import Kernel
from metalloid.runtime.reflection import Binding
from metalloid.types import Field, Type

_ACCESS = {"read": 0, "read_write": 1, "write": 2, "none": 0}


class MTLStructMember(NSObject):
    """One member of a struct."""

    def __init__(self, field: Field) -> None:
        super().__init__()
        self._field = field

    def name(self) -> str:
        return self._field.name

    def offset(self) -> int:
        return self._field.offset

    def dataType(self) -> int:
        return data_type(self._field.type)

    def argumentIndex(self) -> int:
        return self._field.id or 0


class MTLStructType(NSObject):
    """The members of a struct, in their order."""

    def __init__(self, fields: tuple[Field, ...]) -> None:
        super().__init__()
        self._fields = fields

    def members(self) -> tuple[MTLStructMember, ...]:
        return tuple(MTLStructMember(field) for field in self._fields)

    def memberByName_(self, name: str) -> MTLStructMember | None:
        return next((MTLStructMember(f) for f in self._fields if f.name == name), None)


class MTLBinding(NSObject):
    """One argument that the program gives."""

    def __init__(self, binding: Binding, type: Type) -> None:
        super().__init__()
        self._binding, self._type = binding, type

    def name(self) -> str:
        return self._binding.name

    def index(self) -> int:
        return self._binding.index

    def type(self) -> int:
        return 0 if self._binding.kind == "buffer" else 1  # MTLBindingTypeBuffer, ...ThreadgroupMemory

    def access(self) -> int:
        return _ACCESS[self._binding.access]

    def isUsed(self) -> bool:
        return self._binding.used

    used = isActive = isUsed

    def isArgument(self) -> bool:
        return True

    def bufferAlignment(self) -> int:
        return self._binding.alignment

    threadgroupMemoryAlignment = bufferAlignment

    def bufferDataSize(self) -> int:
        return self._binding.size

    threadgroupMemoryDataSize = bufferDataSize

    def bufferDataType(self) -> int:
        return data_type(self._type)

    def bufferStructType(self) -> MTLStructType | None:
        return MTLStructType(self._binding.members) if self._binding.members else None


class MTLComputePipelineReflection(NSObject):
    """All arguments of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        types: dict[Any, Type] = {(p.kind, p.index): p.type for p in kernel.parameters}
        self._bindings = tuple(MTLBinding(b, types[b.kind, b.index]) for b in kernel.reflection)

    def bindings(self) -> tuple[MTLBinding, ...]:
        return self._bindings

    arguments = bindings
