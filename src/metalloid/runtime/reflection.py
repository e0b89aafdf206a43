"""What a pipeline says of its arguments: name, index, access, size, members."""

from __future__ import annotations

from metalloid.records import dataclass
from metalloid.types import Field, Parameter, Signature, Struct


@dataclass(frozen=True)
class Binding:
    """One argument that the host gives."""

    name: str
    index: int
    kind: str  # "buffer" or "threadgroup"
    access: str  # "read", "write", "read_write"; "none" where the compiled kernel does not touch it
    type: str  # of an element, in MSL's words
    size: int  # bytes of an element
    alignment: int
    used: bool
    members: tuple[Field, ...] = ()  # of a struct


def bindings(signature: Signature) -> tuple[Binding, ...]:
    """Buffers and threadgroup memory, in the order of their indices."""
    wanted = [p for p in signature.parameters if p.kind in ("buffer", "threadgroup") and p.present]
    return tuple(_binding(p) for p in sorted(wanted, key=lambda p: (p.kind, p.index)))


def _binding(parameter: Parameter) -> Binding:
    type = parameter.type
    return Binding(
        parameter.name,
        parameter.index,
        parameter.kind,
        parameter.access,
        str(type),
        type.size,
        type.alignment,
        parameter.access != "none",
        type.fields if isinstance(type, Struct) else (),
    )
