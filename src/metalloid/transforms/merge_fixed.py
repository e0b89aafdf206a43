"""Loads of a number that does not change, once: the length of a row that a loop asks for again after each store.

What a kernel stores may be anywhere, as far as clang knows, also where its parameters lie: so they are read in every
round, and the loop's counter and addresses hang on what is read. Where the launch has a copy of its own, the first load
that all others come after is enough.
"""

from __future__ import annotations

from collections.abc import Callable

from metalloid.analysis.divergence import Flow
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.gep import constant_base
from metalloid.ir.intrinsics import BUFFER
from metalloid.ir.layout import DataLayout
from metalloid.ir.values import Local, Value
from metalloid.records import replace


def merge_fixed(function: Function, layout: DataLayout, fixed: Callable[[Instruction], bool]) -> Function:
    """The function with one load for each number; `fixed` says which loads are of such."""
    loads: dict[object, list[Instruction]] = {}
    for i in function.instructions():
        if i.opcode == "load" and not i.ordering and "volatile" not in i.flags and fixed(i):
            loads.setdefault(_place(function, i, layout), []).append(i)
    if all(len(same) < 2 for same in loads.values()):
        return function
    flow = Flow(function)
    instead: dict[str, Value] = {}
    for same in loads.values():
        ready: list[Instruction] = []
        for i in sorted(same, key=lambda i: flow.place.get(function.home[i.name], 0)):
            first = next((r for r in ready if _may_stand_for(flow, r.name, i.name)), None)
            if first is None:
                ready.append(i)
            else:
                instead[i.name] = first.value
    _join_phis(flow, instead)
    return function.with_blocks(tuple(_without(block, instead) for block in function.blocks))


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
