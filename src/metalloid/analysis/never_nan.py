"""Floats that are never NaN, by how they are made: `most = max(most, x)`, where `most` starts as a number.

A comparison that is true only of numbers chooses one of them, and what is left otherwise is what was there before. So
the greatest of a row is a number whatever the row holds, and to fold it nobody has to look for NaNs.
"""

from __future__ import annotations

from collections.abc import Collection

from metalloid.ir import Function, Instruction
from metalloid.ir.values import Float, Local, Value

MOST = 64  # values that are looked at
_FOLLOWED = ("phi", "select", "sitofp", "uitofp", "fneg", "fpext", "freeze")
_EITHER = tuple(f"llvm.{name}." for name in ("maxnum", "minnum", "maximumnum", "minimumnum"))
_CALLS = ("llvm.fabs.", *_EITHER)


def never_nan(function: Function, value: Value) -> bool:
    """Whether a value is known to be a number, or infinite."""
    if not isinstance(value, Local):
        return _is_number(value, {})
    found = _reached(function, value)
    numbers = found  # as long as nothing speaks against it
    while True:
        left = {name: i for name, i in numbers.items() if _made_of_numbers(function, i, numbers)}
        if len(left) == len(numbers):
            return value.name in left
        numbers = left


def _reached(function: Function, value: Local) -> dict[str, Instruction]:
    """What a value is made from, as far as it is looked at."""
    found: dict[str, Instruction] = {}
    work: list[Value] = [value]
    while work and len(found) < MOST:
        name = getattr(work.pop(), "name", "")
        i = function.definitions.get(name)
        if i is not None and name not in found and (i.opcode in _FOLLOWED or i.called.startswith(_CALLS)):
            found[name] = i
            work += i.operands
    return found


def _made_of_numbers(function: Function, i: Instruction, numbers: Collection[str]) -> bool:
    if i.opcode in ("sitofp", "uitofp"):
        return True
    flags = [_is_number(o, numbers) for o in i.operands]
    if i.called.startswith(_EITHER):
        return any(flags[:2])
    if i.opcode != "select":
        return all(flags) if i.opcode == "phi" else flags[0]
    condition, yes, no = i.operands
    test = function.definitions.get(condition.name) if isinstance(condition, Local) else None
    if test is None or test.opcode != "fcmp":
        return flags[1] and flags[2]
    # What a comparison of numbers alone chooses is one; what is left where any other one fails, too.
    first = flags[1] or (test.predicate[0] == "o" and yes in test.operands)
    return first and (flags[2] or (test.predicate[0] == "u" and no in test.operands))


def _is_number(value: Value, numbers: Collection[str]) -> bool:
    if isinstance(value, Float):
        return value.value == value.value
    return isinstance(value, Local) and value.name in numbers
