"""A `switch` as two-way branches: a mask parts lanes in two.

Cases that lead to one block are one test (equal to this or that, or inside a range). A few blocks are tested one
after the other; many are halved first by a comparison, so that one of 2,000 cases is found by a dozen tests.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.cfg import graph
from metalloid.ir.types import I1, VOID, Type
from metalloid.ir.values import Int, Local, Value
from metalloid.records import dataclass, replace

FEW = 4  # blocks that are tested one after the other


@dataclass(frozen=True)
class _Range:
    """Cases beside each other that lead to one block."""

    first: Int
    last: Int
    target: str


def lower_switches(function: Function) -> Function:
    """The function without switches."""
    if not any(b.terminator.opcode == "switch" for b in function.blocks):
        return function
    function = _led_straight(function)
    lowered = {b.name: _Lowering(function, b) for b in function.blocks if b.terminator.opcode == "switch"}
    blocks: list[Block] = []
    for block in function.blocks:
        for made in lowered[block.name].blocks if block.name in lowered else [block]:
            blocks.append(made.with_code(tuple([_led(i, made.name, lowered) for i in made.instructions])))
    return function.with_blocks(tuple(blocks))


def _led_straight(function: Function) -> Function:
    """Switches that lead where their targets lead, where those do nothing else and nobody else gets there."""
    sources = {name: set(found) for name, found in graph(function).predecessors.items()}
    passed: dict[str, tuple[str, str]] = {}  # by block: the switch before it, and what is behind it
    for block in (b for b in function.blocks if b.terminator.opcode == "switch"):
        for label in block.successors:
            first = function.block[label].instructions[0]
            if first.opcode != "br" or first.operands or sources[label] != {block.name}:
                continue
            if block.name not in sources[first.labels[0]]:
                sources[first.labels[0]].add(block.name)
                passed[label] = block.name, first.labels[0]

    def led(i: Instruction) -> Instruction:
        ends = {label: here[i.opcode != "phi"] for label, here in passed.items()}
        return i.relabel(ends) if i.opcode in ("phi", "switch") else i

    return function.map_instructions(led) if passed else function


def _led(phi: Instruction, block: str, lowered: dict[str, _Lowering]) -> Instruction:
    """A phi with a case for each branch that leads to its block now, in the place of those of a switch."""
    if phi.opcode != "phi" or not any(source in lowered for source in phi.labels):
        return phi
    cases: dict[str, Value] = {}
    for value, source in phi.cases:
        for one in lowered[source].sources(block) if source in lowered else [source]:
            cases[one] = value
    return replace(phi, operands=tuple(cases.values()), labels=tuple(cases))


class _Lowering:
    """The blocks that one block with a switch becomes."""

    def __init__(self, function: Function, block: Block) -> None:
        self.end, self.name = block.terminator, block.name
        self.value, self.default = self.end.operands[0], self.end.labels[0]
        self.blocks: list[Block] = []
        self._tests = 0
        ranges = _ranges(self.end)
        if function.block[self.default].instructions[0].opcode == "unreachable" and ranges:
            targets = [r.target for r in ranges]
            self.default = max(dict.fromkeys(targets), key=targets.count)  # the most tests are gone
        self._tree(block.name, block.instructions[:-1], [r for r in ranges if r.target != self.default])

    def sources(self, target: str) -> list[str]:
        """The blocks that lead to another now."""
        return [b.name for b in self.blocks if target in b.successors]

    def _tree(self, name: str, before: tuple[Instruction, ...], ranges: Sequence[_Range]) -> None:
        if len({r.target for r in ranges}) <= FEW:
            self._chain(name, before, ranges)
            return
        middle = len(ranges) // 2
        below, above = f"mt.{self.name}.below{len(self.blocks)}", f"mt.{self.name}.above{len(self.blocks)}"
        less = self._made("icmp", I1, self.value, ranges[middle].first, predicate="slt")
        self._close(name, (*before, less), less.value, below, above)
        self._tree(below, (), ranges[:middle])
        self._tree(above, (), ranges[middle:])

    def _chain(self, name: str, before: tuple[Instruction, ...], ranges: Sequence[_Range]) -> None:
        targets = list(dict.fromkeys(r.target for r in ranges))
        for n, target in enumerate(targets):
            tests = [i for r in ranges if r.target == target for i in self._inside(r)]
            flags = [i.value for i in tests if i.type == I1]
            while len(flags) > 1:
                tests.append(self._made("or", I1, flags.pop(0), flags.pop(0)))
                flags.append(tests[-1].value)
            other = f"mt.{self.name}.case{len(self.blocks)}" if n + 1 < len(targets) else self.default
            self._close(name, (*before, *tests), flags[0], target, other)
            name, before = other, ()
        if not targets:
            self._close(name, before, None, self.default)

    def _inside(self, cases: _Range) -> list[Instruction]:
        if cases.first == cases.last:
            return [self._made("icmp", I1, self.value, cases.first, predicate="eq")]
        type = cases.first.type
        offset = self._made("sub", type, self.value, cases.first)
        length = Int(type, cases.last.value - cases.first.value)
        return [offset, self._made("icmp", I1, offset.value, length, predicate="ule")]

    def _made(self, opcode: str, type: Type, *operands: Value, predicate: str = "") -> Instruction:
        self._tests += 1
        name = f"mt.{self.name}.test{self._tests}"
        metadata = self.end.debug_only
        return Instruction(opcode, type, operands, name, predicate=predicate, metadata=metadata)

    def _close(self, name: str, code: tuple[Instruction, ...], flag: Local | None, *labels: str) -> None:
        operands = () if flag is None else (flag,)
        jump = Instruction("br", VOID, operands, labels=labels, metadata=self.end.debug_only)
        self.blocks.append(Block(name, (*code, jump)))


def _ranges(switch: Instruction) -> list[_Range]:
    """Cases in order, those beside each other with one target as one; without those that go where others go."""
    found: list[_Range] = []
    cases = [(c, target) for c, target in switch.cases if isinstance(c, Int) and target != switch.labels[0]]
    for case, target in sorted(cases, key=lambda c: c[0].signed):
        if found and found[-1].target == target and found[-1].last.signed + 1 == case.signed:
            found[-1] = replace(found[-1], last=case)
        else:
            found.append(_Range(case, case, target))
    return found
