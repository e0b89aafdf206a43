"""What C is told of a kernel, a line for each thing: numbers as Metal counts them, and a name at the end."""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.runtime.argument_encoder import ArgumentEncoder
from metalloid.runtime.argument_layout import Described, described_encoder
from metalloid.runtime.datatypes import data_type, declared_constants
from metalloid.runtime.kernel import Kernel
from metalloid.types import Pointer, Struct, Type

_ACCESS = {"read": 0, "read_write": 1, "write": 2, "none": 0}  # MTLBindingAccess


def binding_lines(kernel: Kernel) -> Iterator[str]:
    """`b kind index access size alignment used type name`; after it `m offset type index size name` for each member."""
    types: dict[tuple[str, int], Type] = {(p.kind, p.index): p.type for p in kernel.parameters}
    for b in kernel.reflection:
        numbers = (int(b.kind != "buffer"), b.index, _ACCESS[b.access], b.size, b.alignment, int(b.used))
        yield f"b {' '.join(map(str, numbers))} {data_type(types[b.kind, b.index])} {b.name}"
        for field in b.members:
            yield f"m {field.offset} {data_type(field.type)} {field.id or 0} {field.type.size} {field.name}"


def constant_lines(kernel: Kernel) -> Iterator[str]:
    """`type index name` for each constant that it needs and has no value for."""
    declared = declared_constants(kernel.source.text)
    for name in kernel.signature.undefined_constants:
        type, index = declared.get(name, (0, 0))
        yield f"{type} {index} {name}"


def argument_lines(kernel: Kernel, index: int) -> Iterator[str]:
    """`length alignment` of an argument buffer; then `index offset size pointer` for each member, and an empty line.

    Behind a pointer to a struct (2) the same of that struct.
    """
    yield from _encoder_lines(kernel.argument_encoder(index))


def described_lines(members: str) -> Iterator[str]:
    """The same of an argument buffer that `type index length alignment` of each member describe."""
    rows = (map(int, line.split()) for line in members.splitlines())
    yield from _encoder_lines(described_encoder(Described(*row) for row in rows))


def _encoder_lines(encoder: ArgumentEncoder) -> Iterator[str]:
    yield f"{encoder.encoded_length} {encoder.alignment}"
    for n, (type, offset) in encoder.members.items():
        inside = isinstance(type, Pointer) and isinstance(type.element, Struct)
        yield f"{n} {offset} {type.size} {isinstance(type, Pointer) + inside}"
        if inside:
            yield from _encoder_lines(encoder.inside(n))
    yield ""
