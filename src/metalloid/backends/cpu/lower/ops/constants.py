"""What a constant table holds.

Threadgroup variables have their places before code is made, so a table may hold their addresses as numbers.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.output import Output
from metalloid.ir.gep import distances
from metalloid.ir.types import IntType, PointerType
from metalloid.ir.values import Aggregate, Constant, Expression, Global, Int
from metalloid.records import replace


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
        return sum(distances(out.layout, pointer)) + _place(out, pointer.operands[0])
    assert isinstance(pointer, Global)
    return out.local_offsets[pointer.name]
