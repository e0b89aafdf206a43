"""Which buffers are written at places that were themselves read from memory, and how much a thread writes of each.

`table[at[i]] = x`: how many threads run says nothing about how long such an output is.
"""

from __future__ import annotations

from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.ir import Function
from metalloid.ir.intrinsics import POSITIONS, full
from metalloid.ir.layout import DataLayout
from metalloid.ir.module import Instruction
from metalloid.ir.values import Local, Value

_POSITIONS = frozenset(full(name) for name, tells in POSITIONS.items() if tells)
_POINTER = {"store": 1, "atomicrmw": 0, "cmpxchg": 0}  # which operand is the place that is written


def scattered_stores(function: Function) -> frozenset[int]:
    """The buffers at whose stores the place depends on what a thread read at a place of its own."""
    fetched = _fetched(function)
    roots = UnderlyingObjects(function)
    found = set()
    for i in function.instructions():
        at = _POINTER.get(i.opcode)
        if at is not None and _named(i, at) in fetched:
            root = roots.root(i.operands[at])
            if root is not None and root.kind == "buffer":
                found.add(root.index)
    return frozenset(found)


def stored_bytes(function: Function) -> dict[int, int]:
    """How many bytes the stores of a thread have for each buffer, without loops; either side of a branch counts."""
    roots, layout = UnderlyingObjects(function), DataLayout()
    found: dict[int, int] = {}
    for i in function.instructions():
        if i.opcode == "store":
            root = roots.root(i.operands[1])
            if root is not None and root.kind == "buffer":
                found[root.index] = found.get(root.index, 0) + layout.store_size(i.operands[0].type)
    return found


def _fetched(function: Function) -> set[str]:
    """The values that depend on something read at a place that depends on a position."""
    positioned: set[str] = set()
    fetched: set[str] = set()
    before = -1
    while before != len(positioned) + len(fetched):
        before = len(positioned) + len(fetched)
        for i in function.instructions():
            if not i.name:
                continue
            uses = set(i.uses)
            if i.called in _POSITIONS or uses & positioned:
                positioned.add(i.name)
            if uses & fetched or (i.opcode == "load" and _named(i, 0) in positioned):
                fetched.add(i.name)
    return fetched


def _named(instruction: Instruction, operand: int) -> str:
    value: Value = instruction.operands[operand]
    return value.name if isinstance(value, Local) else ""
