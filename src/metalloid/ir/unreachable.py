"""Blocks that nothing leads to, and branches whose way is known."""

from __future__ import annotations

from dataclasses import replace

from metalloid.ir.cfg import graph
from metalloid.ir.module import Block, Function, Instruction
from metalloid.ir.values import Int, Named, Value


def drop_unreachable(function: Function) -> Function:
    """Without blocks that nothing leads to, and with a jump for a branch whose way is known; phis know of the rest."""
    led = function.with_blocks(tuple(_one_way(b) for b in function.blocks))
    cfg = graph(led)
    reached = set(cfg.reverse_postorder)
    return led.with_blocks(
        tuple(_with_cases(b, cfg.predecessors[b.name], reached) for b in led.blocks if b.name in reached)
    )


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


def _with_cases(block: Block, sources: tuple[str, ...], reached: set[str]) -> Block:
    """Phis with one case for each edge that there is."""

    def fewer(phi: Instruction) -> Instruction:
        given = {s: v for v, s in phi.cases}
        cases = {s: given[s] for s in dict.fromkeys(phi.labels) if s in reached and s in sources}
        return replace(phi, operands=tuple(cases.values()), labels=tuple(cases))

    if all(len(phi.labels) == len(sources) and reached.issuperset(phi.labels) for phi in block.phis):
        return block
    return Block(block.name, (*map(fewer, block.phis), *block.body))
