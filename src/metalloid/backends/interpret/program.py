"""Prepare a function for running: each instruction becomes a Python function of a thread.

An operand is a function of a thread too: a register looked up, or a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from metalloid.backends.interpret.atomics import ATOMIC_MAKERS
from metalloid.backends.interpret.instructions import MAKERS, Maker
from metalloid.backends.interpret.intrinsics import intrinsic, waiting
from metalloid.backends.interpret.nesting import Nesting, nesting
from metalloid.errors import DeviceError
from metalloid.ir.layout import data_layout
from metalloid.ir.module import Block, Function, Instruction, Module

Operand = Callable[[Any], Any]


class Stopped(Exception):
    """A thread did something that cannot be carried on from."""


@dataclass(frozen=True)
class Step:
    """One instruction, ready to run; or, with `wait`, one that all lanes do together."""

    instruction: Instruction
    run: Operand
    wait: str = ""  # "", "barrier" or "simd"
    operands: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class PreparedBlock:
    name: str
    phis: Mapping[str, tuple[tuple[str, Operand], ...]]  # by the block it is entered from
    steps: tuple[Step, ...]
    terminator: Instruction
    leave: Callable[[Any], str | None]


@dataclass(frozen=True)
class Code:
    """A function, ready to run."""

    entry: PreparedBlock
    blocks: Mapping[str, PreparedBlock]
    nesting: Nesting


def prepare(module: Module, function: Function) -> Code:
    maker = Maker(module, data_layout(module.datalayout))
    blocks = {b.name: _block(maker, b) for b in function.blocks}
    return Code(blocks[function.entry.name], blocks, nesting(function))


def _block(maker: Maker, block: Block) -> PreparedBlock:
    phis: dict[str, list[tuple[str, Operand]]] = {}
    for phi in block.phis:
        for source, value in {label: value for value, label in phi.cases}.items():
            phis.setdefault(source, []).append((phi.name, maker.operand(value)))
    steps = tuple(_step(maker, i) for i in block.body[:-1])
    return PreparedBlock(
        block.name,
        {source: tuple(pairs) for source, pairs in phis.items()},
        steps,
        block.terminator,
        _leave(maker, block.terminator),
    )


def _step(maker: Maker, instruction: Instruction) -> Step:
    if instruction.opcode == "call":
        kind = waiting(instruction.called)
        if kind:
            operands = tuple(maker.operand(o) for o in instruction.operands)
            return Step(instruction, lambda thread: None, kind, operands)
        return Step(instruction, intrinsic(maker, instruction))
    make = MAKERS.get(instruction.opcode) or ATOMIC_MAKERS.get(instruction.opcode)
    if make is None:
        raise DeviceError(f"[interpret] the oracle runs scalar code; it has no '{instruction.opcode}'")
    return Step(instruction, make(maker, instruction))


def _leave(maker: Maker, end: Instruction) -> Callable[[Any], str | None]:
    if end.opcode == "ret":
        return lambda thread: None
    if end.opcode == "unreachable":
        return _unreachable
    if end.opcode == "switch":
        value = maker.operand(end.operands[0])
        table = {maker.operand(case)(None): label for case, label in reversed(end.cases)}
        default = end.labels[0]
        return lambda thread: table.get(value(thread), default)
    if not end.operands:
        target = end.labels[0]
        return lambda thread: target
    condition, (then, otherwise) = maker.operand(end.operands[0]), end.labels
    return lambda thread: then if condition(thread) else otherwise


def _unreachable(thread: Any) -> str | None:
    raise Stopped("undefined behaviour: the kernel got to a place that the compiler had ruled out")
