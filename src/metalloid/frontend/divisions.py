"""Take the guards of divisions out again where the divisor is known only when the kernel runs.

`operators.h` keeps LLVM from reasoning that no divisor is 0 or -1: `special(b) ? a * b : a / (special(b) ? 1 : b)`.
LLVM writes the inner choice of unsigned numbers as the larger of b and 1. A division in this IR is what the guards
make of it (docs/design/intrinsics.md), so once LLVM is done they say nothing that `a / b` does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from metalloid.frontend.spaces import ENTRY
from metalloid.ir.module import Function, Instruction, Module
from metalloid.ir.values import Int, Local, Value

_QUOTIENTS = frozenset(("udiv", "sdiv"))
_REMAINDERS = frozenset(("urem", "srem"))
Made = Mapping[str, Instruction]
Special = tuple[Value, bool]  # a divisor, and whether -1 is kept from it as well as 0


def plain_divisions(module: Module) -> Module:
    """The module with `a / b` for every guarded division that is still to be seen as one."""
    function = module.function[ENTRY]
    found: dict[str, Instruction] = {}  # by the name of what gives the result
    for i in function.instructions():
        if i.opcode in _REMAINDERS and (guarded := _guarded(i, function.definitions)):
            found[i.name] = replace(i, operands=(i.operands[0], guarded[0]))
        elif i.opcode == "select" and (division := _chosen(i, function)):
            found[i.name] = division
    if not found:
        return module
    changed = function.map_instructions(lambda i: found.get(i.name, i) if i.name else i)
    return module.with_function(_without_unused(changed))


def _chosen(choice: Instruction, function: Function) -> Instruction | None:
    """`a / b`, under the name of the choice between it and what it is for a special b."""
    made = function.definitions
    condition, other, plain = choice.operands
    division = _made(plain, made)
    if division is None or division.opcode not in _QUOTIENTS or len(function.users[division.name]) > 1:
        return None  # a remainder made of this quotient needs the guard
    guarded = _guarded(division, made)
    if guarded is None or _special(condition, made) != guarded:
        return None
    dividend, (divisor, minus_too) = division.operands[0], guarded
    product = _made(other, made)
    multiplied = (
        product is not None and product.opcode == "mul" and set(product.operands) == {dividend, divisor}
    )
    if not multiplied and (minus_too or not _is(other, 0)):
        return None
    return replace(division, name=choice.name, operands=(dividend, divisor), flags=())


def _guarded(division: Instruction, made: Made) -> Special | None:
    """b, where the divisor is `max(b, 1)`, or `special(b) ? 1 : b`."""
    i = _made(division.operands[1], made)
    if i is None:
        return None
    if i.called.startswith("llvm.umax."):
        return (i.operands[0], False) if _is(i.operands[1], 1) else None
    special = _special(i.operands[0], made) if i.opcode == "select" and _is(i.operands[1], 1) else None
    if special is None or special[0] != i.operands[2]:
        return None
    return None if special[1] and division.opcode[0] == "u" else special  # the largest is not -1


def _special(condition: Value, made: Made) -> Special | None:
    """b of `b == 0`, or of `b + 1 < 2`, unsigned: 0 or -1."""
    test = _made(condition, made)
    if test is None or test.opcode != "icmp":
        return None
    tested, bound = test.operands
    if test.predicate == "eq" and _is(bound, 0):
        return tested, False
    more = _made(tested, made)
    if (
        test.predicate == "ult"
        and _is(bound, 2)
        and more
        and more.opcode == "add"
        and _is(more.operands[1], 1)
    ):
        return more.operands[0], True
    return None


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
    plain = instruction.opcode in _QUOTIENTS or instruction.opcode in ("select", "icmp", "add", "mul")
    return bool(instruction.name) and (plain or instruction.called.startswith("llvm.umax."))


def _made(value: Value, made: Made) -> Instruction | None:
    return made.get(value.name) if isinstance(value, Local) else None


def _is(value: Value, number: int) -> bool:
    return isinstance(value, Int) and value.value == number
