"""Branches round a few cheap instructions become those instructions and a `select`.

A branch that lanes take differently costs two masks and a blend for each value, so both sides are computed where they
are short. Clang has done so; branches of this kind come from switches (`lower_switch`), and from what the front end
has changed since.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.cfg import graph
from metalloid.ir.types import VOID
from metalloid.ir.values import Named, Value
from metalloid.records import replace

FEW = 4  # instructions of a side
MOST_SELECTS = 4
CHEAP = frozenset(
    "add sub mul shl lshr ashr and or xor trunc zext sext getelementptr icmp fcmp select freeze fneg fadd fsub "
    "fmul".split()
)


def if_convert(function: Function) -> Function:
    """The function with such branches converted, innermost first; the function itself where it has none."""
    return Converter(function).run()


class Converter:
    def __init__(self, function: Function) -> None:
        self.function, self.blocks = function, dict(function.block)
        self.sources = {name: list(found) for name, found in graph(function).predecessors.items()}
        self.equal: dict[str, Value] = {}  # phis that are gone, with what they were

    def run(self) -> Function:
        for name in graph(self.function).postorder:
            while name in self.blocks and self._convert(self.blocks[name]):
                pass
        if len(self.blocks) == len(self.function.blocks):
            return self.function
        kept = tuple(self.blocks[b.name] for b in self.function.blocks if b.name in self.blocks)
        function = self.function.with_blocks(kept)
        while self.equal:  # one may be another's
            function = function.map_instructions(lambda i: i.substitute(self.equal))
            self.equal = {
                n: self.equal[n] for i in function.instructions() for n in i.uses if n in self.equal
            }
        return function

    def _convert(self, block: Block) -> bool:
        end = block.terminator
        if end.opcode != "br" or len(set(end.labels)) < 2:
            return False
        yes, no = (self._side(block.name, label) for label in end.labels)
        if yes and yes in (no, end.labels[1]):
            join, sides = yes, end.labels if no == yes else end.labels[:1]
        elif no and no == end.labels[0]:
            join, sides = no, end.labels[1:]
        else:
            return False
        ways = [label if label in sides else block.name for label in end.labels]
        if join == block.name or self._selects(join, ways) > MOST_SELECTS:
            return False
        hoisted = [i for side in sides for i in self.blocks.pop(side).instructions[:-1]]
        self.sources[join] = [s for s in self.sources[join] if s not in (*sides, block.name)]
        code = [*block.instructions[:-1], *hoisted]
        self._joined(block.name, code, join, ways, end)
        return True

    def _side(self, source: str, name: str) -> str:
        """Where a block leads to, if nobody but `source` gets there and it is cheap; else nothing."""
        code = self.blocks[name].instructions
        alone = self.sources[name] == [source] and code[-1].opcode == "br" and len(code[-1].labels) == 1
        return code[-1].labels[0] if alone and self.cheap(source, code[:-1]) else ""

    def cheap(self, source: str, code: tuple[Instruction, ...]) -> bool:
        """Whether a side may be computed at the end of the block that leads to it."""
        return len(code) <= FEW and all(i.opcode in CHEAP for i in code)

    def _selects(self, join: str, ways: Sequence[str]) -> int:
        return sum(self._chosen(phi, ways) is None for phi in self.blocks[join].phis)

    def _chosen(self, phi: Instruction, ways: Sequence[str]) -> Value | None:
        """What a phi is by either way, where that is the same."""
        first, second = (self._value(phi, way) for way in ways)
        if first == second or _poison(second):
            return first
        return second if _poison(first) else None

    def _value(self, phi: Instruction, way: str) -> Value:
        return next(value for value, source in phi.cases if source == way)

    def _joined(
        self, name: str, code: list[Instruction], join: str, ways: Sequence[str], end: Instruction
    ) -> None:
        """The block runs on to where its sides met; what follows is part of it where nobody else gets there."""
        alone = not self.sources[join]
        phis: list[Instruction] = []
        for phi in self.blocks[join].phis:
            value = self._chosen(phi, ways)
            if value is None:
                values = (end.operands[0], *(self._value(phi, way) for way in ways))
                own = phi.name if alone else f"mt.{phi.name}.{name}"
                code.append(Instruction("select", phi.type, values, own, metadata=end.debug_only))
                value = code[-1].value
            elif alone:
                self.equal[phi.name] = value
            kept = [(v, s) for v, s in phi.cases if s not in ways]
            cases = [*kept, (value, name)]
            operands, labels = tuple(v for v, _ in cases), tuple(s for _, s in cases)
            phis.append(replace(phi, operands=operands, labels=labels))
        body = self.blocks[join].body
        if not alone:
            self.blocks[join] = Block(join, (*phis, *body))
            self.sources[join].append(name)
            jump = Instruction("br", VOID, labels=(join,), metadata=end.debug_only)
            self.blocks[name] = Block(name, (*code, jump))
            return
        self.blocks[name] = Block(name, (*code, *body))
        del self.blocks[join]
        for target in self.blocks[name].successors:
            self.sources[target] = [name if s == join else s for s in self.sources[target]]
            here = self.blocks[target]
            phis = [p.relabel({join: name}) for p in here.phis]
            self.blocks[target] = Block(target, (*phis, *here.body))


def _poison(value: Value) -> bool:
    return isinstance(value, Named) and value.word in ("poison", "undef")
