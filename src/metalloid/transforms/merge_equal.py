"""Addresses and casts that a block makes twice, once:  two zext of one index,  two a[x] of one pointer.

Clang's last passes write the address of each element of a row for itself. Loads are read together where they start
from one base (`common_gep_base.py`), and so they do not look as if they did.
"""

from __future__ import annotations

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.values import Local, Value
from metalloid.records import replace

_MERGED = frozenset("getelementptr zext sext trunc add sub mul shl lshr ashr and or xor".split())


def merge_equal(function: Function) -> Function:
    """The function, with each such value of a block made where it is made first."""
    same: dict[str, Value] = {}
    blocks = [_merged(block, same) for block in function.blocks]
    if not same:
        return function
    return function.with_blocks(
        tuple(
            replace(
                b,
                instructions=tuple(i.substitute(same) if same.keys() & i.uses else i for i in b.instructions),
            )
            for b in blocks
        )
    )


def _merged(block: Block, same: dict[str, Value]) -> Block:
    """The block without those that are made a second time; `same` has what is read instead."""
    made: dict[object, int] = {}
    code: list[Instruction] = []
    for i in block.instructions:
        if i.opcode not in _MERGED:
            code.append(i)
            continue
        operands = tuple(same.get(o.name, o) if isinstance(o, Local) else o for o in i.operands)
        key = i.opcode, i.type, i.element, operands
        at = made.setdefault(key, len(code))
        if at == len(code):
            code.append(i)
            continue
        first = code[at]
        same[i.name] = first.value
        if first.flags != i.flags:  # a promise that only one of them makes
            code[at] = replace(first, flags=tuple(f for f in first.flags if f in i.flags))
    return replace(block, instructions=tuple(code)) if len(code) < len(block.instructions) else block
