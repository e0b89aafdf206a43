"""A load or a store through a pointer that a condition chooses becomes two, one of which runs.

`c[i] ? a[i] : b[i]` is one load for clang, of a + i or b + i. Nobody knows then what memory it is from: its bounds are
looked for in all of them, and its lanes lie anywhere. Each from its own, under the condition and its opposite, they are
two plain vectors. So are both sides of `if (c[i]) a[i] = x; else b[i] = x;`, which clang joins in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.types import VOID, PointerType
from metalloid.ir.values import Local, Value
from metalloid.records import replace

MOST = 8  # accesses of a kernel that become two
_POINTER = {"load": 0, "store": 1}  # the operand
_SPACES = (1, 2)  # device, constant


def split_choices(function: Function) -> Function:
    """The function with such accesses written as branches; the function itself where it has none."""
    if not any(i.opcode == "select" and isinstance(i.type, PointerType) for i in function.instructions()):
        return function
    whole: dict[str, str] = {}  # of which block others are parts
    for _ in range(MOST):
        found = next(
            ((b, i, c) for b in function.blocks for i in b.body if (c := _chosen(function, b, i, whole))),
            None,
        )
        if found is None:
            break
        block, access, chain = found
        made = _made(block, access, chain)
        whole |= {b.name: whole.get(block.name, block.name) for b in made[1:]}
        function = _with(function, block, made)
    return function


def _chosen(
    function: Function, block: Block, access: Instruction, whole: Mapping[str, str]
) -> list[Instruction]:
    """The select that an address comes from and the steps from it, in the block of the access as it was first; empty
    where there is none, or where it chooses between places of one memory."""
    chain: list[Instruction] = []
    if access.opcode not in _POINTER or access.ordering or access.flags:
        return []
    at: Value = access.operands[_POINTER[access.opcode]]
    here = whole.get(block.name, block.name)
    while (
        isinstance(at, Local) and (home := function.home.get(at.name, "")) and whole.get(home, home) == here
    ):
        i = function.definitions[at.name]
        chain.insert(0, i)
        if i.opcode == "select":
            known = isinstance(i.type, PointerType) and i.type.space in _SPACES
            apart = _base(function, i.operands[1]) != _base(function, i.operands[2])
            return chain if known and apart else []
        if i.opcode != "getelementptr":
            return []
        at = i.operands[0]
    return []


def _base(function: Function, pointer: Value) -> Value:
    while isinstance(pointer, Local) and (i := function.definitions.get(pointer.name)) is not None:
        if i.opcode != "getelementptr":
            return pointer
        pointer = i.operands[0]
    return pointer


def _made(block: Block, access: Instruction, chain: list[Instruction]) -> list[Block]:
    """A block with one of its accesses as two: it, both sides and what is behind."""
    select, *steps = chain
    at = block.instructions.index(access)
    yes, no, behind = (f"{block.name}.{at}.{what}" for what in ("yes", "no", "behind"))
    sides = [
        _side(name, behind, select, steps, access, value)
        for name, value in zip((yes, no), select.operands[1:], strict=True)
    ]
    debug = access.debug_only
    jump = Instruction("br", VOID, (select.operands[0],), labels=(yes, no), metadata=debug)
    phis: list[Instruction] = []
    if access.name:
        values = tuple(side.instructions[-2].value for side in sides)
        phis = [Instruction("phi", access.type, values, access.name, labels=(yes, no), metadata=debug)]
    return [
        Block(block.name, (*block.instructions[:at], jump)),
        *sides,
        Block(behind, (*phis, *block.instructions[at + 1 :])),
    ]


def _with(function: Function, block: Block, made: list[Block]) -> Function:
    """The function with parts in the place of a block."""
    behind = made[-1].name
    after = set(block.terminator.labels)
    blocks: list[Block] = []
    for other in function.blocks:
        new = made if other is block else [other]
        blocks += [_from(b, block.name, behind) if other.name in after and b is new[0] else b for b in new]
    return function.with_blocks(tuple(blocks))


def _side(
    name: str, behind: str, select: Instruction, steps: list[Instruction], access: Instruction, pointer: Value
) -> Block:
    """The access to one of the two."""
    values: dict[str, Value] = {select.name: pointer}
    code: list[Instruction] = []
    for i in (*steps, access):
        code.append(replace(i.substitute(values), name=i.name and f"{i.name}.{name}"))
        values[i.name] = code[-1].value
    return Block(name, (*code, Instruction("br", VOID, labels=(behind,), metadata=access.debug_only)))


def _from(block: Block, old: str, new: str) -> Block:
    """A block whose phis hear from another one."""
    return replace(
        block,
        instructions=tuple(
            replace(i, labels=tuple(new if label == old else label for label in i.labels))
            if i.opcode == "phi"
            else i
            for i in block.instructions
        ),
    )
