"""Count iterations where threads could stand at one barrier in different ones.

That takes a loop around the barrier which can also go round without passing any. Such a loop gets a counter, and
the barrier tells it along with its own number; everyone has to bring the same. Most barriers need none of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.loops import Loop, loops
from metalloid.ir.types import I32
from metalloid.ir.values import Int, Value

_FACTOR = 0x9E3779B1  # counters of nested loops become one number


def count_iterations(function: Function, stops: Mapping[str, int]) -> tuple[Function, dict[str, Value]]:
    """The function with its counters, and for blocks that end at a barrier the value to tell, where there is one."""
    forest = loops(function)
    counted = [loop for loop in forest.loops.values() if _iteration_without_barrier(function, loop, stops)]
    if not counted:
        return function, {}
    counters = {loop.header: f"mt.round{n}" for n, loop in enumerate(counted)}
    told: dict[str, Value] = {}
    blocks: list[Block] = []
    for block in function.blocks:
        phis, body = list(block.phis), list(block.body)
        if block.name in counters:
            phi, step = _counter(function, forest.loops[block.name], counters[block.name])
            phis.append(phi)
            body.insert(0, step)
        if block.name in stops:
            around = [counters[h] for h in forest.nest(block.name) if h in counters]
            if around:
                made = _combined(around, block.name)
                told[block.name] = made[-1].value
                body[-1:-1] = made
        blocks.append(Block(block.name, (*phis, *body)))
    return function.with_blocks(tuple(blocks)), told


def _iteration_without_barrier(function: Function, loop: Loop, stops: Mapping[str, int]) -> bool:
    if not any(name in stops for name in loop.blocks):
        return False
    seen, work = {loop.header}, [loop.header]
    while work:
        name = work.pop()
        if name in stops:
            continue
        for target in function.block[name].successors:
            if target == loop.header:
                return True
            if target in loop.blocks and target not in seen:
                seen.add(target)
                work.append(target)
    return False


def _counter(function: Function, loop: Loop, name: str) -> tuple[Instruction, Instruction]:
    sources = [b.name for b in function.blocks if loop.header in b.successors]
    step = Instruction("add", I32, (Instruction("phi", I32, name=name).value, Int(I32, 1)), f"{name}.next")
    values = tuple(step.value if source in loop.blocks else Int(I32, 0) for source in sources)
    return Instruction("phi", I32, values, name, labels=tuple(sources)), step


def _combined(counters: list[str], where: str) -> list[Instruction]:
    """Code for one number out of several counters."""
    values = [Instruction("phi", I32, name=name).value for name in counters]
    made = [Instruction("freeze", I32, (values[0],), f"{where}.round0")]
    for n, value in enumerate(values[1:], 1):
        made.append(Instruction("mul", I32, (made[-1].value, Int(I32, _FACTOR)), f"{where}.times{n}"))
        made.append(Instruction("add", I32, (made[-1].value, value), f"{where}.round{n}"))
    return made
