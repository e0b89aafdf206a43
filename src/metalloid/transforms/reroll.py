"""Loops that clang has unrolled, as they were: a[i] = ...; a[i + 1] = ...; ... becomes one of these, more often.

A thread that runs alone is to have vectors of neighbours, and LLVM makes them of loops. Of eight rounds written one
behind the other, each with its load and its store, it makes eight loads and eight stores.
"""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.intrinsics import Effect, effect
from metalloid.ir.loops import loops
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value, const
from metalloid.records import dataclass, replace


@dataclass(frozen=True)
class _Counted:
    """A loop of one block that carries nothing but a counter: `next` is the counter after all of its rounds."""

    block: Block
    counter: Instruction
    next: Instruction
    step: int
    test: Instruction


def rerolled(function: Function) -> Function:
    """The function with such loops rolled up."""
    made: dict[str, Block] = {}
    for loop in loops(function).loops.values():
        if loop.blocks == {loop.header} and (found := _counted(function, function.block[loop.header])):
            block = _rolled_up(function, found)
            if block is not None:
                made[block.name] = block
    return function.with_blocks(tuple(made.get(b.name, b) for b in function.blocks)) if made else function


def _counted(function: Function, block: Block) -> _Counted | None:
    """A loop that goes on until its counter is at its limit, of which nobody asks for anything else."""
    end, inside = block.terminator, {i.name for i in block.instructions} - {""}
    if len(block.phis) != 1 or len(end.operands) != 1 or not isinstance(end.operands[0], Local):
        return None
    if any(
        i.uses and inside & {*i.uses}
        for other in function.blocks
        if other is not block
        for i in other.instructions
    ):
        return None
    (counter,), test = block.phis, function.definitions[end.operands[0].name]
    if (
        test.name not in inside
        or test.opcode != "icmp"
        or test.predicate != ("eq" if end.labels[1] == block.name else "ne")
    ):
        return None
    next = next_of(function, block, counter)
    if next is None or test.operands[0] != next.value or inside & {*_names(test.operands[1:])}:
        return None
    if set(function.users[next.name]) != {test, counter} or set(function.users[test.name]) != {end}:
        return None
    step = next.operands[1]
    assert isinstance(step, Int)
    if step.signed & (step.signed - 1) and not {"nuw", "nsw"} & {*next.flags}:
        return None  # it may go past its limit, go round, and meet it another time
    return _Counted(block, counter, next, step.signed, test)


def next_of(function: Function, block: Block, counter: Instruction) -> Instruction | None:
    """A counter plus a number: what it is in the next round."""
    value = next((v for v, source in counter.cases if source == block.name), None)
    made = function.definitions.get(value.name) if isinstance(value, Local) else None
    if made is None or made.opcode != "add" or made.operands[0] != counter.value:
        return None
    return made if isinstance(made.operands[1], Int) and made.operands[1].signed > 1 else None


def _names(values: tuple[Value, ...]) -> Iterator[str]:
    return (v.name for v in values if isinstance(v, Local))


def _rolled_up(function: Function, found: _Counted) -> Block | None:
    """One round, where the loop is of several that are alike."""
    memory = [i for i in found.block.body if i.opcode in ("load", "store") or effect(i) != Effect.NONE]
    if any(i.opcode not in ("load", "store") or i.ordering or "volatile" in i.flags for i in memory):
        return None
    if not any(i.opcode == "store" for i in memory):
        return None
    for count in range(len(memory), 1, -1):
        if len(memory) % count == 0 and found.step % count == 0:
            rounds = _Rounds(function, found, found.step // count)
            each = len(memory) // count
            if all(rounds.alike(memory[n % each], i, n // each) for n, i in enumerate(memory)):
                return rounds.first()
    return None


class _Rounds:
    """What stands in the first round, and what is known of those like it in the others."""

    def __init__(self, function: Function, found: _Counted, step: int) -> None:
        self.function, self.found, self.step = function, found, step
        self.inside = {i.name: i for i in found.block.body if i.name}
        self.others: dict[str, dict[int, Instruction]] = {}  # by the name in the first round, and the round
        self.stores: list[list[Instruction]] = []

    def alike(self, first: Instruction, other: Instruction, n: int) -> bool:
        """Whether an instruction is the one of the first round, with the counter of the n-th."""
        if first.name:
            known = self.others.setdefault(first.name, {})
            if n in known:
                return known[n] is other
            known[n] = other
        elif n == 0:
            self.stores.append([first])
        else:
            next(s for s in self.stores if s[0] is first).append(other)
        return (
            (first.opcode, first.type, first.predicate, first.element, first.callee, first.indices)
            == (other.opcode, other.type, other.predicate, other.element, other.callee, other.indices)
            and first.opcode != "phi"
            and len(first.operands) == len(other.operands)
            and all(self._same(a, b, n) for a, b in zip(first.operands, other.operands, strict=True))
        )

    def _same(self, first: Value, other: Value, n: int) -> bool:
        counter = self.found.counter.value
        if first == counter:
            return self._is_counter(other, n)
        if not isinstance(first, Local) or first.name not in self.inside:
            return first == other
        if not isinstance(other, Local) or other.name not in self.inside:
            return False
        times, made = self._times(first), self.inside[other.name]
        if n and times and self._is_above(made, first, n * times * self.step):
            self.others.setdefault(first.name, {})[n] = made
            return True
        return self.alike(self.inside[first.name], made, n)

    def _is_counter(self, value: Value, n: int) -> bool:
        """Whether it is the counter of the n-th round."""
        counter = self.found.counter.value
        if n == 0:
            return value == counter
        made = self.inside.get(value.name) if isinstance(value, Local) else None
        return made is not None and self._is_above(made, counter, n * self.step)

    def _times(self, value: Local) -> int:
        """How many times the counter it is, where clang adds to that in the place of the counter: j << 6; else 0."""
        made = self.inside[value.name]
        if made.opcode not in ("shl", "mul") or made.operands[0] != self.found.counter.value:
            return 0
        by = made.operands[1]
        return (1 << by.value if made.opcode == "shl" else by.signed) if isinstance(by, Int) else 0

    @staticmethod
    def _is_above(made: Instruction, value: Value, by: int) -> bool:
        if made.operands[:1] != (value,) or not isinstance(value.type, IntType):
            return False
        adds = made.opcode == "add" or (made.opcode == "or" and "disjoint" in made.flags)
        return adds and made.operands[1] == Int(value.type, by)

    def first(self) -> Block:
        """The block with the first round alone, which promises what all of them do."""
        counter, next, test = self.found.counter, self.found.next, self.found.test
        block, kind = self.found.block, counter.type
        assert isinstance(kind, IntType)
        stores = {id(s[0]): s for s in self.stores}
        code: list[Instruction] = [counter]
        for i in block.body:
            like = [*self.others[i.name].values()] if i.name in self.others else stores.get(id(i))
            if like is not None and like[0] is i:
                code.append(_weakest(i, like))
        code += [replace(next, operands=(counter.value, const(kind, self.step))), test, block.terminator]
        return replace(block, instructions=tuple(code))


def _weakest(first: Instruction, like: list[Instruction]) -> Instruction:
    said = tuple(m for m in first.metadata if m[0] == "dbg" or all(m in i.metadata for i in like))
    flags = tuple(f for f in first.flags if all(f in i.flags for i in like))
    return replace(first, align=min(i.align for i in like), flags=flags, metadata=said)
