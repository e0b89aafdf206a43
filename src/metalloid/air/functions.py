"""One function of AIR as code of scalars, in the engine's address spaces."""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.air import shapes
from metalloid.air.lowering import Lowering, lane
from metalloid.air.memory import MEMORY
from metalloid.air.refused import Refused
from metalloid.air.scalars import TABLE
from metalloid.ir.module import Block, Function, Module, Parameter
from metalloid.ir.values import Local, Value

_HANDLERS = {**TABLE, **MEMORY}
_KEPT = ("dbg", "llvm.loop")


def lower_function(module: Module, function: Function) -> tuple[Function, Lowering]:
    """The function in scalars, and what it calls."""
    work = Lowering(module, function)
    blocks: list[Block] = []
    for block in function.blocks:
        for i in block.instructions:
            if i.opcode not in _HANDLERS:
                raise Refused(f"the instruction '{i.opcode}' is not supported")
            work.metadata = tuple(m for m in i.metadata if m[0] in _KEPT)
            _HANDLERS[i.opcode](work, i)
        blocks.append(Block(block.name, tuple(work.code)))
        work.code.clear()
    settled = _settled(work.stands_for)
    done = tuple(Block(b.name, tuple(i.substitute(settled) for i in b.instructions)) for b in blocks)
    parameters = tuple(made for p in function.parameters for made in _expanded(p))
    return (
        Function(function.name, shapes.inside(function.result), parameters, done, metadata=function.metadata),
        work,
    )


def _expanded(parameter: Parameter) -> tuple[Parameter, ...]:
    """A parameter as scalars."""
    type = shapes.value(parameter.type)
    count = shapes.lanes(parameter.type)
    return tuple(Parameter(lane(parameter.name, k), type) for k in range(count)) or (
        Parameter(parameter.name, type),
    )


def _settled(stands_for: Mapping[str, Value]) -> dict[str, Value]:
    """Each name with the value at the end of its chain."""
    found: dict[str, Value] = {}
    for name in stands_for:
        value: Value = stands_for[name]
        seen = {name}
        while isinstance(value, Local) and value.name in stands_for and value.name not in seen:
            seen.add(value.name)
            value = stands_for[value.name]
        found[name] = value
    return found
