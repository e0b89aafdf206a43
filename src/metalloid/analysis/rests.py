"""Rests of divisions: `x - x / n * n`, as the optimiser writes `x % n` where `x / n` is needed as well."""

from __future__ import annotations

from metalloid.ir import Function, Instruction
from metalloid.ir.values import Local, Value


def rest_of(function: Function, i: Instruction) -> Instruction | None:
    """The division whose rest a difference is."""
    if i.opcode != "sub" or (product := _made(function, i.operands[1])) is None or product.opcode != "mul":
        return None
    a, b = product.operands
    for quotient, divisor in ((a, b), (b, a)):
        made = _made(function, quotient)
        if made is None or made.opcode not in ("udiv", "sdiv"):
            continue
        if made.operands == (i.operands[0], divisor):
            return made
    return None


def _made(function: Function, value: Value) -> Instruction | None:
    return function.definitions[value.name] if isinstance(value, Local) else None
