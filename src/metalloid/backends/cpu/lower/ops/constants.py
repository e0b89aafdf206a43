"""Constants: how far a constant address lies from its variable, and what a constant table holds.

Threadgroup variables have their places before code is made, so a table may hold their addresses as numbers.
"""

from __future__ import annotations

from dataclasses import replace

from metalloid.backends.cpu.lower.output import Output
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import ArrayType, IntType, PointerType, StructType
from metalloid.ir.values import Aggregate, Constant, Expression, Global, Int


def constant_offset(layout: DataLayout, value: Expression) -> int:
    """How far a constant getelementptr moves, in bytes."""
    assert value.element is not None
    total, type = 0, value.element
    for n, index in enumerate(value.operands[1:]):
        assert isinstance(index, Int)
        if n == 0:
            total += index.signed * layout.size(type)
        elif isinstance(type, StructType):
            total += layout.struct(type)[0][index.value]
            type = type.elements[index.value]
        else:
            assert isinstance(type, ArrayType)
            type = type.element
            total += index.signed * layout.size(type)
    return total


def initial(out: Output, value: Constant) -> Constant:
    """What a table holds, with numbers for the addresses of threadgroup variables."""
    match value:
        case Aggregate(_, elements):
            return replace(value, elements=tuple(initial(out, e) for e in elements))
        case Expression("ptrtoint", IntType() as type, (pointer,)) if pointer.type == PointerType(3):
            return Int(type, _place(out, pointer))
        case Expression("add", IntType() as type, operands):
            left, right = (initial(out, o) for o in operands)
            if isinstance(left, Int) and isinstance(right, Int):
                return Int(type, left.value + right.value)
    return value


def _place(out: Output, pointer: Constant) -> int:
    if isinstance(pointer, Expression):
        return constant_offset(out.layout, pointer) + _place(out, pointer.operands[0])
    assert isinstance(pointer, Global)
    return out.local_offsets[pointer.name]
