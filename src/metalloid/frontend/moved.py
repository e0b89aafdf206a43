"""Give accesses that the optimiser moved or made up a place in the user's text.

A load that is the same in every round of a loop is done before it, two stores become one: what comes out has no
line, or one of a header's. What a checker says about it needs one. Whoever uses what was read stands where the
load was written; a store is near what it stores; else the neighbours in the block are of the same statement, more
often than not, and what comes first in the kernel is better than nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from metalloid.ir.debug import location
from metalloid.ir.module import Function, Instruction, Module

_TOLD = frozenset(("load", "store", "atomicrmw", "cmpxchg", "call", "fence"))  # what findings speak of
_FAR = 8  # steps from an access to whoever has to do with it

Near = Callable[[Function, Instruction], Iterable[Instruction]]


def with_places(module: Module, name: str = "__mt_entry") -> Module:
    """The module with a place on everything that a finding may speak of."""
    function = module.function[name]
    found: dict[int, str] = {}
    for block in function.blocks:
        for n, i in enumerate(block.instructions):
            if i.opcode in _TOLD and not _placed(module, i):
                found[id(i)] = _debug(module, function, i, block.instructions, n)
    if not any(found.values()):
        return module

    def mended(instruction: Instruction) -> Instruction:
        node = found.get(id(instruction), "")
        if not node:
            return instruction
        rest = tuple(m for m in instruction.metadata if m[0] != "dbg")
        return replace(instruction, metadata=(("dbg", node), *rest))

    return module.with_function(function.map_instructions(mended))


def _placed(module: Module, instruction: Instruction) -> bool:
    place = location(module, instruction)
    return place is not None and place.line > 0


def _debug(module: Module, function: Function, i: Instruction, around: Sequence[Instruction], at: int) -> str:
    """The nearest place, as the node that names it."""
    chains = (_users, _operands) if i.opcode == "load" else (_operands, _users)
    for chain in chains:
        if node := _along(module, function, i, chain):
            return node
    before, after = around[:at][::-1], around[at + 1 :]
    for near in (*before, *after, *function.instructions()):
        if _placed(module, near):
            return near.debug
    return ""


def _users(function: Function, i: Instruction) -> Iterable[Instruction]:
    return function.users.get(i.name, ()) if i.name else ()


def _operands(function: Function, i: Instruction) -> Iterable[Instruction]:
    return (function.definitions[name] for name in i.uses if name in function.definitions)


def _along(module: Module, function: Function, start: Instruction, chain: Near) -> str:
    """The first place on the way from an instruction to whoever uses it, or to what it uses."""
    seen, now = {id(start)}, [start]
    for _ in range(_FAR):
        now = [near for i in now for near in chain(function, i) if id(near) not in seen]
        for near in now:
            if _placed(module, near):
                return near.debug
        seen.update(map(id, now))
    return ""
