"""Walk a getelementptr: which index moves the address by how many bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metalloid.ir.layout import DataLayout
from metalloid.ir.module import Function, Instruction
from metalloid.ir.types import ArrayType, StructType, Type
from metalloid.ir.values import Expression, Int, Local, Value


def steps(
    layout: DataLayout, element: Type | None, indices: Sequence[Value]
) -> Iterator[tuple[Value | None, int]]:
    """Each index with the bytes of one step; the field of a struct as None and its offset."""
    assert element is not None
    type = element
    for n, index in enumerate(indices):
        if n and isinstance(type, StructType):
            assert isinstance(index, Int)
            yield None, layout.struct(type)[0][index.value]
            type = type.elements[index.value]
            continue
        if n:
            assert isinstance(type, ArrayType)
            type = type.element
        yield index, layout.size(type)


def distances(layout: DataLayout, i: Instruction | Expression) -> Iterator[int]:
    """What the address can move by: constant distances, and for other indices the bytes of one step."""
    for index, size in steps(layout, i.element, i.operands[1:]):
        yield size * index.signed if isinstance(index, Int) else size


def constant_offset(layout: DataLayout, i: Instruction | Expression) -> int | None:
    """How far a getelementptr moves, in bytes; None where an index is not a constant."""
    if not all(isinstance(index, Int) for index in i.operands[1:]):
        return None
    return sum(distances(layout, i))


def constant_base(function: Function, pointer: Value, layout: DataLayout) -> tuple[Value, int]:
    """A pointer as another and a constant distance from it, in bytes."""
    total = 0
    while isinstance(pointer, Local):
        i = function.definitions[pointer.name]
        moved = constant_offset(layout, i) if i.opcode == "getelementptr" else None
        if moved is None:
            break
        total, pointer = total + moved, i.operands[0]
    return pointer, total
