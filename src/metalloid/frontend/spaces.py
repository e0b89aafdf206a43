"""Take generic pointers out of a module where their address space is known after all.

LLVM resolves every pointer but those of volatile accesses, which it leaves alone by principle.
"""

from __future__ import annotations

from dataclasses import replace

from metalloid.ir.module import Function, Instruction, Module
from metalloid.ir.types import PointerType
from metalloid.ir.values import Local, Value

ENTRY = "__mt_entry"


def resolve_spaces(module: Module) -> Module:
    """The module with casts to generic pointers undone where all users can take the real one."""
    function = module.function[ENTRY]
    if not any(i.opcode == "addrspacecast" for i in function.instructions()):
        return module
    return module.with_function(_resolve(function))


def _resolve(function: Function) -> Function:
    real: dict[str, Value] = {}
    changed = True
    while changed:
        changed = False
        for instruction in function.instructions():
            if instruction.name not in real and (value := _real(instruction, real)) is not None:
                real[instruction.name] = value
                changed = True
    resolved = function.map_instructions(lambda i: _retyped(i, real))
    return resolved.with_blocks(
        tuple(
            replace(b, instructions=tuple(i for i in b.instructions if not _undone(i, real)))
            for b in resolved.blocks
        )
    )


def _real(instruction: Instruction, real: dict[str, Value]) -> Value | None:
    """The value that stands for a generic pointer in its own space."""
    if instruction.type != PointerType(0):
        return None
    if instruction.opcode == "addrspacecast":
        return instruction.operands[0]
    if instruction.opcode in ("getelementptr", "freeze"):
        base = instruction.operands[0]
        known = real.get(base.name) if isinstance(base, Local) else None
        return Local(instruction.name, known.type) if known is not None else None
    return None


def _undone(instruction: Instruction, real: dict[str, Value]) -> bool:
    return instruction.opcode == "addrspacecast" and instruction.name in real


def _retyped(instruction: Instruction, real: dict[str, Value]) -> Instruction:
    if _undone(instruction, real):
        return instruction
    changed = instruction.substitute(real)
    if instruction.name in real:
        changed = replace(changed, type=real[instruction.name].type)
    return changed
