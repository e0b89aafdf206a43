"""Take out ways through a function that nobody goes, and the blocks that only they lead to.

A proof about one launch knows such ways: `if (i < n)` where every thread has i < n needs no mask.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from metalloid.ir import Block, Function, Instruction

Edge = tuple[str, str]


def prune(function: Function, dead: Collection[Edge]) -> Function:
    """The function without these edges; as it was where no way to its end would be left."""
    if not dead:
        return function
    led = [_led(block, dead) for block in function.blocks]
    targets = {block.name: block.terminator.labels for block in led}
    reached = _reached(function.entry.name, targets)
    if not _all_end(led, reached):
        return function
    edges = {(source, target) for source in reached for target in targets[source]}
    kept = [_with_phis(block, edges) for block in led if block.name in reached]
    return function.with_blocks(tuple(kept))


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


def _reached(root: str, targets: dict[str, tuple[str, ...]]) -> set[str]:
    seen, work = {root}, [root]
    while work:
        for target in targets[work.pop()]:
            if target not in seen:
                seen.add(target)
                work.append(target)
    return seen


def _all_end(blocks: list[Block], reached: set[str]) -> bool:
    """Whether the end can be reached from everywhere: the passes ask what comes behind a block."""
    sources: dict[str, list[str]] = {}
    ends = []
    for block in blocks:
        if block.name not in reached:
            continue
        if not block.terminator.labels:
            ends.append(block.name)
        for target in block.terminator.labels:
            sources.setdefault(target, []).append(block.name)
    seen, work = set(ends), list(ends)
    while work:
        for source in sources.get(work.pop(), ()):
            if source not in seen:
                seen.add(source)
                work.append(source)
    return seen == reached


def _with_phis(block: Block, edges: set[Edge]) -> Block:
    def fewer(i: Instruction) -> Instruction:
        if i.opcode != "phi":
            return i
        left = [(v, s) for v, s in i.cases if (s, block.name) in edges]
        return replace(i, operands=tuple(v for v, _ in left), labels=tuple(s for _, s in left))

    return replace(block, instructions=tuple(fewer(i) for i in block.instructions))
