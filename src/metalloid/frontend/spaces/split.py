"""Accesses through pointers of several spaces are written once for each, behind a branch on the tag.

Neighbours that go through pointers with one tag share the branch, with what stands between them, so that a row stays
a row. What waits for other threads is never copied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from metalloid.frontend.spaces.generic import DEVICE, GENERIC
from metalloid.frontend.spaces.numbers import Parts
from metalloid.ir.build import FunctionBuilder
from metalloid.ir.module import Block, Function, Instruction
from metalloid.ir.types import I1, I32, VOID, PointerType
from metalloid.ir.values import Global, Int, Local, Value
from metalloid.records import replace

Code = Sequence[Instruction]
_FAR = 32  # instructions between two accesses that are copied rather than left alone


class Splitter:
    def __init__(self, function: Function, parts: dict[str, Parts], names: FunctionBuilder) -> None:
        self.before, self.parts, self.names = function, parts, names
        self.uses = Counter(name for i in function.instructions() for name in self._read(i))
        self.blocks: list[Block] = []

    def function(self) -> Function:
        ends = {}
        for block in self.before.blocks:
            self._cut(block.name, [i.map_operands(self._known) for i in block.instructions])
            ends[block.name] = self.blocks[-1].name
        moved = {a: b for a, b in ends.items() if a != b}
        return self.before.with_blocks(tuple(_from(b, moved) for b in self.blocks))

    def _known(self, value: Value) -> Value:
        """A pointer whose tag turned out to be a constant is of that space."""
        if not isinstance(value, Local) or value.type != GENERIC:
            return value
        parts = self.parts[value.name]
        return parts.of[parts.tag.value] if isinstance(parts.tag, Int) else value

    def _read(self, i: Instruction) -> Iterator[str]:
        for name in i.uses:
            parts = self.parts.get(name)
            values = (parts.tag, *parts.of.values()) if parts else (Local(name, VOID),)
            yield from (v.name for v in values if isinstance(v, Local))

    def _cut(self, name: str, code: list[Instruction]) -> None:
        """The block in pieces, each behind the one before."""
        while (run := self._run(code)) is not None:
            start, end, parts = run
            after = self.names.fresh("spaces.end")
            order = sorted(parts.of, key=lambda s: s == DEVICE)
            arms = {space: self.names.fresh("spaces.in") for space in order}
            self.blocks += self._tests(name, code[:start], parts, arms)
            results: dict[str, dict[str, Value]] = {}  # by the last block of each arm
            for space, arm in arms.items():
                copied, named = self._copied(code[start:end], parts, space)
                self._cut(arm, [*copied, Instruction("br", VOID, labels=(after,))])
                results[self.blocks[-1].name] = named
            name, code = after, [*self._joined(code[start:end], results), *code[end:]]
        self.blocks.append(Block(name, tuple(map(_spelled, code))))

    def _run(self, code: Code) -> tuple[int, int, Parts] | None:
        """The first access that waits, and how far its neighbours with the same tag go."""
        start = next((n for n, i in enumerate(code) if any(self._waiting(i))), None)
        if start is None:
            return None
        first = next(self._waiting(code[start]))
        end = start + 1
        for n in range(start + 1, len(code)):
            if not _copyable(code[n]) or n - end > _FAR:
                break
            waiting = list(self._waiting(code[n]))
            if not all(_alike(first, w) for w in (*self._waiting(code[start]), *waiting)):
                break
            end = n + 1 if waiting else end
        return start, end, first

    def _waiting(self, i: Instruction) -> Iterator[Parts]:
        return (self.parts[o.name] for o in i.operands if isinstance(o, Local) and o.type == GENERIC)

    def _tests(self, name: str, code: Code, parts: Parts, arms: dict[int, str]) -> Iterator[Block]:
        """What stands before, and the branches: to the last space where it is none of the others."""
        here = list(map(_spelled, code))
        *others, last = arms
        for n, space in enumerate(others):
            test = Instruction(
                "icmp", I1, (parts.tag, Int(I32, space)), self.names.fresh("in"), predicate="eq"
            )
            other = self.names.fresh("spaces.else") if n + 1 < len(others) else arms[last]
            branch = Instruction("br", VOID, (test.value,), labels=(arms[space], other))
            yield Block(name, (*here, test, branch))
            name, here = other, []

    def _copied(self, code: Code, parts: Parts, space: int) -> tuple[list[Instruction], dict[str, Value]]:
        """A run for one space, and what its results are called there."""
        named: dict[str, Value] = {}
        copied: list[Instruction] = []

        def there(value: Value) -> Value:
            if isinstance(value, Local) and value.type == GENERIC and _alike(parts, self.parts[value.name]):
                value = self.parts[value.name].of[space]
            return named.get(value.name, value) if isinstance(value, Local) else value

        for i in code:
            made = i.map_operands(there)
            made = replace(made) if made is i else made  # two arms have no instruction in common
            if made.name:
                made = replace(made, name=self.names.fresh(made.name))
                named[i.name] = made.value
                self.uses[made.name] = self.uses[i.name]
            copied.append(made)
        return copied, named

    def _joined(self, code: Code, results: dict[str, dict[str, Value]]) -> Iterator[Instruction]:
        """The results of a run that are read after it."""
        inside = Counter(name for i in code for name in self._read(i))
        for i in code:
            if i.name and self.uses[i.name] > inside[i.name]:
                values = tuple(named[i.name] for named in results.values())
                yield Instruction("phi", i.type, values, i.name, labels=tuple(results))


def _alike(a: Parts, b: Parts) -> bool:
    """Whether one test tells the space of both."""
    return a.tag == b.tag and a.of.keys() == b.of.keys()


def _copyable(i: Instruction) -> bool:
    if i.opcode == "call":
        return i.called.startswith("llvm.")
    return not i.is_terminator and i.opcode != "alloca"


def _from(block: Block, moved: dict[str, str]) -> Block:
    """Phis call the blocks they come from by the names of their last pieces."""
    return Block(block.name, tuple(i.relabel(moved) if i.opcode == "phi" else i for i in block.instructions))


def _spelled(i: Instruction) -> Instruction:
    """The memory intrinsics have the spaces of their operands in their names."""
    if not i.called.startswith(("llvm.memcpy.", "llvm.memmove.", "llvm.memset.")):
        return i
    spaces = [o.type.space for o in i.operands if isinstance(o.type, PointerType)]
    stem, size = ".".join(i.called.split(".")[:2]), i.called.rsplit(".", 1)[1]
    name = ".".join((stem, *(f"p{s}" for s in spaces), size))
    assert i.callee is not None
    return replace(i, callee=Global(name, i.callee.type))
