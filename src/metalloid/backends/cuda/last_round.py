"""Loops over tiles whose last may not be whole: the last round gets code of its own, so that the others need not ask.

Whether a round is the last is what the test at its end says, and that can be asked a round earlier: it is made from
what a round begins with, and from arguments that nobody writes. Proofs then find what holds in all others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from metalloid.analysis.barrier_arrival import lanes_part
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.backends.cuda.made_by import PURE, made_by
from metalloid.ir import Block, Function, Instruction, Module
from metalloid.ir.intrinsics import ENTRY, MATRIX_PRODUCT
from metalloid.ir.loops import Loop, loops
from metalloid.ir.types import VOID
from metalloid.ir.values import Local, Value

ANY = (32, 2, 2)  # a threadgroup whose lanes may differ in all positions


def last_rounds_apart(module: Module, constant: Collection[int]) -> Module:
    """The kernel with such loops changed. `constant` are arguments that never change."""
    function = module.function[ENTRY]
    for loop in tuple(loops(function).loops.values()):
        found = _Peeled(function, loop, constant)
        if found.wanted:
            function = found.function()
    return module.with_function(function)


@dataclass
class _Peeled:
    _function: Function
    _loop: Loop
    _constant: Collection[int]

    def __post_init__(self) -> None:
        self._inside = {
            i.name: i for b in self._loop.blocks for i in self._function.block[b].instructions if i.name
        }
        self._roots = UnderlyingObjects(self._function)
        self._header = self._function.block[self._loop.header]

    @property
    def wanted(self) -> bool:
        """Whether the loop multiplies matrices, asks in between about what changes from round to round, and is left at
        its end alone, by all lanes at once."""
        loop, function = self._loop, self._function
        bodies = [function.block[b] for b in loop.blocks]
        if len(loop.latches) != 1 or [inside for inside, _ in loop.exits] != list(loop.latches):
            return False
        if not any(i.called == MATRIX_PRODUCT for b in bodies for i in b.instructions):
            return False
        if self._inner():
            return False
        asked = [o for b in bodies if b.name != loop.latches[0] for o in b.terminator.operands]
        if not any(self._changes(o, set()) for o in asked):
            return False
        if self._before() is None or self._chain(self._end.operands[0]) is None:
            return False
        # Lanes that leave one by one do their last rounds with others that go on.
        return loop.latches[0] not in lanes_part(function, ANY)

    def _inner(self) -> bool:
        return any(other.parent == self._loop.header for other in loops(self._function).loops.values())

    @property
    def _end(self) -> Instruction:
        return self._function.block[self._loop.latches[0]].terminator

    def _before(self) -> Block | None:
        """The block that leads to the loop and nowhere else."""
        found = [
            b
            for b in self._function.blocks
            if self._loop.header in b.successors and b.name not in self._loop.blocks
        ]
        return found[0] if len(found) == 1 and len(found[0].successors) == 1 else None

    def _changes(self, value: Value, seen: set[str]) -> bool:
        """Whether a number is made from one that differs from round to round."""
        made = self._inside.get(value.name) if isinstance(value, Local) else None
        if made is None or made.name in seen:
            return False
        seen.add(made.name)
        if made in self._header.phis:
            return True
        return made.opcode in PURE and any(self._changes(o, seen) for o in made.operands)

    def _chain(self, value: Value) -> list[Instruction] | None:
        """What a value is made by, from what a round begins with."""
        return made_by(value, self._inside, lambda made: made in self._header.phis, self._never_changes)

    def _never_changes(self, i: Instruction) -> bool:
        root = self._roots.root(i.operands[0]) if i.opcode == "load" and not i.ordering else None
        return root is not None and root.kind == "buffer" and root.index in self._constant

    # ---- the blocks -------------------------------------------------------------------------------------------------

    def function(self) -> Function:
        before, after = self._before(), self._loop.exits[0][1]
        assert before is not None
        blocks: list[Block] = []
        for block in self._function.blocks:
            if block is before:
                blocks.append(self._led(block))
                blocks.append(Block(self._name("enter"), (_jump(self._loop.header),)))
            elif block.name in self._loop.blocks:
                blocks.append(self._kept(block))
            elif block.name == after:
                blocks += [self._rest(), *self._last(), self._left(block)]
            else:
                blocks.append(block)
        return self._function.with_blocks(tuple(blocks))

    def _name(self, what: str) -> str:
        return f"{self._loop.header}.{what}"

    def _started(self, phi: Instruction) -> Value:
        return next(v for v, source in phi.cases if source not in self._loop.blocks)

    def _following(self, phi: Instruction) -> Value:
        return next(v for v, source in phi.cases if source in self._loop.blocks)

    def _asked(self, start: Mapping[str, Value], suffix: str) -> Iterator[Instruction]:
        """Whether another round follows the one that begins so."""
        names = dict(start)
        for i in self._chain(self._end.operands[0]) or ():
            names[i.name] = Local(f"{i.name}{suffix}", i.type)
            yield replace(
                i.substitute({n: v for n, v in names.items() if n != i.name}), name=f"{i.name}{suffix}"
            )

    def _asks(self, suffix: str, on: str, out: str) -> Instruction:
        """The branch for that."""
        asked = self._end.operands[0]
        assert isinstance(asked, Local)
        labels = tuple(on if label == self._loop.header else out for label in self._end.labels)
        named = Local(f"{asked.name}{suffix}", asked.type) if asked.name in self._inside else asked
        return replace(self._end, operands=(named,), labels=labels, metadata=self._end.debug_only)

    def _led(self, before: Block) -> Block:
        start = {phi.name: self._started(phi) for phi in self._header.phis}
        asks = self._asks(".first", self._name("enter"), self._name("last"))
        return Block(before.name, (*before.instructions[:-1], *self._asked(start, ".first"), asks))

    def _kept(self, block: Block) -> Block:
        code = block.instructions
        if block.name == self._loop.header:
            outside = {source for phi in block.phis for source in phi.labels} - set(self._loop.blocks)
            code = tuple(
                i.relabel(dict.fromkeys(outside, self._name("enter"))) if i.opcode == "phi" else i
                for i in code
            )
        if block.name == self._loop.latches[0]:
            start = {phi.name: self._following(phi) for phi in self._header.phis}
            asks = self._asks(".then", self._loop.header, self._name("rest"))
            code = (*code[:-1], *self._asked(start, ".then"), asks)
        return Block(block.name, code)

    def _rest(self) -> Block:
        """What the last round begins with leaves the loop through phis."""
        latch = self._loop.latches[0]
        phis = tuple(
            replace(phi, name=f"{phi.name}.rest", operands=(self._following(phi),), labels=(latch,))
            for phi in self._header.phis
        )
        return Block(self._name("rest"), (*phis, _jump(self._name("last"))))

    def _last(self) -> Iterator[Block]:
        names: dict[str, Value] = {n: Local(f"{n}.last", i.type) for n, i in self._inside.items()}
        blocks = {b: f"{b}.last" for b in self._loop.blocks} | {self._loop.header: self._name("last")}
        before = self._before()
        assert before is not None
        for block in self._function.blocks:
            if block.name not in self._loop.blocks:
                continue
            code = []
            for i in block.instructions:
                if i.opcode == "phi" and block is self._header:
                    cases = self._started(i), Local(f"{i.name}.rest", i.type)
                    made = replace(i, operands=cases, labels=(before.name, self._name("rest")))
                elif i is self._end:
                    made = replace(_jump(self._loop.exits[0][1]), metadata=i.debug_only)
                else:
                    made = i.substitute(names).relabel(blocks)
                code.append(replace(made, name=f"{i.name}.last") if i.name else made)
            yield Block(blocks[block.name], tuple(code))

    def _left(self, block: Block) -> Block:
        """The block behind the loop: only the last round leads there."""
        latch = self._loop.latches[0]
        into = self._name("last") if latch == self._loop.header else f"{latch}.last"
        names: dict[str, Value] = {n: Local(f"{n}.last", i.type) for n, i in self._inside.items()}
        code = tuple(
            i.substitute(names).relabel({latch: into}) if i.opcode == "phi" else i for i in block.instructions
        )
        return Block(block.name, code)


def _jump(to: str) -> Instruction:
    return Instruction("br", VOID, labels=(to,))
