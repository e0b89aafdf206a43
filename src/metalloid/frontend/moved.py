"""Give what the optimiser moved or made up a place in the user's text.

A load that is the same in every round of a loop is done before it, two stores become one: what comes out has no
line, or one of a header's. What a checker says about it needs one. Whoever uses what was read stands where the
load was written; a store is near what it stores; else the neighbours in the block are of the same statement, more
often than not, and what comes first in the kernel is better than nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from metalloid.ir.debug import location
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.module import Function, Instruction, Module
from metalloid.records import replace

_NEVER = frozenset(("phi", "br", "switch", "ret", "unreachable"))  # no finding speaks of these
_FAR = 8  # steps from an instruction to whoever has to do with it

Near = Callable[[Function, Instruction], Iterable[Instruction]]
Placed = Callable[[Instruction], bool]


def with_places(module: Module, name: str = ENTRY) -> Module:
    """The module with a place on everything that a finding may speak of."""
    function = module.function[name]
    placed = _known(module)
    found: dict[int, str] = {}
    for block in function.blocks:
        for n, i in enumerate(block.instructions):
            if i.opcode not in _NEVER and not placed(i):
                found[id(i)] = _debug(placed, function, i, block.instructions, n)
    if not any(found.values()):
        return module

    def mended(instruction: Instruction) -> Instruction:
        node = found.get(id(instruction), "")
        if not node:
            return instruction
        rest = tuple(m for m in instruction.metadata if m[0] != "dbg")
        return replace(instruction, metadata=(("dbg", node), *rest))

    return module.with_function(function.map_instructions(mended))


def _known(module: Module) -> Placed:
    """Whether an instruction has a place of the user's; asked once for each node."""
    nodes = {"": False}

    def placed(instruction: Instruction) -> bool:
        node = instruction.debug
        if node not in nodes:
            place = location(module, instruction)
            nodes[node] = place is not None and place.line > 0
        return nodes[node]

    return placed


def _debug(placed: Placed, function: Function, i: Instruction, around: Sequence[Instruction], at: int) -> str:
    """The nearest place, as the node that names it."""
    for chain in (_operands, _users) if i.opcode == "store" else (_users, _operands):
        if node := _along(placed, function, i, chain):
            return node
    before, after = around[:at][::-1], around[at + 1 :]
    for near in (*before, *after, *function.instructions()):
        if placed(near):
            return near.debug
    return ""


def _users(function: Function, i: Instruction) -> Iterable[Instruction]:
    return function.users.get(i.name, ()) if i.name else ()


def _operands(function: Function, i: Instruction) -> Iterable[Instruction]:
    return (function.definitions[name] for name in i.uses if name in function.definitions)


def _along(placed: Placed, function: Function, start: Instruction, chain: Near) -> str:
    """The first place on the way from an instruction to whoever uses it, or to what it uses."""
    seen, now = {id(start)}, [start]
    for _ in range(_FAR):
        now = [near for i in now for near in chain(function, i) if id(near) not in seen]
        for near in now:
            if placed(near):
                return near.debug
        seen.update(map(id, now))
    return ""
