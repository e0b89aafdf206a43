"""How far a value moves from one iteration of its innermost loop to the next.

A stride is a sum of products: `{(): 4}` is four, `{("n",): 4}` four times the value n, `{}` nothing: the value stays.
Products are of values made before the loop. What is said holds but for wrapping round: good for hints, not for
addresses. With `exact` it holds for those as well, inside a memory: nobody has one in which 32 bits go round, and
narrower numbers are followed only as counters that do not.
"""

from __future__ import annotations

from metalloid.ir import Function, Instruction
from metalloid.ir.gep import steps
from metalloid.ir.layout import DataLayout
from metalloid.ir.loops import Loop
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value, const
from metalloid.records import dataclass, field

Stride = dict[tuple[str, ...], int]
WIDE = 32  # bits of a number that does not go round inside any memory
DEEP = 64  # values in values; what is deeper is not looked at
ALIKE = {"zext", "sext", "trunc", "freeze"}


@dataclass(frozen=True)
class Strides:
    """Of the values in one loop."""

    function: Function
    loop: Loop
    layout: DataLayout
    exact: bool = False
    _known: dict[str, Stride | None] = field(default_factory=dict)

    def of(self, value: Value, deep: int = 0) -> Stride | None:
        """None where the value moves in another way, or nobody knows."""
        if not isinstance(value, Local) or self._before(value):
            return {}
        if value.name not in self._known:
            made = self._made(self.function.definitions[value.name], deep) if deep < DEEP else None
            self._known[value.name] = made
        return self._known[value.name]

    def _made(self, i: Instruction, deep: int) -> Stride | None:
        if i.opcode == "phi":
            return self._round(i)
        if i.opcode in ALIKE:
            found = self.of(i.operands[0], deep + 1)
            return found if not found or not self.exact or self._is_whole(i) else None
        if i.opcode == "getelementptr":
            return self._address(i, deep)
        if i.opcode == "or" and "disjoint" not in i.flags:
            return None
        if i.opcode == "xor" and i.operands[1] == const(i.type, -1):  # what is left of a row: -1 - x
            found = self.of(i.operands[0], deep + 1)
            return times(found, -1) if found is not None else None
        if i.opcode not in ("add", "or", "sub", "mul", "shl"):
            return None
        a, b = i.operands
        first, second = self.of(a, deep + 1), self.of(b, deep + 1)
        if first is None or second is None:
            return None
        if i.opcode in ("add", "or", "sub"):
            return plus(first, second, -1 if i.opcode == "sub" else 1)
        if i.opcode == "shl":
            return times(first, 1 << b.value) if isinstance(b, Int) and b.value < 64 else None
        return self._product(a, first, b, second)

    def _is_whole(self, i: Instruction) -> bool:
        """Whether what is made wider or narrower moves on as before."""
        value, kinds = i.operands[0], (i.type, i.operands[0].type)
        if i.opcode == "freeze" or all(isinstance(kind, IntType) and kind.bits >= WIDE for kind in kinds):
            return True
        flag = {"zext": "nuw", "sext": "nsw"}.get(i.opcode)
        made = self.function.definitions[value.name] if isinstance(value, Local) else None
        if made is None or made.opcode != "phi":
            return False
        return any(
            flag in self.function.definitions[v.name].flags
            for v, source in made.cases
            if source in self.loop.blocks and isinstance(v, Local)
        )

    def _before(self, value: Local) -> bool:
        """Whether a value is made before the loop."""
        return self.function.home.get(value.name) not in self.loop.blocks

    def _round(self, phi: Instruction) -> Stride | None:
        """A counter: what is added to it on the way back."""
        if self.function.home[phi.name] != self.loop.header:
            return None
        ways = [v for v, source in phi.cases if source in self.loop.blocks]
        if len(ways) != 1 or not isinstance(ways[0], Local) or self._before(ways[0]):
            return None
        i = self.function.definitions[ways[0].name]
        if i.opcode == "getelementptr" and i.operands[0] == phi.value:
            return self._indices(i)
        if i.opcode not in ("add", "sub"):
            return None
        a, b = i.operands
        if a == phi.value:
            return self._amount(b, 1 if i.opcode == "add" else -1)
        return self._amount(a, 1) if b == phi.value and i.opcode == "add" else None

    def _amount(self, value: Value, factor: int) -> Stride | None:
        """A value that stays, as a product."""
        if isinstance(value, Int):
            return {(): factor * value.signed} if value.value else {}
        return {(value.name,): factor} if isinstance(value, Local) and self._before(value) else None

    def _product(self, a: Value, first: Stride, b: Value, second: Stride) -> Stride | None:
        if first and second:
            return None
        moving, other = (first, b) if first else (second, a)
        if isinstance(other, Int):
            return times(moving, other.signed)
        if isinstance(other, Local):
            return {tuple(sorted((*names, other.name))): n for names, n in moving.items()}
        return None

    def _address(self, i: Instruction, deep: int) -> Stride | None:
        if i.element is None:
            return None
        total = self.of(i.operands[0], deep + 1)
        for index, size in steps(self.layout, i.element, i.operands[1:]):
            moves = self.of(index, deep + 1) if index is not None else {}
            if total is None or moves is None:
                return None
            total = plus(total, times(moves, size), 1)
        return total

    def _indices(self, i: Instruction) -> Stride | None:
        """What a getelementptr adds."""
        if len(i.operands) != 2 or i.element is None or not isinstance(i.operands[1].type, IntType):
            return None
        found = self._amount(i.operands[1], 1)
        return times(found, self.layout.size(i.element)) if found is not None else None


def plus(a: Stride, b: Stride, sign: int) -> Stride:
    total = {names: a.get(names, 0) + sign * b.get(names, 0) for names in (*a, *b)}
    return {names: n for names, n in total.items() if n}


def times(a: Stride, factor: int) -> Stride:
    return {names: n * factor for names, n in a.items() if factor}
