"""Results of several parts, such as the two elements of a matrix product, are taken apart where they are made.

Only the parts live on then: they cross barriers, and go through phis, like any other value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.types import ArrayType, StructType
from metalloid.ir.values import Local, Named, Value


def take_apart(function: Function) -> Function:
    """Results of several parts are taken apart where they are made: only the parts live on, and cross barriers."""
    function = _phis_of_parts(function)
    parts: dict[str, dict[tuple[int, ...], Instruction]] = {}
    names: dict[str, Value] = {}
    for i in function.instructions():
        if i.opcode == "extractvalue" and isinstance(i.operands[0], Local):
            of = parts.setdefault(i.operands[0].name, {})
            first = of.setdefault(i.indices, i)
            names[i.name] = first.value
    if not parts:
        return function

    def behind(name: str) -> Iterator[Instruction]:
        for part in parts.get(name, {}).values():
            yield part.substitute(names)
            yield from behind(part.name)

    blocks = []
    for block in function.blocks:
        phis: list[Instruction] = []
        after: list[Instruction] = []  # parts of phis, which come first
        for i in block.phis:
            phis.append(i.substitute(names))
            after += behind(i.name)
        code: list[Instruction] = []
        for i in block.body:
            if i.name not in names:
                code.append(i.substitute(names))
                code += behind(i.name)
        blocks.append(Block(block.name, (*phis, *after, *code)))
    return function.with_blocks(tuple(blocks))


def _phis_of_parts(function: Function) -> Function:
    """Phis of whole results become phis of those parts that are used."""
    while True:
        wholes = {
            i.name: i
            for i in function.instructions()
            if i.opcode == "phi" and isinstance(i.type, ArrayType | StructType) and _parted(function, i)
        }
        if not wholes:
            return function
        one = next(iter(wholes.values()))
        function = _with_part_phis(function, one)


def _parted(function: Function, phi: Instruction) -> bool:
    """Whether parts are all that is used of it, and what comes in can be taken apart as well."""
    users = function.users.get(phi.name, ())
    known = all(isinstance(v, Local) or (isinstance(v, Named) and v.word in _WORDS) for v in phi.operands)
    return known and all(u.opcode == "extractvalue" and len(u.indices) == 1 for u in users)


_WORDS = ("undef", "poison", "zeroinitializer")


def _with_part_phis(function: Function, phi: Instruction) -> Function:
    parts: dict[int, Instruction] = {}  # a part of what comes in -> the phi of them
    taken: dict[str, list[Instruction]] = {}
    names: dict[str, Value] = {}
    for user in function.users.get(phi.name, ()):
        n = user.indices[0]
        if n not in parts:
            operands: list[Value] = []
            for value in phi.operands:
                if isinstance(value, Local):
                    part = replace(user, operands=(value,), name=f"{phi.name}.{n}.of.{value.name}")
                    if all(part.name != t.name for t in taken.get(value.name, ())):
                        taken.setdefault(value.name, []).append(part)
                    operands.append(part.value)
                else:
                    assert isinstance(value, Named)
                    operands.append(Named(user.type, value.word))
            parts[n] = replace(phi, type=user.type, operands=tuple(operands), name=f"{phi.name}.{n}")
        names[user.name] = parts[n].value
    blocks = []
    for block in function.blocks:
        phis: list[Instruction] = []
        code: list[Instruction] = []
        for i in block.instructions:
            if i.name == phi.name:
                phis += parts.values()
            elif i.name not in names:
                (phis if i.opcode == "phi" else code).append(i.substitute(names))
            if i.opcode == "phi":
                code[:0] = taken.get(i.name, ())
            else:
                code += taken.get(i.name, ())
        blocks.append(Block(block.name, (*phis, *code)))
    return function.with_blocks(tuple(blocks))
