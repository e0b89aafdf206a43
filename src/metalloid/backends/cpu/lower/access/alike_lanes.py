"""n instructions that do the same, as one of many lanes."""

from __future__ import annotations

from collections.abc import Callable

from metalloid.backends.cpu.lower.emitter import RESULT, Emitter, Val
from metalloid.backends.cpu.lower.instructions import instruction
from metalloid.ir import Instruction
from metalloid.ir.values import Local, Value
from metalloid.records import replace


def as_lanes(
    e: Emitter, made: list[Instruction], width: int, operand: Callable[[tuple[Value, ...]], Val]
) -> str:
    """Their results as a vector of so many lanes; `operand` gives what the n have as one of their operands."""
    values: dict[str, Val] = {}
    operands: list[Value] = []
    for n, given in enumerate(zip(*(i.operands for i in made), strict=True)):
        if all(v == given[0] for v in given) and not isinstance(given[0], Local):
            operands.append(given[0])
            continue
        values[f"#{n}"] = operand(given)
        operands.append(Local(f"#{n}", given[0].type))
    kept = e.width, e.values, e.built, e.mask
    e.width, e.values, e.built, e.mask = width, values, {}, None
    one = replace(made[0], operands=tuple(operands), name=RESULT)
    instruction(e, one)
    result = e.vector(one.value)
    e.width, e.values, e.built, e.mask = kept
    return result
