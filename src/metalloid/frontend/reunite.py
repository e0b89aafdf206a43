"""Lanes that clang sends past the head of a loop go back to it.

    while (true) {                    lanes but the first know at (2) what (1) will say, and clang lets them jump
        if (lane == 0) take();   (1)  straight behind it: a loop of their own inside the loop. That is the same for each
        x = simd_sum(x);              thread alone, but lanes meet in SIMD-group operations by the loop they are in, and
        if (lane == 0) put(x);   (2)  they would go round without the first.
    }

Such a jump is led back to the head, which says the same again: where what it jumps to is reached from the head and by
the jump alone, and the other side of the test leads straight to the head, as at the end of a round.
"""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.ir import Block, Function, Instruction, Module
from metalloid.ir.cfg import graph
from metalloid.ir.dominance import dominators
from metalloid.ir.intrinsics import BARRIER, ENTRY, among_lanes
from metalloid.ir.types import VOID
from metalloid.ir.values import Local, Value
from metalloid.records import dataclass, replace

_MOST = 64  # jumps; nobody has more than a few


@dataclass(frozen=True)
class _Jump:
    """A side of `source`'s branch that goes to `target`, where the same side of `head`'s goes as well, perhaps by a
    block of phis."""

    source: str
    side: int
    target: str
    head: str
    between: str  # "" where there is none


def reunited(module: Module) -> Module:
    """The module with loops as they were written, where lanes of a SIMD-group or threads of a threadgroup meet."""
    function = module.function[ENTRY]
    if not any(among_lanes(i) or i.called == BARRIER for i in function.instructions()):
        return module
    made = function
    for _ in range(_MOST):
        jump = next(_jumps(made), None)
        if jump is None:
            break
        made = _led_back(made, jump)
    return module if made is function else module.with_function(made)


def _jumps(function: Function) -> Iterator[_Jump]:
    tests: dict[str, list[Block]] = {}
    for block in function.blocks:
        end = block.terminator
        if end.opcode == "br" and len(set(end.labels)) == 2 and isinstance(end.operands[0], Local):
            tests.setdefault(end.operands[0].name, []).append(block)
    several = {name: found for name, found in tests.items() if len(found) > 1}
    if not several:
        return
    tree, flow = dominators(function), graph(function)
    for found in several.values():
        for head in (block for block in found if len(block.body) == 1):
            for source in found:
                if source is head or not tree.dominates(head.name, source.name):
                    continue
                for side, target in enumerate(source.terminator.labels):
                    first = head.terminator.labels[side]
                    between = "" if first == target else first
                    if target == head.name or (between and not _only_phis(function, between, target)):
                        continue
                    ways = {source.name, between or head.name}
                    straight = _straight(function, source.terminator.labels[1 - side])
                    if set(flow.predecessors[target]) == ways and straight == head.name:
                        yield _Jump(source.name, side, target, head.name, between)


def _only_phis(function: Function, between: str, target: str) -> bool:
    """Whether a block only hands values on to phis of the next."""
    block, users = function.block[between], function.users
    if len(block.body) != 1 or block.terminator.labels != (target,):
        return False
    known = set(map(id, function.block[target].phis))
    return all(id(user) in known for phi in block.phis for user in users.get(phi.name, ()))


def _straight(function: Function, block: str) -> str:
    """Where blocks with one way on lead to: the first of several ways, or one that was seen before."""
    seen = {block}
    while (
        len(ways := function.block[block].successors) == 1 and function.block[block].terminator.opcode == "br"
    ):
        block = ways[0]
        if block in seen:
            break
        seen.add(block)
    return block


def _led_back(function: Function, jump: _Jump) -> Function:
    """The jump goes by a block of its own to the head. What the target's phis had from it comes through the head's."""
    back = f"{jump.source}.back{jump.side}"
    new = _Phis(function, jump, back)
    changed = {jump.target: new.target(), jump.head: new.head()}
    if jump.between:
        block = function.block[jump.between]
        changed[block.name] = Block(block.name, (*block.phis, *new.between, *block.body))
    source = changed.get(jump.source, function.block[jump.source])
    end = source.terminator
    labels = tuple(back if n == jump.side else label for n, label in enumerate(end.labels))
    changed[jump.source] = Block(source.name, (*source.instructions[:-1], replace(end, labels=labels)))
    blocks = (changed.get(block.name, block) for block in function.blocks)
    return function.with_blocks(
        (*blocks, Block(back, (Instruction("br", VOID, labels=(jump.head,), metadata=end.debug_only),)))
    )


class _Phis:
    """The phis that a jump's values go through: those that are new in the head and behind it, and the target's."""

    def __init__(self, function: Function, jump: _Jump, back: str) -> None:
        self.function, self.jump, self.back = function, jump, back
        self.own = function.block[jump.head]
        self.flow = graph(function)
        self.fresh: list[Instruction] = []
        self.between: list[Instruction] = []
        self.given = {phi.name: _cases(phi) for phi in function.block[jump.target].phis}
        for phi in function.block[jump.target].phis:
            self._pass_on(phi)

    def _pass_on(self, phi: Instruction) -> None:
        """What a phi of the target has from the jump, through the head."""
        jump, cases = self.jump, self.given[phi.name]
        own = cases.pop(jump.source)
        if not jump.between:
            cases[jump.head] = self._through_head(phi, cases[jump.head], own)
            return
        block, value = self.function.block[jump.between], cases[jump.between]
        inner = next((p for p in block.phis if p.value == value), None)
        parts = _cases(inner) if inner else dict.fromkeys(self.flow.predecessors[block.name], value)
        made = self._through_head(phi, parts[jump.head], own)
        if made != parts[jump.head]:
            parts[jump.head] = made
            self.between.append(_phi(phi, f"{phi.name}.on.{self.back}", parts))
            cases[jump.between] = self.between[-1].value

    def _through_head(self, phi: Instruction, value: Value, own: Value) -> Value:
        """`own` from the jump, and from elsewhere what the head has handed on so far."""
        if value == own:
            return value
        had = next((_cases(p) for p in self.own.phis if p.value == value), None)
        others = self.flow.predecessors[self.jump.head]
        cases = {source: had[source] if had else value for source in others}
        self.fresh.append(_phi(phi, f"{phi.name}.{self.back}", {**cases, self.back: own}))
        return self.fresh[-1].value

    def target(self) -> Block:
        block = self.function.block[self.jump.target]
        return Block(block.name, (*(_phi(p, p.name, self.given[p.name]) for p in block.phis), *block.body))

    def head(self) -> Block:
        """Its own phis are what they were where the jump comes back."""
        kept = (_phi(p, p.name, {**_cases(p), self.back: p.value}) for p in self.own.phis)
        return Block(self.own.name, (*kept, *self.fresh, *self.own.body))


def _cases(phi: Instruction) -> dict[str, Value]:
    return {source: value for value, source in phi.cases}


def _phi(like: Instruction, name: str, cases: dict[str, Value]) -> Instruction:
    return replace(like, name=name, operands=tuple(cases.values()), labels=tuple(cases))
