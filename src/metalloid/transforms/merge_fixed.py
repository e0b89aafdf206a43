"""Loads of a number that does not change, once: the length of a row that a loop asks for again after each store.

What a kernel stores may be anywhere, as far as clang knows, also where its parameters lie: so they are read in every
round, and the loop's counter and addresses hang on what is read. Where the launch has a copy of its own, the first load
that all others come after is enough. Where both sides of a branch load it, it is loaded before the branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from metalloid.analysis.divergence import Flow
from metalloid.analysis.intervals import EARLY
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.gep import constant_base
from metalloid.ir.intrinsics import BUFFER
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import I8, I64
from metalloid.ir.values import Int, Local, Value
from metalloid.records import replace


def merge_fixed(function: Function, layout: DataLayout, fixed: Callable[[Instruction], bool]) -> Function:
    """The function with one load for each number; `fixed` says which loads are of such."""
    loads: dict[object, list[Instruction]] = {}
    for i in function.instructions():
        if i.opcode == "load" and not i.ordering and "volatile" not in i.flags and fixed(i):
            loads.setdefault(_place(function, i, layout), []).append(i)
    if all(len(same) < 2 for same in loads.values()):
        return function
    flow = _before_they_part(Flow(function), list(loads.values()), layout)
    instead: dict[str, Value] = {}
    for same in loads.values():
        for first, others in _stands_for(flow, same):
            instead |= dict.fromkeys(others, first.value)
    _join_phis(flow, instead)
    return flow.function.with_blocks(tuple(_without(block, instead) for block in flow.function.blocks))


def _stands_for(flow: Flow, same: list[Instruction]) -> list[tuple[Instruction, list[str]]]:
    """Of loads of one number those that are needed, and which others each stands for."""
    found: list[tuple[Instruction, list[str]]] = []
    for i in sorted(same, key=lambda i: flow.place.get(flow.function.home[i.name], 0)):
        others = next((names for first, names in found if _may_stand_for(flow, first.name, i.name)), None)
        if others is None:
            found.append((i, []))
        else:
            others.append(i.name)
    return found


def _before_they_part(flow: Flow, loads: list[list[Instruction]], layout: DataLayout) -> Flow:
    """With one load before the branch whose sides each have one: of a place in a buffer, which is inside wherever."""
    function, moved = flow.function, dict[str, list[Instruction]]()
    for same in loads:
        base, offset = constant_base(function, same[0].operands[0], layout)
        needed = [i for i, _ in _stands_for(flow, same) if function.home[i.name] in flow.dominators.immediate]
        if len(needed) < 2 or not isinstance(base, Local) or function.definitions[base.name].called != BUFFER:
            continue
        above = _above(flow, [function.home[i.name] for i in needed])
        if not flow.dominators.dominates(function.home[base.name], above):
            continue
        first = needed[0]
        place = Instruction(
            "getelementptr", base.type, (base, Int(I64, offset)), f"{first.name}.place", element=I8
        )
        said = tuple(m for m in first.metadata if m[0] != EARLY)
        moved.setdefault(above, []).extend((place, replace(first, operands=(place.value,), metadata=said)))
    if not moved:
        return flow
    names = {i.name for code in moved.values() for i in code}
    blocks = []
    for block in function.blocks:
        code = [i for i in block.instructions[:-1] if i.name not in names]
        instructions = (*code, *moved.get(block.name, ()), block.terminator)
        blocks.append(replace(block, instructions=instructions))
    return Flow(function.with_blocks(tuple(blocks)))


def _above(flow: Flow, blocks: Sequence[str]) -> str:
    """The nearest block that all come after, in no loop that not all are in."""
    block = reduce(flow.dominators.nearest, blocks)
    while (loop := flow.forest.innermost.get(block)) is not None and not loop.blocks.issuperset(blocks):
        block = flow.dominators.immediate[loop.header]
    return block


def _place(function: Function, i: Instruction, layout: DataLayout) -> object:
    base, offset = constant_base(function, i.operands[0], layout)
    if isinstance(base, Local):
        made = function.definitions[base.name]
        if made.called == BUFFER:
            return made.operands, offset, i.type
    return base, offset, i.type


def _may_stand_for(flow: Flow, first: str, second: str) -> bool:
    """Whether a value is there wherever another is, and in all loops that it is in: what leaves a loop does so by a
    phi."""
    home = flow.function.home
    above, below = home[first], home[second]
    if above == below or not flow.dominators.dominates(above, below):
        return above == below
    loop = flow.forest.innermost.get(above)
    return loop is None or below in loop.blocks


def _join_phis(flow: Flow, instead: dict[str, Value]) -> None:
    """Phis of one such number are that number."""
    named = set(instead.values())
    again = True
    while again:
        again = False
        for phi in (p for block in flow.function.blocks for p in block.phis if p.name not in instead):
            given = {_now(value, instead) for value, _ in phi.cases} - {phi.value}
            if len(given) != 1 or not given <= named:
                continue
            value = given.pop()
            home = flow.function.home
            if not isinstance(value, Local) or home[value.name] == home[phi.name]:
                continue
            if _may_stand_for(flow, value.name, phi.name):
                instead[phi.name] = value
                again = True


def _now(value: Value, instead: dict[str, Value]) -> Value:
    return instead.get(value.name, value) if isinstance(value, Local) else value


def _without(block: Block, instead: dict[str, Value]) -> Block:
    code = [i for i in block.instructions if i.name not in instead]
    return replace(
        block,
        instructions=tuple(i.substitute(instead) if instead.keys() & i.uses else i for i in code),
    )
