"""Sums and products that make up an index which has not wrapped: LLVM is told that they have not either.

With that it takes a row's index for a counter of 64 bits; without, it adds in 32 and widens in each round, and asks
before each row whether the index goes round in it. A widening is marked by the proof (`analysis/intervals/no_wrap.py`);
what it is made of in its own block runs whenever it does. A number that is widened with its sign has not wrapped as one
with a sign; nothing is said of it as one without. A counter that is part of such an index, and is counted up in the
same round, does not wrap then either: the proof leaves room for it. Loops of one lane, which LLVM vectorises, do
without: it would take every second element of a row one by one. Nor is it told of rounds with a barrier: they fill
tiles of many rows, whose addresses it would make one from the other, the last of them late.
"""

from __future__ import annotations

from metalloid.analysis.intervals import EXACT, is_no_wrap
from metalloid.analysis.intervals.no_wrap import STEP
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.dominance import dominators
from metalloid.ir.intrinsics import Effect, effect
from metalloid.ir.loops import Loop, loops
from metalloid.ir.values import Int, Local, Value
from metalloid.records import replace

_SUMS = ("add", "mul", "shl")
_HANDED_ON = ("or", "freeze")
_SAID = {"sext": "nsw", "zext": "nuw"}


def with_exact_sums(function: Function, many: bool) -> Function:
    """`many`: of several lanes."""
    if not any(is_no_wrap(i) for i in function.instructions()):
        return function
    said: dict[str, set[str]] = {}
    counters: dict[str, set[str]] = {}  # phis, and the blocks that have them in an index
    for block in function.blocks:
        _look(function, block, said, counters)
    for name in _counted_up(function, counters) if many else ():
        said[name] = {"nsw", "nuw"}
    if not said:
        return function
    return function.with_blocks(tuple(_told(block, said) for block in function.blocks))


def _look(function: Function, block: Block, said: dict[str, set[str]], counters: dict[str, set[str]]) -> None:
    made = {i.name: i for i in block.body if i.name}
    work = [(o, _SAID[i.opcode]) for i in block.body if is_no_wrap(i) for o in i.operands]
    while work:
        value, flag = work.pop()
        if not isinstance(value, Local):
            continue
        i = made.get(value.name)
        if i is None:
            if function.definitions[value.name].opcode == "phi":
                counters.setdefault(value.name, set()).add(block.name)
        elif i.opcode in (*_SUMS, *_HANDED_ON) and flag not in said.get(i.name, ()):
            said.setdefault(i.name, set()).add(flag)
            work += [(o, flag) for o in i.operands]


def _counted_up(function: Function, counters: dict[str, set[str]]) -> list[str]:
    """What adds to such counters, where an index of the same round has been computed before."""
    forest, before = loops(function), dominators(function)
    found = []
    for name, blocks in counters.items():
        loop = forest.loops.get(function.home[name])
        loop = loop if loop is not None and not _has_barrier(function, loop) else None
        for value, _ in function.definitions[name].cases if loop is not None else ():
            i = function.definitions.get(value.name) if isinstance(value, Local) else None
            if i is None or loop is None or not _adds(i, Local(name, i.type)):
                continue
            home = function.home[i.name]
            if home in loop.blocks and any(b in loop.blocks and before.dominates(b, home) for b in blocks):
                found.append(i.name)
    return found


def _has_barrier(function: Function, loop: Loop) -> bool:
    return any(effect(i) & Effect.ORDERS for b in loop.blocks for i in function.block[b].instructions)


def _adds(i: Instruction, counter: Value) -> bool:
    if i.opcode != "add" or i.operands[0] != counter:
        return False
    step = i.operands[1]
    return isinstance(step, Int) and 0 < step.value <= STEP


def _told(block: Block, said: dict[str, set[str]]) -> Block:
    code = [
        replace(i, metadata=(*i.metadata, (EXACT, " ".join(sorted(said[i.name])))))
        if i.name in said and i.opcode in _SUMS
        else i
        for i in block.instructions
    ]
    return replace(block, instructions=tuple(code))
