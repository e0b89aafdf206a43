"""Give accesses that the optimiser moved the place of whoever uses what they read.

A load that is the same in every round of a loop is done before it, and loses its line there. What a checker
says about it needs one: the first user of the value stands where the load was written.
"""

from __future__ import annotations

from dataclasses import replace

from metalloid.ir.debug import location
from metalloid.ir.module import Function, Instruction, Module

_FAR = 8  # steps from a load to a user with a place


def with_places(module: Module, name: str = "__mt_entry") -> Module:
    """The module with a place on every load that has a use in the user's text."""
    function = module.function[name]
    lost = [i for i in function.instructions() if i.opcode == "load" and not _placed(module, i)]
    found = {i.name: node for i in lost if (node := _from_users(module, function, i))}
    if not found:
        return module

    def mended(instruction: Instruction) -> Instruction:
        if instruction.name not in found:
            return instruction
        rest = tuple(m for m in instruction.metadata if m[0] != "dbg")
        return replace(instruction, metadata=(("dbg", found[instruction.name]), *rest))

    return module.with_function(function.map_instructions(mended))


def _placed(module: Module, instruction: Instruction) -> bool:
    place = location(module, instruction)
    return place is not None and place.line > 0


def _from_users(module: Module, function: Function, load: Instruction) -> str:
    seen, now = {load.name}, [load.name]
    for _ in range(_FAR):
        users = [user for name in now for user in function.users.get(name, ())]
        for user in users:
            if _placed(module, user):
                return user.debug
        now = [user.name for user in users if user.name and user.name not in seen]
        seen.update(now)
    return ""
