"""Loops with several rounds one behind the other, in their order; the old loop for what is left.

For lanes that each walk along a row of their own: neighbours are loaded and stored at once, and turned round in
registers. Where a loop writes its row, all rounds load first and store then.
"""

from __future__ import annotations

from metalloid.ir import Block, Function
from metalloid.ir.layout import DataLayout
from metalloid.ir.loops import loops
from metalloid.records import replace
from metalloid.transforms.partial_sums import around
from metalloid.transforms.split_rounds import SideBySide, rounds_of
from metalloid.transforms.split_sums import with_rounds

TAG = ".by"


def unrolled(
    function: Function, header: str, count: int, layout: DataLayout
) -> tuple[Function, tuple[str, ...]]:
    """The function with `count` rounds of a loop of one block at once, and the new loops; alone where it has another
    form. Rounds that store have nothing that reads what another has stored."""
    loop = loops(function).loops.get(header)
    row = around(function, loop) if loop is not None else None
    if row is None:
        return function, ()
    row = replace(row, tag=TAG)
    made = with_rounds(function, row, count, SideBySide, layout)
    if made is function:
        return function, ()
    name = rounds_of(row)
    blocks = tuple(_stored_last(b, count) if b.name == name else b for b in made.blocks)
    return made.with_blocks(blocks), (row.split(), name)


def _stored_last(block: Block, count: int) -> Block:
    """All stores behind the rest, those of one row together."""
    stores = [i for i in block.body[:-1] if i.opcode == "store"]
    each = len(stores) // count
    rest = [i for i in block.body[:-1] if i.opcode != "store"]
    rows = [i for n in range(each) for i in stores[n::each]]
    return replace(block, instructions=(*block.phis, *rest, *rows, block.terminator))
