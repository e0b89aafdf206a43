"""The number that each lane has of a value, where it follows from the lane: `t + (t >> 5)`, `t ^ 4`, `(t & 7) == 0`.

A lane shape knows sums and multiples of patterns, whatever the base. Where the base is known, too, any arithmetic can
be done lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable

from metalloid.analysis.lane_shape import LaneShape
from metalloid.analysis.uniformity import Uniformity
from metalloid.ir import Instruction
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value

Numbers = tuple[int, ...]  # read as unsigned
DEEPEST = 64  # instructions above one that are looked through


def lane_numbers(u: Uniformity, value: Value, depth: int = 0) -> Numbers | None:
    """Of lanes that do not run, numbers that mean nothing."""
    if not isinstance(value.type, IntType):
        return None
    width, bits = u.lanes.width, value.type.bits
    if isinstance(value, Int):
        return (value.value % (1 << bits),) * width
    if not isinstance(value, Local) or depth > DEEPEST:
        return None
    if value.name not in u.numbers:
        shape = u.shape(value)
        found = numbers_of(shape, width, bits, False) if shape is not None and shape.exact else None
        i = u.flow.function.definitions.get(value.name)
        if found is None and i is not None:
            found = _computed(u, i, bits, depth)
        u.numbers[value.name] = tuple(found) if found is not None else None
    return u.numbers[value.name]


def numbers_of(shape: LaneShape | None, width: int, bits: int, signed: bool) -> list[int] | None:
    """The number of each lane, where its shape says it."""
    if shape is None or shape.constant is None or (shape.terms and shape.pattern is None):
        return None
    values = [(shape.constant + x) % (1 << bits) for x in shape.pattern or (0,) * width]
    return [as_signed(v, bits) if signed else v for v in values]


def as_signed(number: int, bits: int) -> int:
    return number - (1 << bits) if number >> bits - 1 else number


def _computed(u: Uniformity, i: Instruction, bits: int, depth: int) -> list[int] | None:
    """By the instruction, lane by lane."""
    operation = _OPERATIONS.get(f"icmp {i.predicate}" if i.opcode == "icmp" else i.opcode)
    if operation is None:
        return None
    operands = []
    for operand in i.operands:
        numbers = lane_numbers(u, operand, depth + 1)
        if numbers is None:
            return None
        operands.append(numbers)
    of = i.operands[-1].type
    own = of.bits if isinstance(of, IntType) else bits
    made = [operation(own, *given) for given in zip(*operands, strict=True)]
    return None if None in made else [n % (1 << bits) for n in made if n is not None]


# By opcode: the bits of the operands, and the operands; none where the result is not defined.
_OPERATIONS: dict[str, Callable[..., int | None]] = {
    "add": lambda bits, a, b: a + b,
    "sub": lambda bits, a, b: a - b,
    "mul": lambda bits, a, b: a * b,
    "and": lambda bits, a, b: a & b,
    "or": lambda bits, a, b: a | b,
    "xor": lambda bits, a, b: a ^ b,
    "shl": lambda bits, a, b: a << b if b < bits else None,
    "lshr": lambda bits, a, b: a >> b if b < bits else None,
    "ashr": lambda bits, a, b: as_signed(a, bits) >> b if b < bits else None,
    "udiv": lambda bits, a, b: a // b if b else None,
    "urem": lambda bits, a, b: a % b if b else None,
    "zext": lambda bits, a: a,
    "trunc": lambda bits, a: a,
    "sext": lambda bits, a: as_signed(a, bits),
    "select": lambda bits, flag, a, b: a if flag else b,
    "icmp eq": lambda bits, a, b: int(a == b),
    "icmp ne": lambda bits, a, b: int(a != b),
    "icmp ult": lambda bits, a, b: int(a < b),
    "icmp ule": lambda bits, a, b: int(a <= b),
    "icmp ugt": lambda bits, a, b: int(a > b),
    "icmp uge": lambda bits, a, b: int(a >= b),
    "icmp slt": lambda bits, a, b: int(as_signed(a, bits) < as_signed(b, bits)),
    "icmp sle": lambda bits, a, b: int(as_signed(a, bits) <= as_signed(b, bits)),
    "icmp sgt": lambda bits, a, b: int(as_signed(a, bits) > as_signed(b, bits)),
    "icmp sge": lambda bits, a, b: int(as_signed(a, bits) >= as_signed(b, bits)),
}
