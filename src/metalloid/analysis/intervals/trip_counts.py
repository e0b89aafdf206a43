"""How often loops go round, and what a value that grows by the same amount each time can be.

A loop's exits are tests of numbers that step; the one that is passed soonest bounds the rounds, and with them every
number that steps: `k` of an unrolled loop has no test of its own, only the counter beside it has.
"""

from __future__ import annotations

import math

from metalloid.analysis.intervals import strided as S
from metalloid.analysis.intervals.branch_facts import Fact
from metalloid.analysis.intervals.strided import Span
from metalloid.analysis.intervals.values import Values
from metalloid.ir import Instruction
from metalloid.ir.loops import Loop
from metalloid.ir.types import IntType, PointerType
from metalloid.ir.values import Int, Local, Value
from metalloid.records import dataclass

MAX_CHAIN = 64


@dataclass(frozen=True)
class Stepper:
    """A value that is `start` in the first round and grows by `step` from round to round."""

    start: Span
    step: int
    bits: int


class Loops:
    def __init__(self, e: Values) -> None:
        self.e = e
        self._rounds: dict[str, int | None] = {}
        self._asked: set[str] = set()

    def progression(self, phi: Instruction) -> Span | None:
        """All values of a header's phi that grows by a constant; None for another, or if nothing bounds it."""
        loop = self.e.flow.forest.loops.get(self.e.function.home[phi.name])
        if loop is None:
            return None
        stepper = self._phi(phi, loop)
        if stepper is None:
            return None
        rounds = self.rounds(loop)
        if rounds is None:
            return None
        start, far = stepper.start, stepper.step * rounds
        lo, hi = start.lo + min(far, 0), start.hi + max(far, 0)
        return S.fit(S.make(lo, hi, math.gcd(start.step, stepper.step)), stepper.bits)

    def rounds(self, loop: Loop) -> int | None:
        """The most often that a loop goes back to its start, each time it is entered."""
        if loop.header in self._rounds:
            return self._rounds[loop.header]
        if loop.header in self._asked:
            return None
        self._asked.add(loop.header)
        try:
            found, certain = self.e.certainly(lambda: self._find_rounds(loop))
        finally:
            self._asked.remove(loop.header)
        if certain:
            self._rounds[loop.header] = found
        return found

    def _find_rounds(self, loop: Loop) -> int | None:
        bounds = []
        for inside, outside in loop.exits:
            if all(self.e.flow.dominators.dominates(inside, latch) for latch in loop.latches):
                bounds += self._bounds(loop, inside, outside)
        return min(bounds, default=None)

    def _bounds(self, loop: Loop, inside: str, outside: str) -> list[int]:
        end = self.e.flow.function.block[inside].terminator
        stay = [t for t in end.labels if t != outside]
        if len(end.labels) != 2 or len(stay) != 1:
            return []
        found = []
        for fact in self.e.contexts.branch_facts(inside, stay[0]):
            bound = self._bound(loop, inside, fact)
            if bound is not None:
                found.append(bound)
        return found

    def _bound(self, loop: Loop, block: str, fact: Fact) -> int | None:
        """How many rounds a fact can hold in a row, from the first."""
        stepper = self._stepper(fact.value, loop)
        if stepper is None or not stepper.step:
            return None
        if fact.predicate == "ne" and not self._outside(fact.other, loop):
            return None
        other = self.e.at(fact.other, block)
        if other is None:
            return 0
        return count(stepper, fact.predicate, other)

    def _outside(self, value: Value, loop: Loop) -> bool:
        return not isinstance(value, Local) or self.e.function.home[value.name] not in loop.blocks

    def _stepper(self, value: Value, loop: Loop) -> Stepper | None:
        """A value of a loop as a phi of its header plus what does not change."""
        moved = S.number(0)
        for _ in range(MAX_CHAIN):
            if not isinstance(value, Local) or not isinstance(value.type, IntType):
                return None
            i = self.e.function.definitions[value.name]
            if i.opcode == "phi":
                if self.e.function.home[i.name] != loop.header:
                    return None
                found = self._phi(i, loop)
                if found is None:
                    return None
                start = S.add(found.start, moved, found.bits)
                return Stepper(start, found.step, found.bits)
            moving = self._moved(i, loop)
            if moving is None:
                return None
            value, by = moving
            moved = S.add(moved, by, i.type.bits if isinstance(i.type, IntType) else 64)
        return None

    def _phi(self, phi: Instruction, loop: Loop) -> Stepper | None:
        if not isinstance(phi.type, IntType | PointerType):
            return None
        bits = phi.type.bits if isinstance(phi.type, IntType) else 64
        entering = [(v, b) for v, b in phi.cases if b not in loop.blocks]
        again = {v for v, b in phi.cases if b in loop.blocks}
        if len(again) != 1:
            return None
        step = S.number(0)
        value = again.pop()
        for _ in range(MAX_CHAIN):
            if value == phi.value:
                break
            if not isinstance(value, Local):
                return None
            moving = self._moved(self.e.function.definitions[value.name], loop)
            if moving is None:
                return None
            value, by = moving
            step = S.add(step, by, bits)
        else:
            return None
        if not step.one:
            return None
        start: Span | None = None
        for v, b in entering:
            start = S.join(start, self.e.value(v, self.e.contexts.edge(b, loop.header)), bits)
        if start is None:
            return None
        return Stepper(start, S.signed(step, bits).lo, bits)

    def _moved(self, i: Instruction, loop: Loop) -> tuple[Value, Span] | None:
        """An instruction as another value of the loop plus something from outside it."""
        if self.e.function.home.get(i.name) not in loop.blocks:
            return None
        if i.opcode in ("add", "sub"):
            left, right = i.operands
            if i.opcode == "add" and self._outside(left, loop) and not self._outside(right, loop):
                left, right = right, left
            if not self._outside(right, loop) or self._outside(left, loop):
                return None
            by = self._from_outside(right, loop)
            if by is None:
                return None
            return left, (by if i.opcode == "add" else S.negative(by))
        if i.opcode == "getelementptr" and not self._outside(i.operands[0], loop):
            assert i.element is not None
            if len(i.operands) != 2 or not self._outside(i.operands[1], loop):
                return None
            by = self._from_outside(i.operands[1], loop)
            if by is None:
                return None
            index = i.operands[1]
            wide = S.signed(by, index.type.bits) if isinstance(index.type, IntType) else by
            return i.operands[0], S.scaled(wide, self.e.layout.size(i.element), 64)
        return None

    def _from_outside(self, value: Value, loop: Loop) -> Span | None:
        if isinstance(value, Int):
            return S.number(value.signed)
        return self.e.at(value, loop.header)


def count(x: Stepper, predicate: str, other: Span) -> int | None:
    """For how many rounds from the first `x predicate other` can hold; None where it may be for ever."""
    size, step = 1 << x.bits, x.step
    if predicate == "ne":
        # From x to other in steps, modulo 2^n: exactly, or it is missed.
        way = S.sub(other, x.start, x.bits) if step > 0 else S.sub(x.start, other, x.bits)
        way = S.unsigned(way, x.bits)
        if way.lo % abs(step) or way.step % abs(step):
            return None
        return way.hi // abs(step)
    if predicate == "eq":
        return 1 if other.one else None
    low, high = (0, size - 1) if predicate[0] == "u" else (-size // 2, size // 2 - 1)
    read = S.unsigned if predicate[0] == "u" else S.signed
    start, other = read(x.start, x.bits), read(other, x.bits)
    match predicate[1:]:
        case "lt" | "le":
            most = other.hi - (predicate[1:] == "lt")
            if step < 0 or most + step > high:  # the step behind the last must not go round
                return None
            return max(0, (most - start.lo) // step + 1)
        case _:
            least = other.lo + (predicate[1:] == "gt")
            if step > 0 or least + step < low:
                return None
            return max(0, (start.hi - least) // -step + 1)
