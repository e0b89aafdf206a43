"""Take the guards of divisions out again where the divisor is known only when the kernel runs.

`operators.h` keeps LLVM from reasoning that no divisor is zero: `b == 0 ? 0 : a / (b == 0 ? 1 : b)`. LLVM writes the
inner choice as the larger of b and 1. A division in this IR is 0 where its divisor is (docs/design/intrinsics.md), so
once LLVM is done the guards say nothing that `a / b` does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from metalloid.frontend.spaces import ENTRY
from metalloid.ir.module import Function, Instruction, Module
from metalloid.ir.values import Int, Local, Named, Value

_DIVISIONS = frozenset(("udiv", "sdiv", "urem", "srem"))


def plain_divisions(module: Module) -> Module:
    """The module with `a / b` for every guarded division that is still to be seen as one."""
    function = module.function[ENTRY]
    if not any(i.opcode in _DIVISIONS for i in function.instructions()):
        return module
    found: dict[str, Instruction] = {}  # by the name of the outer choice
    for i in function.instructions():
        if i.opcode == "select" and (division := _guarded(i, function)):
            found[i.name] = division
    if not found:
        return module
    changed = function.map_instructions(lambda i: found.get(i.name, i) if i.name else i)
    return module.with_function(_without_unused(changed))


def _guarded(choice: Instruction, function: Function) -> Instruction | None:
    """`a / b`, under the name of the choice that guards it."""
    made = function.definitions
    condition, first, second = choice.operands
    test = _made(condition, made)
    if test is None or test.opcode != "icmp" or test.predicate not in ("eq", "ne"):
        return None
    divisor, zero = test.operands
    if test.predicate == "ne":
        first, second = second, first
    division = _made(second, made)
    if not (_is(zero, 0) and _is(first, 0) and division and division.opcode in _DIVISIONS):
        return None
    if len(function.users[division.name]) > 1 or not _is_guard(division.operands[1], divisor, made):
        return None  # a remainder made of this quotient needs the guard
    return replace(division, name=choice.name, operands=(division.operands[0], divisor), flags=())


def _is_guard(value: Value, divisor: Value, made: Mapping[str, Instruction]) -> bool:
    """`max(b, 1)`, or `b == 0 ? 1 : b`."""
    guard = _made(value, made)
    if guard is None:
        return False
    if guard.called.startswith("llvm.umax."):
        return guard.operands[0] == divisor and _is(guard.operands[1], 1)
    if guard.opcode != "select":
        return False
    test = _made(guard.operands[0], made)
    if test is None or test.opcode != "icmp" or test.predicate not in ("eq", "ne"):
        return False
    zero, other = guard.operands[1:] if test.predicate == "eq" else guard.operands[:0:-1]
    return test.operands[0] == divisor and _is(test.operands[1], 0) and _is(zero, 1) and other == divisor


def _without_unused(function: Function) -> Function:
    """Less the tests, guards and divisions that nothing reads any more."""
    while True:
        users = function.users
        gone = {i.name for i in function.instructions() if _pure(i) and i.name not in users}
        if not gone:
            return function
        function = function.with_blocks(
            tuple(
                replace(b, instructions=tuple(i for i in b.instructions if i.name not in gone))
                for b in function.blocks
            )
        )


def _pure(instruction: Instruction) -> bool:
    opcodes = instruction.opcode in _DIVISIONS or instruction.opcode in ("select", "icmp")
    return bool(instruction.name) and (opcodes or instruction.called.startswith("llvm.umax."))


def _made(value: Value, made: Mapping[str, Instruction]) -> Instruction | None:
    return made.get(value.name) if isinstance(value, Local) else None


def _is(value: Value, number: int) -> bool:
    if isinstance(value, Named):
        return number == 0 and value.word == "zeroinitializer"
    return isinstance(value, Int) and value.value == number
