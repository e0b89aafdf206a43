"""What an address is a multiple of, by the sizes that it was stepped over with."""

from __future__ import annotations

from metalloid.ir import Function, Instruction
from metalloid.ir.gep import distances
from metalloid.ir.intrinsics import MEMORIES
from metalloid.ir.layout import DataLayout
from metalloid.ir.values import Expression, Local, Value


def alignment(function: Function, layout: DataLayout, pointer: Value, depth: int = 0) -> int:
    """A number that divides a pointer's distance from its root, by the sizes it was stepped over with."""
    if depth > 16:
        return 1
    if isinstance(pointer, Expression) and pointer.opcode == "getelementptr" and pointer.element is not None:
        inner = alignment(function, layout, pointer.operands[0], depth + 1)
        return min([*_powers(layout, pointer), inner])
    if not isinstance(pointer, Local):
        return 16
    i = function.definitions[pointer.name]
    if i.opcode == "getelementptr" and i.element is not None:
        return min([*_powers(layout, i), alignment(function, layout, i.operands[0], depth + 1)])
    if i.opcode in ("phi", "select"):
        values = i.operands[1:] if i.opcode == "select" else i.operands
        return min(alignment(function, layout, v, depth + 4) for v in values)
    return 16 if i.called in MEMORIES else 1


def _powers(layout: DataLayout, i: Instruction | Expression) -> list[int]:
    """Powers of two that divide each step of an address."""
    return [min(16, s & -s) for s in distances(layout, i) if s]
