"""The float of a few bits of a number: a lookup in a register instead of a mask and a conversion.

AVX-512's vpermps takes the low four bits of each index and does not look at the rest, so nothing has to be masked.
Weights of four bits cost one instruction less each that way.
"""

from __future__ import annotations

from metalloid.backends.cpu.lower.emitter import Emitter, lowered
from metalloid.ir import Instruction
from metalloid.ir.values import Int, Local

REGISTER = 16  # floats in one
_MASKS = (1, 3, 7, 15)


def masked(e: Emitter, i: Instruction) -> Instruction | None:
    """The mask in front of a conversion, where a register has a float for each number that is left."""
    value = i.operands[0]
    if str(i.type) != "float" or not e.out.target.float_table or e.width % REGISTER:
        return None
    made = e.function.definitions.get(value.name) if isinstance(value, Local) else None
    if made is None or made.opcode != "and" or not isinstance(made.operands[1], Int):
        return None
    if e.function.home[made.name] != e.block:  # what the mask was applied to is not known here
        return None
    return made if made.operands[1].value in _MASKS else None


def looked_up(e: Emitter, made: Instruction) -> str:
    """A vector of floats: those of the numbers that `made` leaves."""
    number, mask = made.operands
    assert isinstance(mask, Int)
    bits, kind = e.ref(number, True), lowered(number.type)
    if kind != "i32":
        bits = e.put(f"{'zext' if int(kind[1:]) < 32 else 'trunc'} {e.vt(kind)} {bits} to {e.vt('i32')}")
    floats, numbers = f"<{REGISTER} x float>", f"<{REGISTER} x i32>"
    table = ", ".join(f"float {n & mask.value}.0" for n in range(REGISTER))
    lookup = e.out.target.float_table
    e.out.declare(lookup, f"declare {floats} @{lookup}({floats}, {numbers})")
    parts = []
    for start in range(0, e.width, REGISTER):
        lanes = ", ".join(f"i32 {n}" for n in range(start, start + REGISTER))
        index = e.put(f"shufflevector {e.vt('i32')} {bits}, {e.vt('i32')} poison, {numbers} <{lanes}>")
        parts.append(e.put(f"call {floats} @{lookup}({floats} <{table}>, {numbers} {index})"))
    return joined(e, parts)


def joined(e: Emitter, parts: list[str]) -> str:
    """Vectors of one size, behind each other; their number is a power of two."""
    size = REGISTER
    while len(parts) > 1:
        lanes = ", ".join(f"i32 {n}" for n in range(2 * size))
        pairs = zip(parts[::2], parts[1::2], strict=True)
        half = f"<{size} x float>"
        parts = [
            e.put(f"shufflevector {half} {a}, {half} {b}, <{2 * size} x i32> <{lanes}>") for a, b in pairs
        ]
        size *= 2
    return parts[0]
