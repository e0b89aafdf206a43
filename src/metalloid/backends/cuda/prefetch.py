"""Loops that bring tiles to threadgroup memory: what a round loads is on its way while the round before computes.

A round loads from memory that nobody writes, stores to threadgroup memory, waits for all threads, and computes. Loads
of the next round are put behind that wait, in registers of their own; the first round's come before the loop, and the
last round loads its own again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from metalloid.backends.cuda.made_by import made_by
from metalloid.backends.cuda.record import LAUNCH
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.layout import scalar_bytes
from metalloid.ir.types import I32, VOID, IntType, PointerType, Type, VectorType
from metalloid.ir.values import Int, Local, Value

MOST = 128  # bytes of a thread that are on their way
LINE = 16  # bytes of one load
BARRIER = "mtd_threadgroup_barrier"
GUARDS = "mtd_guard"
CONSTANT = ("invariant.load", "!{}")


@dataclass(frozen=True)
class _Wide:
    """Loads side by side, as one."""

    name: str
    of: tuple[Instruction, ...]

    @property
    def type(self) -> Type:
        return VectorType(len(self.of), self.of[0].type) if len(self.of) > 1 else self.of[0].type

    @property
    def bytes(self) -> int:
        return len(self.of) * scalar_bytes(self.of[0].type)

    @property
    def value(self) -> Local:
        return Local(self.name, self.type)

    def load(self, pointer: Value, into: str) -> Instruction:
        return replace(self.of[0], type=self.type, operands=(pointer,), name=into)

    def parts(self) -> Iterator[Instruction]:
        """What was loaded, by the names that others know it by."""
        for n, i in enumerate(self.of):
            if len(self.of) > 1:
                yield Instruction("extractelement", i.type, (self.value, Int(I32, n)), i.name)
            else:
                yield Instruction("select", i.type, (Int(IntType(1), 1), self.value, self.value), i.name)


class _Loop:
    """A loop of one block, and the block before it."""

    def __init__(self, function: Function, block: Block, before: Block) -> None:
        self._function, self.block, self.before = function, block, before
        self._inside = {i.name: i for i in block.instructions if i.name}
        self._fresh = 0

    def chain(self, value: Value) -> list[Instruction] | None:
        """Instructions of the loop that a value is made by, from what a round begins with; None where it is not."""

        def same(made: Instruction) -> bool:
            return made.opcode == "load" and self._of_launch(made.operands[0])

        return made_by(value, self._inside, lambda made: made.opcode == "phi", same)

    def _of_launch(self, pointer: Value) -> bool:
        """Whether a pointer leads to an argument that the launch carries: it never changes."""
        made = self._function.definitions.get(pointer.name) if isinstance(pointer, Local) else None
        while made is not None and made.opcode == "getelementptr":
            pointer = made.operands[0]
            made = self._function.definitions.get(pointer.name) if isinstance(pointer, Local) else None
        return pointer == LAUNCH

    def made(
        self, value: Value, start: Mapping[str, Value], suffix: str, done: dict[str, Local]
    ) -> Iterator[Instruction]:
        """A value once more, in a round that begins with `start`. `done` knows what is there already."""
        for i in self.chain(value) or ():
            if i.name not in done:
                names = {**start, **done}
                done[i.name] = Local(f"{i.name}{suffix}", i.type)
                yield replace(i.substitute(names), name=done[i.name].name)


def prefetched(function: Function, call: Callable[..., Instruction]) -> Function:
    """The kernel, lowered, with its loops changed where that is possible. `call` calls the device
    runtime."""
    blocks = {b.name: b for b in function.blocks}
    for block in function.blocks:
        before = [b for b in function.blocks if block.name in b.successors and b is not block]
        if block.name in block.successors and len(before) == 1 and len(before[0].terminator.labels) == 1:
            changed = _changed(_Loop(function, block, blocks[before[0].name]), call)
            blocks |= {b.name: b for b in changed}
    return function.with_blocks(tuple(blocks[b.name] for b in function.blocks))


def _changed(loop: _Loop, call: Callable[..., Instruction]) -> tuple[Block, ...]:
    body = loop.block.instructions
    waits = [n for n, i in enumerate(body) if i.called == BARRIER]
    condition = loop.block.terminator.operands
    if any(i.called.startswith(GUARDS) for i in body):  # a guard belongs to the round of its access
        return ()
    if not waits or len(condition) != 1 or loop.chain(condition[0]) is None:
        return ()
    wide = [w for w in _together(loop) if _known(loop, w)]
    while sum(w.bytes for w in wide) > MOST:
        wide.pop()
    if not wide:
        return ()
    phis = [i for i in body if i.opcode == "phi"]
    first: dict[str, Value] = {p.name: v for p in phis for v, source in p.cases if source != loop.block.name}
    ahead = list(_ahead(loop, wide, phis))
    early: list[Instruction] = []
    done: dict[str, Local] = {}
    for w in wide:
        early += loop.made(w.of[0].operands[0], first, ".first", done)
        early.append(w.load(_given(w.of[0].operands[0], first, done), f"{w.name}.first"))
    gone = {i.name for w in wide for i in w.of}
    code: list[Instruction] = list(phis)
    for w in wide:
        cases = (Local(f"{w.name}.first", w.type), Local(f"{w.name}.next", w.type))
        code.append(Instruction("phi", w.type, cases, w.name, labels=(loop.before.name, loop.block.name)))
    for w in wide:
        code += w.parts()
    for n, i in enumerate(body):
        if i.opcode != "phi" and i.name not in gone:
            code.append(i)
        if n == waits[-1]:
            code += [*ahead, call("mtd_kept", VOID)]
    before = (*loop.before.instructions[:-1], *early, loop.before.terminator)
    return Block(loop.before.name, before), Block(loop.block.name, tuple(code))


def _ahead(loop: _Loop, wide: list[_Wide], phis: list[Instruction]) -> Iterator[Instruction]:
    """The loads of the next round; in the last one, those of its own."""
    own = loop.block.name
    done: dict[str, Local] = {}
    end = loop.block.terminator
    yield from loop.made(end.operands[0], {}, ".soon", done)
    goes_on = _given(end.operands[0], {}, done)
    start: dict[str, Value] = {}
    for phi in phis:
        following = next(v for v, source in phi.cases if source == own)
        if not any(phi.name in _used(loop, w) for w in wide):
            continue
        yield from loop.made(following, {}, ".soon", done)
        two = _given(following, {}, done), phi.value
        into = Local(f"{phi.name}.next", phi.type)
        yield Instruction(
            "select", phi.type, (goes_on, *(two if end.labels[0] == own else two[::-1])), into.name
        )
        start[phi.name] = into
    reached: dict[str, Local] = {}
    for w in wide:
        yield from loop.made(w.of[0].operands[0], start, ".ahead", reached)
        yield w.load(_given(w.of[0].operands[0], start, reached), f"{w.name}.next")


def _given(value: Value, start: Mapping[str, Value], done: Mapping[str, Local]) -> Value:
    return done.get(value.name, start.get(value.name, value)) if isinstance(value, Local) else value


def _used(loop: _Loop, wide: _Wide) -> set[str]:
    """What a round begins with that an address is made from."""
    chain = loop.chain(wide.of[0].operands[0]) or []
    return {
        o.name
        for o in (wide.of[0].operands[0], *(o for i in chain for o in i.operands))
        if isinstance(o, Local)
    }


def _known(loop: _Loop, wide: _Wide) -> bool:
    """Whether the next address can be computed in advance."""
    if loop.chain(wide.of[0].operands[0]) is None:
        return False
    phis = [i for i in loop.block.phis if i.name in _used(loop, wide)]
    return bool(phis) and all(
        loop.chain(v) is not None for p in phis for v, source in p.cases if source == loop.block.name
    )


def _together(loop: _Loop) -> Iterator[_Wide]:
    """Loads of a round, those that are side by side and aligned as one."""
    at: dict[tuple[Value, Type], dict[int, Instruction]] = {}
    for i in loop.block.instructions:
        if i.opcode == "load" and CONSTANT in i.metadata and i.operands[0].type == PointerType(1):
            base, offset = _address(loop, i.operands[0])
            at.setdefault((base, i.type), {}).setdefault(offset, i)
    for (_, type_), found in at.items():
        step = scalar_bytes(type_)
        left = dict(sorted(found.items()))
        while left:
            start, first = next(iter(left.items()))
            most = max(1, min(LINE, first.align) // step)
            many = next(
                n for n in (8, 4, 2, 1) if n <= most and all(start + k * step in left for k in range(n))
            )
            members = tuple(left.pop(start + k * step) for k in range(many))
            yield _Wide(f"{first.name}.tile", members)


def _address(loop: _Loop, pointer: Value) -> tuple[Value, int]:
    offset = 0
    made = loop._inside.get(pointer.name) if isinstance(pointer, Local) else None
    while made is not None and made.opcode == "getelementptr" and len(made.operands) == 2:
        step = made.operands[1]
        if not isinstance(step, Int) or made.element is None:
            break
        offset += step.signed * scalar_bytes(made.element)
        pointer = made.operands[0]
        made = loop._inside.get(pointer.name) if isinstance(pointer, Local) else None
    return pointer, offset
