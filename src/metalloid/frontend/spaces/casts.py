"""Generic pointers that are casts of known ones, and nothing but addresses: they are those.

LLVM leaves them in volatile accesses. Most kernels with generic pointers have only these, a few among thousands of
instructions, and need no tags: of hashcat's longest kernel, 6 accesses in 14,000 instructions.
"""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.frontend.spaces.generic import GENERIC, mentions
from metalloid.ir.module import Block, Function, Instruction
from metalloid.ir.values import Local, Value

_ADDRESS = {"load": 0, "store": 1}  # which operand it is
_FROM_NUMBERS = ("inttoptr", "addrspacecast")  # pointers that may be others, which the long way finds


def without_casts(function: Function) -> Function | None:
    """The function without generic pointers; None where some are more than casts and addresses."""
    casts = {i.name: i.operands[0] for i in function.instructions() if _is_cast(i)}
    if not all(i.name in casts or _known(i, casts) for i in function.instructions()):
        return None
    return function.with_blocks(tuple(_block(block, casts) for block in function.blocks))


def _is_cast(i: Instruction) -> bool:
    return i.opcode == "addrspacecast" and i.type == GENERIC and not mentions(i.operands[0])


def _known(i: Instruction, casts: Mapping[str, Value]) -> bool:
    """Whether all generic pointers that it has to do with are casts, as its address."""
    if i.opcode in _FROM_NUMBERS or mentions(i.type):
        return False
    at = _ADDRESS.get(i.opcode)
    return not any(
        mentions(o) and not (n == at and isinstance(o, Local) and o.name in casts)
        for n, o in enumerate(i.operands)
    )


def _block(block: Block, casts: Mapping[str, Value]) -> Block:
    return Block(block.name, tuple(i.substitute(casts) for i in block.instructions if i.name not in casts))
