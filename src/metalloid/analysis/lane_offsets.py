"""How far from the start of its memory each lane's pointer is, where all that it is made of is known for each lane."""

from __future__ import annotations

from metalloid.analysis.lane_numbers import as_signed, lane_numbers
from metalloid.analysis.uniformity import Uniformity
from metalloid.ir import Instruction
from metalloid.ir.gep import steps
from metalloid.ir.types import IntType
from metalloid.ir.values import Expression, Global, Local, Value


def lane_offsets(u: Uniformity, pointer: Value) -> list[int] | None:
    """In bytes; None where it is not known. Of lanes that do not run, a number that means nothing."""
    width = u.lanes.width
    if isinstance(pointer, Global):
        return [0] * width
    i = u.flow.function.definitions[pointer.name] if isinstance(pointer, Local) else pointer
    if not isinstance(i, Instruction | Expression) or i.opcode != "getelementptr" or i.element is None:
        return None
    total = lane_offsets(u, i.operands[0])
    for index, stride in steps(u.layout, i.element, i.operands[1:]):
        numbers = (1,) * width if index is None else lane_numbers(u, index)
        if total is None or numbers is None:
            return None
        bits = index.type.bits if index is not None and isinstance(index.type, IntType) else 64
        total = [at + stride * as_signed(n, bits) for at, n in zip(total, numbers, strict=True)]
    return total
