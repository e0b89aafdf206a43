"""What a buffer holds where AIR cannot name it: the type that the kernel's code reads and writes there."""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.frontend.examine import provenance
from metalloid.ir.module import Function, Instruction
from metalloid.ir.types import BFLOAT, FLOAT, HALF, Type
from metalloid.types import DType, Scalar

# Integers say nothing of their sign: what they are stays open, and any array fits.
_REAL: Mapping[Type, DType] = {FLOAT: DType.FLOAT32, HALF: DType.FLOAT16, BFLOAT: DType.BFLOAT16}
Root = tuple[str, int]  # ("buffer", 2)


def element_types(function: Function) -> dict[Root, Scalar]:
    """The real type of every memory that is accessed as that one type only."""
    roots = provenance(function)
    seen: dict[Root, set[Type]] = {}
    for i in function.instructions():
        pointer, type = _access(i)
        for root in roots.get(pointer, ()):
            seen.setdefault(root, set()).add(type)
    only = {root: next(iter(types)) for root, types in seen.items() if len(types) == 1}
    return {root: Scalar(_REAL[type]) for root, type in only.items() if type in _REAL}


def _access(i: Instruction) -> tuple[str, Type]:
    """The pointer a load or store goes through, and the type of what goes; ("", ...) for anything else."""
    if i.opcode == "load":
        return getattr(i.operands[0], "name", ""), i.type
    if i.opcode == "store":
        return getattr(i.operands[1], "name", ""), i.operands[0].type
    return "", i.type
