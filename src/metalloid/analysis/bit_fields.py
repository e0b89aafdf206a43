"""Which bits of which number a number is: `int(char(w >> 8))` is the eight bits of w from bit 8, with their sign.

Shifts, masks and conversions only move bits. What they do together is said by a place, a length and what stands above.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from metalloid.ir import Function, Instruction
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value
from metalloid.records import dataclass, replace

# What stands above the bits: nothing, since they are all there are; zeros; copies of the highest.
Above = Literal["none", "zeros", "sign"]
DEEP = 8  # instructions that are looked through


@dataclass(frozen=True)
class Field:
    """`bits` bits of `word` from bit `at`."""

    word: Value
    at: int
    bits: int
    above: Above


def field(function: Function, value: Value, deep: int = 0) -> Field | None:
    """The bits that a number is; of a number that is made otherwise, all of its own. None for constants."""
    if not isinstance(value, Local) or not isinstance(value.type, IntType):
        return None
    i = function.definitions.get(value.name)
    rule = _RULES.get(i.opcode) if i is not None and deep < DEEP else None
    found = rule(function, i, deep + 1) if rule is not None and i is not None else None
    return found or Field(value, 0, value.type.bits, "none")


def _amount(i: Instruction) -> int | None:
    by = i.operands[1]
    return by.value if isinstance(by, Int) and by.value < by.type.bits else None


def _shifted_left(function: Function, value: Value) -> tuple[Value, int]:
    """A number, and how far it was shifted to the left on its way here."""
    i = function.definitions.get(value.name) if isinstance(value, Local) else None
    by = _amount(i) if i is not None and i.opcode == "shl" else None
    return (i.operands[0], by) if i is not None and by is not None else (value, 0)


def _shift_right(function: Function, i: Instruction, deep: int) -> Field | None:
    by = _amount(i)
    value, left = _shifted_left(function, i.operands[0])
    found = field(function, value, deep)
    if by is None or found is None or by < left:
        return None
    width = i.operands[0].type.bits  # type: ignore[union-attr]
    above: Above = "sign" if i.opcode == "ashr" else "zeros"
    if left or found.above == "none":
        kept = width - by
        if found.bits < width - left and found.above != "none":
            return None  # something else than bits of the word would come down
        return replace(found, at=found.at + by - left, bits=kept, above=above)
    if found.bits <= by or (found.above == "sign" and above == "zeros"):
        return None
    return replace(found, at=found.at + by, bits=found.bits - by)


def _mask(function: Function, i: Instruction, deep: int) -> Field | None:
    found, mask = field(function, i.operands[0], deep), i.operands[1]
    if found is None or not isinstance(mask, Int) or mask.value & (mask.value + 1) or not mask.value:
        return None
    bits = mask.value.bit_length()
    if bits > found.bits and found.above == "sign":
        return None
    return replace(found, bits=min(bits, found.bits), above="zeros")


def _trunc(function: Function, i: Instruction, deep: int) -> Field | None:
    found = field(function, i.operands[0], deep)
    bits = i.type.bits  # type: ignore[union-attr]
    if found is None or found.bits < bits:
        return found
    return replace(found, bits=bits, above="none")


def _zext(function: Function, i: Instruction, deep: int) -> Field | None:
    found = field(function, i.operands[0], deep)
    return None if found is None or found.above == "sign" else replace(found, above="zeros")


def _sext(function: Function, i: Instruction, deep: int) -> Field | None:
    found = field(function, i.operands[0], deep)
    return replace(found, above="sign") if found is not None and found.above == "none" else found


_RULES: dict[str, Callable[[Function, Instruction, int], Field | None]] = {
    "lshr": _shift_right,
    "ashr": _shift_right,
    "and": _mask,
    "trunc": _trunc,
    "zext": _zext,
    "sext": _sext,
}
