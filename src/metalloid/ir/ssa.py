"""Values that are made at several places: which one each use sees, and where phis have to join them.

Phis stand where the dominance of a definition ends, and only where somebody further on reads the value (Cytron's
method, pruned).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from operator import is_

from metalloid.ir.dominance import DominatorTree, dominators
from metalloid.ir.module import Function, Instruction
from metalloid.ir.types import Type
from metalloid.ir.values import Local, Named, Value
from metalloid.records import dataclass, replace


@dataclass(eq=False, slots=True)
class Use:
    """An operand. What a phi reads, it reads at the end of the block that it comes from."""

    block: str
    place: int  # the number of the instruction in its block; of a phi's operand, past them all
    operands: list[Value]
    position: int

    def give(self, value: Value) -> None:
        self.operands[self.position] = value


class Rewriter:
    """A function whose uses are given other values; `function()` is the result."""

    def __init__(self, function: Function, wanted: Collection[str]) -> None:
        """`wanted`: the names whose uses may change."""
        self.before, self.tree = function, dominators(function)
        self.uses: dict[str, list[Use]] = {name: [] for name in wanted}
        self.names = {i.name for i in function.instructions() if i.name}
        self._changed: dict[tuple[str, int], list[Value]] = {}
        self._added: dict[str, list[tuple[Instruction, list[Value]]]] = {}
        for block in function.blocks:
            for n, i in enumerate(block.instructions):
                if not self.uses.keys().isdisjoint(i.uses):
                    self._changed[block.name, n] = self._read(i, block.name, n)

    def _read(self, i: Instruction, block: str, place: int) -> list[Value]:
        operands = list(i.operands)
        for position, value in enumerate(operands):
            if isinstance(value, Local) and value.name in self.uses:
                end = i.opcode == "phi"
                use = Use(i.labels[position] if end else block, 1 << 30 if end else place, operands, position)
                self.uses[value.name].append(use)
        return operands

    def fresh(self, name: str) -> str:
        found, count = name, 0
        while found in self.names:
            count += 1
            found = f"{name}{count}"
        self.names.add(found)
        return found

    def add_phi(self, block: str, name: str, type: Type, cases: Iterable[tuple[Value, str]]) -> Local:
        """A new phi, before the others of its block; its own operands are uses as well."""
        phi = Local(self.fresh(name), type)
        self.uses[phi.name] = []
        self._add(block, phi, cases)
        return phi

    def _add(self, block: str, phi: Local, cases: Iterable[tuple[Value, str]]) -> None:
        values, labels = zip(*cases, strict=True)
        made = Instruction("phi", phi.type, values, phi.name, labels=labels)
        self._added.setdefault(block, []).append((made, self._read(made, block, 0)))

    def join(
        self,
        name: str,
        type: Type,
        made: Mapping[str, Value],
        uses: Collection[Use],
        late: Mapping[str, int] | None = None,
    ) -> dict[str, Local]:
        """Give each use what reaches it of the values that blocks have made; the phis that it took.

        Blocks make them before all their instructions, or by the one whose number `late` has.
        """
        late = late or {}
        early = {u for u in uses if u.block not in made or u.place <= late.get(u.block, -1)}
        live = self._live(made, {u.block for u in early})
        joins: dict[str, Local] = {}
        work = list(made)
        while work:
            for block in sorted(self.tree.frontier.get(work.pop(), ()), key=self._order.__getitem__):
                if block in live and block not in joins:
                    joins[block] = Local(self.fresh(name), type)
                    self.uses[joins[block].name] = []
                    work.append(block)
        reach = _Reaching(self.tree, made, joins, Named(type, "poison"))
        for block, phi in joins.items():
            cases = [(reach.at_end(s), s) for s in self.tree.graph.predecessors[block]]
            self._add(block, phi, cases)
        for use in uses:
            value = reach.at_start(use.block) if use in early else reach.at_end(use.block)
            use.give(value)
            if isinstance(value, Local) and value.name in self.uses:
                self.uses[value.name].append(use)
        return joins

    @cached_property
    def _order(self) -> Mapping[str, int]:
        return {name: n for n, name in enumerate(self.tree.graph.reverse_postorder)}

    def _live(self, made: Mapping[str, Value], readers: set[str]) -> set[str]:
        """The blocks that somebody reads the value in, or behind, before it is made again."""
        live, work = set(readers), list(readers)
        while work:
            for source in self.tree.graph.predecessors[work.pop()]:
                if source not in made and source not in live:
                    live.add(source)
                    work.append(source)
        return live

    def function(self) -> Function:
        blocks = []
        for block in self.before.blocks:
            code = [
                _given(i, self._changed[block.name, n]) if (block.name, n) in self._changed else i
                for n, i in enumerate(block.instructions)
            ]
            added = [replace(phi, operands=tuple(values)) for phi, values in self._added.get(block.name, ())]
            blocks.append(block.with_code((*added, *code)))
        return self.before.with_blocks(tuple(blocks))


def _given(i: Instruction, operands: list[Value]) -> Instruction:
    """The instruction with these operands; itself where they are its own, as most are."""
    return i if all(map(is_, operands, i.operands)) else replace(i, operands=tuple(operands))


@dataclass(frozen=True)
class _Reaching:
    tree: DominatorTree
    made: Mapping[str, Value]
    joins: Mapping[str, Value]
    nothing: Value

    def at_end(self, block: str) -> Value:
        return self.made[block] if block in self.made else self.at_start(block)

    def at_start(self, block: str) -> Value:
        while block not in self.joins:
            if block == self.tree.root:
                return self.nothing
            block = self.tree.immediate[block]
            if block in self.made:
                return self.made[block]
        return self.joins[block]
