"""Loops along rows as two: one for rows that are short, one for all others.

What adds up a long row fast takes long for a short one. Which of the two loops runs is asked of each row when it
begins, so the order of a sum depends on how long its row is, and on nothing else: a launch whose rows are known to be
short has the first loop alone (`lower/sums_in_turn.py`).
"""

from __future__ import annotations

from metalloid.analysis.intervals import SHORT
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.loops import loops
from metalloid.ir.types import VOID
from metalloid.ir.values import Local, Value
from metalloid.records import replace
from metalloid.transforms.partial_sums import Row, row_of
from metalloid.transforms.split_rounds import enough

END = ".short"  # of the names of the first


def with_short(function: Function, row: Row) -> tuple[Function, Row, Row] | None:
    """The function, and its two loops: that for long rows, and that for short ones. None where it has no such loop."""
    loop = loops(function).loops.get(row.header)
    found = row_of(function, loop) if loop is not None else None
    if found is None or replace(found, limit=row.limit) != row:
        return None
    return _with_short(function, found)  # its limit may be another load of the same


def _with_short(function: Function, row: Row) -> tuple[Function, Row, Row]:
    body, ask = function.block[row.header], f"{row.header}.ask"
    start = next(
        v for phi in body.phis if phi.name == row.counter for v, source in phi.cases if source == row.outside
    )
    long, short = replace(row, outside=ask), _renamed(row, ask)
    code = enough(replace(row, tag=".all"), start, SHORT)
    jump = Instruction("br", VOID, (code[-1].value,), labels=(row.header, short.header))
    led = {row.outside: ask}
    own: dict[str, Value] = {i.name: Local(f"{i.name}{END}", i.type) for i in body.instructions if i.name}
    copy = [
        replace(
            i.substitute(own).relabel({row.header: short.header, **led}), name=i.name and f"{i.name}{END}"
        )
        for i in body.instructions
    ]
    blocks: list[Block] = []
    for block in function.blocks:
        if block.name == row.outside:
            end = block.terminator.relabel({row.header: ask})
            blocks += replace(block, instructions=(*block.instructions[:-1], end)), Block(ask, (*code, jump))
        elif block.name == row.header:
            phis = [i.relabel(led) for i in block.phis]
            blocks += replace(block, instructions=(*phis, *block.body)), Block(short.header, tuple(copy))
        elif block.name == row.behind:
            behind = tuple(_joined(i, row.header, short.header, own) for i in block.instructions)
            blocks.append(replace(block, instructions=behind))
        else:
            blocks.append(block)
    return function.with_blocks(tuple(blocks)), long, short


def _renamed(row: Row, outside: str) -> Row:
    sums = tuple(f"{name}{END}" for name in row.sums)
    return replace(
        row, header=f"{row.header}{END}", outside=outside, sums=sums, counter=f"{row.counter}{END}"
    )


def _joined(i: Instruction, header: str, short: str, own: dict[str, Value]) -> Instruction:
    """A phi behind the loop, which is reached from both."""
    found = next((v for v, source in i.cases if source == header), None) if i.opcode == "phi" else None
    if found is None:
        return i
    value = own.get(found.name, found) if isinstance(found, Local) else found
    return replace(i, operands=(*i.operands, value), labels=(*i.labels, short))
