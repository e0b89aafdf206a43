"""Sums and products that make up an index which has not wrapped: LLVM is told that they have not either.

With that it takes a row's index for a counter of 64 bits; without, it adds in 32 and widens in each round, and asks
before each row whether the index goes round in it. A widening is marked by the proof (`analysis/intervals/no_wrap.py`);
what it is made of in its own block runs whenever it does.
"""

from __future__ import annotations

from metalloid.analysis.intervals import EXACT, is_no_wrap
from metalloid.ir import Block, Function
from metalloid.ir.values import Local, Value
from metalloid.records import replace

_SUMS = ("add", "mul", "shl")
_HANDED_ON = ("or", "freeze")


def with_exact_sums(function: Function) -> Function:
    return function.with_blocks(tuple(_with_exact_sums(function, block) for block in function.blocks))


def _with_exact_sums(function: Function, block: Block) -> Block:
    made = {i.name: i for i in block.body if i.name}
    exact: set[str] = set()
    work: list[Value] = [o for i in block.body if is_no_wrap(i) for o in i.operands]
    while work:
        value = work.pop()
        i = made.get(value.name) if isinstance(value, Local) else None
        if i is None or i.name in exact or i.opcode not in (*_SUMS, *_HANDED_ON):
            continue
        exact.add(i.name)
        work += i.operands
    if not exact:
        return block
    said = ((EXACT, "!{}"),)
    code = [
        replace(i, metadata=(*i.metadata, *said)) if i.name in exact and i.opcode in _SUMS else i
        for i in block.instructions
    ]
    return replace(block, instructions=tuple(code))
