"""Sums and products that make up an index which has not wrapped: LLVM is told that they have not either.

With that it takes a row's index for a counter of 64 bits; without, it adds in 32 and widens in each round, and asks
before each row whether the index goes round in it. A widening is marked by the proof (`analysis/intervals/no_wrap.py`);
what it is made of in its own block runs whenever it does. A number that is widened with its sign has not wrapped as one
with a sign; nothing is said of it as one without.
"""

from __future__ import annotations

from metalloid.analysis.intervals import EXACT, is_no_wrap
from metalloid.ir import Block, Function
from metalloid.ir.values import Local
from metalloid.records import replace

_SUMS = ("add", "mul", "shl")
_HANDED_ON = ("or", "freeze")
_SAID = {"sext": "nsw", "zext": "nuw"}


def with_exact_sums(function: Function) -> Function:
    return function.with_blocks(tuple(_with_exact_sums(function, block) for block in function.blocks))


def _with_exact_sums(function: Function, block: Block) -> Block:
    made = {i.name: i for i in block.body if i.name}
    said: dict[str, set[str]] = {}
    work = [(o, _SAID[i.opcode]) for i in block.body if is_no_wrap(i) for o in i.operands]
    while work:
        value, flag = work.pop()
        i = made.get(value.name) if isinstance(value, Local) else None
        if i is None or flag in said.get(i.name, ()) or i.opcode not in (*_SUMS, *_HANDED_ON):
            continue
        said.setdefault(i.name, set()).add(flag)
        work += [(o, flag) for o in i.operands]
    if not said:
        return block
    code = [
        replace(i, metadata=(*i.metadata, (EXACT, " ".join(sorted(said[i.name])))))
        if i.name in said and i.opcode in _SUMS
        else i
        for i in block.instructions
    ]
    return replace(block, instructions=tuple(code))
