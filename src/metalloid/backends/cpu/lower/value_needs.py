"""Which values need a stack slot, and which every lane of their vector."""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.analysis.uniformity import Uniformity
from metalloid.ir import Function, Instruction
from metalloid.ir.intrinsics import is_marker
from metalloid.ir.values import Int, Local, Value


def crossing(function: Function, known: Uniformity) -> set[str]:
    """Names that are read in another block than the one that makes them."""
    home, found = function.home, set()
    for block in function.blocks:
        for i in block.instructions:
            if i.opcode == "phi":
                found.add(i.name)
                found |= {v.name for v, b in i.cases if isinstance(v, Local) and home[v.name] != b}
            else:
                found |= {n for n in i.uses if home[n] != block.name}
                if i.opcode in ("load", "store"):
                    found |= {n for n in _bases(function, i.operands[-1]) if home[n] != block.name}
    for shape in known.shapes.values():
        if shape is not None:
            found |= {c for c, _ in shape.terms if c}
    return found


def _bases(function: Function, pointer: Value) -> Iterator[str]:
    """What a pointer lies at a constant distance from: groups of accesses start from there."""
    while isinstance(pointer, Local):
        i = function.definitions[pointer.name]
        if i.opcode != "getelementptr" or not all(isinstance(x, Int) for x in i.operands[1:]):
            return
        pointer = i.operands[0]
        if isinstance(pointer, Local):
            yield pointer.name


def needing_lanes(function: Function, known: Uniformity, continue_after_fault: bool) -> set[str]:
    """Names whose lanes must be right to the last bit, though their base and pattern may have wrapped. A careful run
    wants the index itself."""
    inexact = {n for n, s in known.shapes.items() if s is not None and s.terms and not s.exact}
    uses = [
        (operand.name, i, position)
        for i in (function.instructions() if inexact else ())
        for position, operand in enumerate(i.operands)
        if operand.__class__ is Local and operand.name in inexact
    ]
    needs: set[str] = set()
    changed = True
    while changed:
        more = {
            name
            for name, i, position in uses
            if name not in needs and (continue_after_fault or not _as_base(known, i, position, needs))
        }
        needs |= more
        changed = bool(more)
    return needs


def _as_base(known: Uniformity, i: Instruction, position: int, needs: set[str]) -> bool:
    """Whether this use is content with base and pattern."""
    if i.opcode == "load" or (position == 1 and (i.opcode == "store" or is_marker(i.called))):
        return True
    if i.opcode == "atomicrmw" and position == 0:
        return False
    shape = known.shapes.get(i.name)
    return i.name not in needs and shape is not None and bool(shape.terms)
