"""Blocks that lead to one another alone become one: what is left where ways through a function are gone."""

from __future__ import annotations

from collections.abc import Collection

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.cfg import graph
from metalloid.ir.values import Local, Value

Place = tuple[str, int]


def joined(function: Function, closed: bool = False) -> tuple[Function, dict[Place, Instruction]]:
    """The function, and what each of its instructions was. `closed`: what a loop hands out stays a phi behind it."""
    cfg = graph(function)
    into: dict[str, str] = {}  # of a block, the one that it continues
    for block in function.blocks:
        before = cfg.predecessors.get(block.name, ())
        if len(before) == 1 and before[0] != block.name and cfg.successors[before[0]] == (block.name,):
            into[block.name] = before[0]
    names = _single(function, into if closed else function.block)
    firsts = {block: _first(block, into) for block in into}
    places: dict[Place, Instruction] = {}
    blocks = []
    for block in function.blocks:
        if block.name in into:
            continue
        code: list[Instruction] = []
        part: Block | None = block
        while part is not None:
            following = next((b for b in part.successors if into.get(b) == part.name), None)
            for i in part.instructions[: -1 if following is not None else None]:
                if i.name in names:
                    continue
                places[block.name, len(code)] = i
                code.append(i.substitute(names).relabel(firsts) if i.opcode == "phi" else i.substitute(names))
            part = function.block[following] if following is not None else None
        blocks.append(Block(block.name, tuple(code)))
    return function.with_blocks(tuple(blocks)), places


def _first(block: str, into: dict[str, str]) -> str:
    while block in into:
        block = into[block]
    return block


def _single(function: Function, blocks: Collection[str]) -> dict[str, Value]:
    """Phis of one case in these blocks, and what they are."""
    found = {
        i.name: i.operands[0] for name in blocks for i in function.block[name].phis if len(i.operands) == 1
    }

    def settled(value: Value) -> Value:
        while isinstance(value, Local) and value.name in found:
            value = found[value.name]
        return value

    return {name: settled(value) for name, value in found.items()}
