"""Give neighbouring addresses a common base:  a[x + 1], a[x + 2]  are one and two elements from  a[x].

An index is a sum of 32 bits, widened; as addresses such sums have nothing in common until it is known that they do not
wrap. A proof says so (`whole`), or the bits of x that a small number falls on are zero, as in  4 * i + 1. Loads with
one base are read together: `lower/access/load_groups`.
"""

from __future__ import annotations

from collections import Counter

from metalloid.analysis.intervals import NO_WRAP, is_no_wrap
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value
from metalloid.records import replace

NEAR = 64  # elements from the base
ALL = 32  # bits of an index
DEEP = 6  # values in values; what is deeper is not looked at

# Pointer, element, the index as a sum, how it is widened, whether it is whole.
Key = tuple[Value, str, tuple[Value, ...], str, bool]


def share(function: Function) -> Function:
    """The function with such addresses as a base and a constant distance."""
    return function.with_blocks(tuple(_shared(function, b) for b in function.blocks))


def _shared(function: Function, block: Block) -> Block:
    places = {i.name: found for i in block.body if (found := _place(function, i)) is not None}
    distances = Counter(key for key, _ in set(places.values()))
    code: list[Instruction] = []
    bases: dict[Key, Local] = {}
    for i in block.instructions:
        key, distance = places.get(i.name, (None, 0))
        if key is None or distances[key] < 2:
            code.append(i)
            continue
        if key not in bases:
            made = _base(i, key)
            code += made
            bases[key] = made[-1].value
        step = Int(IntType(64), distance)
        code.append(replace(i, operands=(bases[key], step), flags=()))
    return Block(block.name, tuple(code))


def _base(i: Instruction, key: Key) -> list[Instruction]:
    """The address of the element without the distance."""
    pointer, _, (index, *more), opcode, whole = key
    said = (*i.debug_only, (NO_WRAP, "!{}")) if whole else i.debug_only
    code: list[Instruction] = []
    for n, term in enumerate(more):
        code.append(Instruction("add", index.type, (index, term), f"{i.name}.sum{n}", metadata=i.debug_only))
        index = code[-1].value
    if not opcode:
        return [*code, replace(i, name=f"{i.name}.base", operands=(pointer, index), flags=())]
    wide = Instruction(opcode, IntType(64), (index,), f"{i.name}.index", metadata=said)
    return [*code, wide, replace(i, name=f"{i.name}.base", operands=(pointer, wide.value), flags=())]


def _place(function: Function, i: Instruction) -> tuple[Key, int] | None:
    """A pointer's base, and how many elements it is from it."""
    if i.opcode != "getelementptr" or len(i.operands) != 2 or not isinstance(i.operands[1], Local):
        return None
    if i.operands[1].type == IntType(32):  # of threadgroup memory
        index, distance = _parted(function, i.operands[1], False)
        return (i.operands[0], str(i.element), index, "", False), distance
    wide = function.definitions[i.operands[1].name]
    if wide.opcode not in ("zext", "sext") or wide.operands[0].type != IntType(32):
        return None
    whole = is_no_wrap(wide)
    index, distance = _parted(function, wide.operands[0], whole)
    return (i.operands[0], str(i.element), index, wide.opcode, whole), distance


def _parted(function: Function, index: Value, whole: bool, deep: int = 0) -> tuple[tuple[Value, ...], int]:
    """An index as a sum of others plus a small number: none of the sums in a whole one wraps."""
    if isinstance(index, Local) and deep < DEEP:
        i = function.definitions[index.name]
        if i.opcode in ("add", "or") and isinstance(i.operands[1], Int) and 0 < i.operands[1].value < NEAR:
            rest, number = i.operands[0], i.operands[1].value
            adds = number < 1 << _zeros(function, rest)
            if whole and (adds or i.opcode == "add"):
                terms, more = _parted(function, rest, whole, deep + 1)
                return terms, number + more
            if adds:
                return (rest,), number
        if whole and i.opcode == "add":
            sides = [_parted(function, o, whole, deep + 1) for o in i.operands]
            return tuple(term for terms, _ in sides for term in terms), sum(n for _, n in sides)
    return (index,), 0


def _zeros(function: Function, value: Value, above: frozenset[str] = frozenset()) -> int:
    """How many of a number's lowest bits are zero in any case; `above` are the values that this one is part of."""
    if isinstance(value, Int):
        return (value.value & -value.value).bit_length() - 1 if value.value else ALL
    if not isinstance(value, Local) or len(above) > DEEP:
        return 0
    if value.name in above:
        return ALL  # round a loop it has as many as the phi's other values leave
    i, above = function.definitions[value.name], above | {value.name}
    if i.opcode == "shl" and isinstance(i.operands[1], Int) and i.operands[1].value < ALL:
        return min(ALL, i.operands[1].value + _zeros(function, i.operands[0], above))
    if i.opcode == "mul":
        return min(ALL, sum(_zeros(function, o, above) for o in i.operands))
    if i.opcode in ("add", "or", "phi"):
        return min((_zeros(function, o, above) for o in i.operands), default=0)
    return 0
