"""Values that are computed again behind a barrier, instead of being kept: addresses and the like."""

from __future__ import annotations

from metalloid.analysis.intervals import is_fixed
from metalloid.ir import Function, Instruction
from metalloid.ir.intrinsics import BUFFER, pure
from metalloid.ir.values import Int, Local, Value

_PURE = frozenset(
    "add sub mul shl lshr ashr and or xor trunc zext sext getelementptr icmp select freeze alloca".split()
)
MAX_CHAIN = 12


class Rematerializer:
    def __init__(self, function: Function) -> None:
        self.function = function
        self._kept: dict[str, bool] = {}

    def chain(self, name: str) -> list[str] | None:
        """The names to compute again, in order, where that is cheap; what they start from is kept."""
        if self._kept_whole(name):
            return None
        found: dict[str, None] = {}

        def visit(one: str) -> None:
            if not self._kept_whole(one):
                for use in self.function.definitions[one].uses:
                    visit(use)
                found[one] = None

        visit(name)
        return list(found)

    def leaves(self, name: str) -> set[str]:
        """What has to be kept so that `name` is known behind a barrier."""
        chain = self.chain(name)
        if chain is None:
            return {name}
        found: set[str] = set()
        for one in chain:
            found |= {u for u in self.function.definitions[one].uses if u not in chain}
        return found

    def _kept_whole(self, name: str) -> bool:
        """Whether a value is kept: it cannot be computed again, or not cheaply. What is one step from another
        value is computed from that one, so that addresses with a common base still have it."""
        if name not in self._kept:
            i = self.function.definitions[name]
            step = len(i.uses) == 1
            self._kept[name] = not self._pure(i) or (not step and self._length(name) > MAX_CHAIN)
        return self._kept[name]

    def _pure(self, i: Instruction) -> bool:
        if i.opcode == "call":
            return pure(i)
        return i.opcode in _PURE or (i.opcode == "load" and is_fixed(i) and self._is_parameter(i.operands[0]))

    def _is_parameter(self, pointer: Value) -> bool:
        """Whether it is a place in a buffer that does not depend on anything: what a launch has its own copy of is
        there wherever it is asked for. Kept, each gang would have its own, and compute all that follows from it."""
        while isinstance(pointer, Local):
            i = self.function.definitions[pointer.name]
            if i.opcode != "getelementptr" or not all(isinstance(x, Int) for x in i.operands[1:]):
                return i.called == BUFFER
            pointer = i.operands[0]
        return False

    def _length(self, name: str) -> int:
        """How many instructions it takes to compute a value from what cannot be computed."""
        found: set[str] = set()
        work = [name]
        while work and len(found) <= MAX_CHAIN:
            one = work.pop()
            i = self.function.definitions[one]
            if one not in found and self._pure(i):
                found.add(one)
                work += i.uses
        return len(found)
