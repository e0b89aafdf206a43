"""Write a loop that adds up sums (`partial_sums.py`) as one of many rounds at once, and what is left.

    many:  run `count` rounds at once, each for a sum of its own, as long as so many are left
    few:   add the sums up, by halves; go round the old loop for what is left, or a second time with fewer rounds

A lane that has its turn among others ("in turn") adds up the sums of its rounds each time, and goes on with the total.
Where nobody knows that what it loads lies side by side, its rounds are a loop that puts them into an array ("in
memory"), and the total is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from metalloid.ir import Block, Function
from metalloid.ir.layout import DataLayout
from metalloid.ir.loops import loops
from metalloid.ir.types import IntType
from metalloid.records import replace
from metalloid.transforms.masked_rounds import Masked, may_be_masked
from metalloid.transforms.partial_sums import Row, row_of
from metalloid.transforms.rounds_in_turn import InMemory, InTurn
from metalloid.transforms.split_rounds import SideBySide, rounds_of

Way = Literal["side by side", "in turn", "in memory", "masked"]

MOST = 1024  # instructions of the rounds that run at once
_WAYS: Mapping[Way, type[SideBySide]] = {
    "side by side": SideBySide,
    "in turn": InTurn,
    "in memory": InMemory,
    "masked": Masked,
}


def split(
    function: Function, row: Row, counts: tuple[int, ...], *ways: Way, layout: DataLayout | None = None
) -> Function:
    """The function with as many rounds of the loop at once as `counts` says, as many sums in the place of each; then
    with fewer, and the old loop for the rest. The first in the first of these ways, the others in the last. It is left
    alone where it is no longer there, or would be too long."""
    for n, count in enumerate(counts):
        loop = loops(function).loops.get(row.header)
        found = row_of(function, loop) if loop is not None else None
        if found is None or (not n and replace(found, limit=row.limit) != row):
            break  # its limit may be another load of the same
        row = replace(found, tag=_tag(n))
        way = ways[min(n, len(ways) - 1)] if ways else "side by side"
        made = _split(function, row, count, way, layout)
        if made is function:
            break
        function = made
    return function


def splits(row: Row, counts: tuple[int, ...]) -> list[str]:
    """The names of the loops that `split` may make."""
    made = [replace(row, tag=_tag(n)) for n in range(len(counts))]
    return [name for row in made for name in (row.split(), rounds_of(row))]


def _tag(n: int) -> str:
    return f".{n + 1}" if n else ""


def _split(function: Function, row: Row, count: int, way: Way, layout: DataLayout | None) -> Function:
    if way == "masked" and not may_be_masked(function, row):
        return function
    return with_rounds(function, row, count, _WAYS[way], layout)


def with_rounds(
    function: Function, row: Row, count: int, kind: type[SideBySide], layout: DataLayout | None
) -> Function:
    """The function with so many rounds of a loop at once; alone where that would be too long."""
    body = function.block[row.header]
    if count < 2 or count * len(body.body) > MOST or count * row.step > _largest(row):
        return function
    made = kind(function, row, count, layout)
    new = [*made.blocks(), made.rest()]
    blocks: list[Block] = []
    for block in function.blocks:
        if block is function.entry:
            block = replace(block, instructions=(*made.arrays(), *block.instructions))
        if block.name == row.outside:
            blocks += made.outside(block)
        elif block.name == row.header:
            blocks += new
        elif block.name == row.behind:
            blocks.append(made.after(block))
        else:
            blocks.append(block)
    return function.with_blocks(tuple(blocks))


def _largest(row: Row) -> int:
    """What the counter holds: so many rounds have to fit, or it would go round on the way."""
    assert isinstance(row.limit.type, IntType)
    return (1 << row.limit.type.bits) - 1
