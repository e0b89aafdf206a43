"""Addresses that are the same for all threads of a launch, or of a threadgroup, by how they are made.

Two that are made alike are the same one, in whatever part of a kernel they are computed: a key says how.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.ir import Function, Instruction
from metalloid.ir.intrinsics import BUFFER, FIXED_POSITIONS, is_ours, short
from metalloid.ir.types import PointerType
from metalloid.ir.values import Int, Local, Value
from metalloid.records import dataclass

Key = tuple[object, ...]
Per = Literal["launch", "threadgroup"]

MOST = 32  # instructions of an address
_OF_LAUNCH = frozenset(("threads_per_grid", "grid_size", "grid_origin", "threadgroups_per_grid"))
_PURE = frozenset("getelementptr add sub mul shl or and xor lshr zext sext trunc".split())


@dataclass(frozen=True)
class Fixed:
    key: Key  # how it is made
    per: Per  # who has the same


def written_buffers(function: Function, roots: UnderlyingObjects) -> frozenset[int] | None:
    """The buffers that a kernel changes; None where they are not known."""
    found: set[int] = set()
    for i in function.instructions():
        if i.opcode == "load" or i.opcode == "getelementptr":
            continue
        for value in (o for o in i.operands if isinstance(o.type, PointerType)):
            root = roots.root(value)
            if root is None or root.kind == "unknown":
                return None
            if root.kind == "buffer":
                found.add(root.index)
    return frozenset(found)


def fixed_address(
    function: Function, pointer: Value, roots: UnderlyingObjects, written: Collection[int] | None
) -> Fixed | None:
    """How an address is made, and who shares it; None where threads of a threadgroup may have others. `written`: the
    buffers whose numbers may change; None: any."""
    return _Look(function, roots, written).of(pointer)


def stays(i: Instruction, roots: UnderlyingObjects, written: Collection[int] | None) -> bool:
    """Whether it reads a number that the kernel does not change."""
    if i.opcode != "load" or i.ordering or "volatile" in i.flags or written is None:
        return False
    root = roots.root(i.operands[0])
    return root is not None and root.kind == "buffer" and root.index not in written


class _Look:
    def __init__(self, function: Function, roots: UnderlyingObjects, written: Collection[int] | None) -> None:
        self.function, self.roots, self.written = function, roots, written
        self.left = MOST

    def of(self, value: Value) -> Fixed | None:
        if isinstance(value, Int):
            return Fixed(("number", str(value.type), value.value), "launch")
        if not isinstance(value, Local) or not self.left:
            return None
        self.left -= 1
        i = self.function.definitions.get(value.name)
        if i is None:
            return None
        if i.opcode == "call" and is_ours(i.called):
            return _told(i)
        known = i.opcode in _PURE or stays(i, self.roots, self.written)
        return self._made(i) if known else None

    def _made(self, i: Instruction) -> Fixed | None:
        parts: list[Fixed] = []
        for operand in i.operands:
            if (part := self.of(operand)) is None:
                return None
            parts.append(part)
        per: Per = "launch" if all(p.per == "launch" for p in parts) else "threadgroup"
        return Fixed((i.opcode, str(i.type), str(i.element), *(p.key for p in parts)), per)


def _told(i: Instruction) -> Fixed | None:
    """What a call of ours gives everybody."""
    name = short(i.called)
    known = i.called == BUFFER or name in FIXED_POSITIONS
    if not known or not all(isinstance(o, Int) for o in i.operands):
        return None
    numbers = tuple(o.value for o in i.operands if isinstance(o, Int))
    of_launch = i.called == BUFFER or name in _OF_LAUNCH
    return Fixed((name, *numbers), "launch" if of_launch else "threadgroup")
