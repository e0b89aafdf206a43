"""Which memory a pointer points into.

A pointer with one root is an offset from it, a number like any other; and its bounds are known.
The others are addresses, and every access through them has to look for its buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from metalloid import deadline
from metalloid.ir import Function
from metalloid.ir.intrinsics import BUFFER, PRIVATE, THREADGROUP, is_reload
from metalloid.ir.types import PointerType
from metalloid.ir.values import Expression, Global, Int, Local, Value
from metalloid.records import dataclass

Kind = Literal["buffer", "threadgroup", "variable", "constant", "private", "unknown"]


@dataclass(frozen=True)
class UnderlyingObject:
    """Where a pointer starts: an argument's or private variable's index, or a global's name."""

    kind: Kind
    index: int = 0
    name: str = ""
    space: int = 1


def unknown(space: int) -> UnderlyingObject:
    return UnderlyingObject("unknown", space=space)


class UnderlyingObjects:
    """The roots of all pointers of a function."""

    def __init__(self, function: Function, slots: Mapping[int, UnderlyingObject] | None = None) -> None:
        self.of: dict[str, UnderlyingObject] = {}
        self.slots = slots or {}  # of pointers that were kept across a barrier
        pointers = [
            (i, i.type.space) for i in function.instructions() if isinstance(i.type, PointerType) and i.name
        ]
        changed = True
        while changed:
            deadline.look()
            changed = False
            for i, space in pointers:
                found, old = self._found(i.opcode, i.called, space, i.operands), self.of.get(i.name)
                if found is not None and found != old:
                    self.of[i.name] = found if old is None else unknown(space)
                    changed = changed or self.of[i.name] != old

    def _found(
        self, opcode: str, called: str, space: int, operands: tuple[Value, ...]
    ) -> UnderlyingObject | None:
        if called == BUFFER and isinstance(operands[0], Int):
            return UnderlyingObject("buffer", operands[0].value)
        if called == THREADGROUP and isinstance(operands[0], Int):
            return UnderlyingObject("threadgroup", operands[0].value, space=3)
        if called == PRIVATE and isinstance(operands[0], Int):
            return UnderlyingObject("private", operands[0].value, space=5)
        if opcode == "getelementptr":
            return self.root(operands[0])
        if is_reload(called) and isinstance(operands[0], Int):
            return self.slots.get(operands[0].value, unknown(space))
        if opcode in ("phi", "select", "freeze"):
            values = operands[1:] if opcode == "select" else operands
            known = [r for r in (self.root(v) for v in values) if r is not None]
            if not known:
                return None
            return known[0] if all(r == known[0] for r in known) else unknown(space)
        return unknown(space)

    def root(self, value: Value) -> UnderlyingObject | None:
        """The root of a pointer; None while it is not known yet."""
        assert isinstance(value.type, PointerType)
        match value:
            case Local(name):
                return self.of.get(name)
            case Global(name, PointerType(space)):
                return UnderlyingObject("variable" if space == 3 else "constant", name=name, space=space)
            case Expression("getelementptr", _, operands):
                return self.root(operands[0])
            case _:
                return unknown(value.type.space)
