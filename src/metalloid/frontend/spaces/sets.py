"""Which address spaces each generic pointer of a function may be of.

All of them start as pointers of a known space, in this function: what is read back from memory, or made from a number,
is of one of the spaces whose pointers were written there, or of device memory.
"""

from __future__ import annotations

from metalloid.frontend.spaces.generic import DEVICE, GENERIC, WIDE, mentions
from metalloid.ir.module import Function, Instruction, Module
from metalloid.ir.types import PointerType
from metalloid.ir.values import Aggregate, Constant, Expression, Local, Named, Value

_KEPT = {
    "store": (0,),
    "ptrtoint": (0,),
    "ptrtoaddr": (0,),
    "insertvalue": (1,),
    "atomicrmw": (1,),
    "cmpxchg": (1, 2),
}
_SAME = {"getelementptr": slice(0, 1), "phi": slice(None), "select": slice(1, None), "freeze": slice(None)}
Set = frozenset[int]
_NONE: Set = frozenset()


class Spaces:
    """The spaces of generic pointers, by name."""

    def __init__(self, module: Module, function: Function) -> None:
        self.of: dict[str, Set] = {i.name: _NONE for i in function.instructions() if i.type == GENERIC}
        self.memory: Set = frozenset((DEVICE,)).union(
            *(self._constant(g.initializer) for g in module.globals if g.initializer is not None)
        )
        concerned = [i for i in function.instructions() if i.type == GENERIC or i.opcode in _KEPT]
        before = None
        while before != (before := (self.memory, dict(self.of))):
            for i in concerned:
                self._look(i)
        self.of = {name: found or frozenset((DEVICE,)) for name, found in self.of.items()}

    def _look(self, i: Instruction) -> None:
        for index in _KEPT.get(i.opcode, ()):
            if i.operands[index].type == GENERIC:
                self.memory |= (
                    self.spaces(i.operands[index]) - WIDE
                )  # those are addresses, of device memory or like it
        if i.type != GENERIC:
            return
        if i.opcode == "addrspacecast":
            self.of[i.name] = _space(i.operands[0])
        elif i.opcode in _SAME:
            self.of[i.name] = _NONE.union(*(self.spaces(o) for o in i.operands[_SAME[i.opcode]]))
        else:
            self.of[i.name] = self.memory

    def spaces(self, value: Value) -> Set:
        match value:
            case Local(name):
                return self.of.get(name, _NONE)
            case Named(_, "undef" | "poison"):
                return _NONE
            case Expression("addrspacecast", _, (operand,)):
                return _space(operand)
            case Expression("getelementptr", _, operands):
                return self.spaces(operands[0])
            case _:
                return frozenset((DEVICE,))

    def _constant(self, value: Constant) -> Set:
        """The spaces of the pointers in a table."""
        if isinstance(value, Aggregate):
            return _NONE.union(*(self._constant(e) for e in value.elements))
        return self.spaces(value) if isinstance(value, Expression) and mentions(value) else _NONE


def _space(value: Value) -> Set:
    assert isinstance(value.type, PointerType)
    return frozenset((value.type.space,))
