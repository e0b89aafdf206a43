"""Notes of open calls, which guards look at.

A recursive call notes itself in a list of open calls (`frontend/call_stack.py`), and one that is too deep does so
behind its end: that is how a guard finds it. Nobody reads them, so where no guard looks there are none.
"""

from __future__ import annotations

from metalloid.ir import Function, Instruction, Module
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.values import Local
from metalloid.records import replace

OPEN = "calls.open"


def without_notes(module: Module) -> Module:
    function = module.function[ENTRY]
    if not any(i.name == OPEN for i in function.instructions()):
        return module
    blocks = (
        replace(b, instructions=tuple(i for i in b.instructions if not _notes(function, i)))
        for b in function.blocks
    )
    return module.with_function(function.with_blocks(tuple(blocks)))


def _notes(function: Function, i: Instruction) -> bool:
    pointer = i.operands[1] if i.opcode == "store" else None
    while isinstance(pointer, Local) and pointer.name != OPEN:
        made = function.definitions.get(pointer.name)
        pointer = made.operands[0] if made is not None and made.opcode == "getelementptr" else None
    return pointer is not None
