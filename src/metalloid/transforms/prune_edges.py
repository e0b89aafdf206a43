"""Take out ways through a function that nobody goes, and the blocks that only they lead to.

A proof about one launch knows such ways: `if (i < n)` where every thread has i < n needs no mask.
"""

from __future__ import annotations

from collections.abc import Collection

from metalloid.ir import Block, Function
from metalloid.ir.cfg import closure, graph
from metalloid.ir.unreachable import drop_unreachable
from metalloid.records import replace

Edge = tuple[str, str]


def prune(function: Function, dead: Collection[Edge]) -> Function:
    """The function without these edges; as it was where no way to its end would be left."""
    if not dead:
        return function
    led = drop_unreachable(function.with_blocks(tuple(_led(block, dead) for block in function.blocks)))
    cfg = graph(led)
    # The end must be reached from everywhere: the passes ask what comes behind a block.
    ends = closure(cfg.predecessors, list(cfg.exits))
    return led if len(ends) == len(led.blocks) else function


def _led(block: Block, dead: Collection[Edge]) -> Block:
    """The block with a jump in the place of a branch one of whose sides nobody takes."""
    end = block.terminator
    if end.opcode != "br" or len(set(end.labels)) != 2:
        return block
    alive = tuple(label for label in end.labels if (block.name, label) not in dead)
    if len(alive) != 1:
        return block
    jump = replace(end, operands=(), labels=alive, metadata=end.debug_only)  # weights are of two sides
    return replace(block, instructions=(*block.instructions[:-1], jump))
