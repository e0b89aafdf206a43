"""Blocks that nothing leads to, and branches whose way is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from metalloid.ir.cfg import graph
from metalloid.ir.module import Block, Function, Instruction
from metalloid.ir.values import Int, Named, Value
from metalloid.records import replace


def drop_unreachable(function: Function) -> Function:
    """Without blocks that nothing leads to, and with a jump for a branch whose way is known; phis know of the rest."""
    led = function.with_blocks(tuple(_one_way(b) for b in function.blocks))
    reached = set(graph(led).reverse_postorder)
    edges = Counter((b.name, label) for b in led.blocks if b.name in reached for label in b.terminator.labels)
    return led.with_blocks(tuple(_with_cases(b, edges) for b in led.blocks if b.name in reached))


def _one_way(block: Block) -> Block:
    end = block.terminator
    if end.opcode != "br" or not end.operands:
        return block
    taken = _truth(end.operands[0])
    if taken is None and len(set(end.labels)) == 2:
        return block
    label = end.labels[0] if taken or taken is None else end.labels[1]
    jump = replace(end, operands=(), labels=(label,), metadata=end.debug_only)  # weights are of two sides
    return Block(block.name, (*block.instructions[:-1], jump))


def _truth(value: Value) -> bool | None:
    if isinstance(value, Int):
        return bool(value.value)
    return value.word == "true" if isinstance(value, Named) and value.word in ("true", "false") else None


def _with_cases(block: Block, edges: Mapping[tuple[str, str], int]) -> Block:
    """Phis with one case for each edge that there is: of a switch several may lead here."""

    def fewer(phi: Instruction) -> Instruction:
        left: Counter[str] = Counter()
        kept: list[tuple[Value, str]] = []
        for value, source in phi.cases:
            if left[source] < edges.get((source, block.name), 0):
                left[source] += 1
                kept.append((value, source))
        if len(kept) == len(phi.labels):
            return phi
        return replace(phi, operands=tuple(v for v, _ in kept), labels=tuple(s for _, s in kept))

    phis = block.phis
    return block.with_code((*map(fewer, phis), *block.body)) if phis else block
