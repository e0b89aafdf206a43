"""Flags made of flags: what an `and`, an `or` or a select of them stands for, and whether one is a constant."""

from __future__ import annotations

from metalloid.ir.module import Instruction
from metalloid.ir.types import I1
from metalloid.ir.values import Int, Named, Value


def truth(value: Value) -> bool | None:
    """The flag that a constant is; None for anything else."""
    if isinstance(value, Int):
        return bool(value.value)
    if isinstance(value, Named) and value.word in ("true", "false"):
        return value.word == "true"
    return None


def logic(i: Instruction) -> tuple[bool, tuple[Value, Value]] | None:
    """The sides of an `and` (True) or an `or` (False) of flags; `a ? b : false` is an `and`, `a ? true : b` an `or`."""
    if i.type != I1:
        return None
    if i.opcode in ("and", "or"):
        return i.opcode == "and", (i.operands[0], i.operands[1])
    if i.opcode == "select":
        condition, yes, no = i.operands
        if truth(no) is False:
            return True, (condition, yes)
        if truth(yes) is True:
            return False, (condition, no)
    return None
