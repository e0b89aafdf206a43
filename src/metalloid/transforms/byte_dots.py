"""Sums of four products of bytes that lie in two words, as one operation:  s + a.x * b.x + a.y * b.y + ...

Processors multiply bytes with bytes and add four products to a number of 32 bits in one instruction. Sums of integers
are the same in any order, so they are looked for in whole trees of additions. Bytes may be fewer bits than eight: the
low halves of four bytes are a word of bytes as well, once the rest is masked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from metalloid.analysis.bit_fields import Field, field
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import I32, PTR
from metalloid.ir.values import Global, Local, Value, const
from metalloid.records import dataclass, replace
from metalloid.transforms.byte_loads import BYTES, ByteLoads
from metalloid.transforms.drop_dead import drop_dead

# The engine's own: a sum and two words. After its name the signs of their bytes: "ss", "uu", "us".
DOT = "llvm.byte.dot"
Addend = tuple[Value, bool]  # False: it is subtracted


@dataclass(frozen=True)
class Bytes:
    """The same bits of all four bytes of a word."""

    word: Value
    at: int  # in each byte
    bits: int
    signed: bool

    @property
    def signs(self) -> str:
        """As what a byte of them may be taken: fewer than eight bits without a sign are either."""
        if self.signed:
            return "s"
        return "u" if self.bits == 8 else "us"


@dataclass(frozen=True)
class Dot:
    signs: str
    first: Bytes
    second: Bytes
    products: frozenset[str]  # the four, by name


def byte_dots(function: Function, known: tuple[str, ...], layout: DataLayout, guard: bool) -> Function:
    """The function with dots of the `known` signs, the best first. `guard`: loads of bytes that are not proved stay as
    they are."""
    if all(i.opcode != "mul" for i in function.instructions()):
        return function
    uses = Counter(name for i in function.instructions() for name in i.uses)
    blocks = tuple(
        _block(ByteLoads(function, block, layout, guard), block, uses, known) for block in function.blocks
    )
    if all(new is old for new, old in zip(blocks, function.blocks, strict=True)):
        return function
    return drop_dead(function.with_blocks(blocks))


def _block(loads: ByteLoads, block: Block, uses: Counter[str], known: tuple[str, ...]) -> Block:
    sums = {i.name: i for i in block.instructions if i.opcode in ("add", "sub") and i.type == I32}
    inner = {name for i in sums.values() for name in i.uses if name in sums and uses[name] == 1}
    made: dict[str, list[Instruction]] = {}
    for name in sums:
        if name not in inner:
            addends = list(_addends(sums, inner, sums[name]))
            found, rest = _dots(loads, sums[name], addends, known)
            if found:
                made[name] = _written(loads, sums[name], found, rest)
    if not made:
        return block
    code = [new for i in block.instructions for new in made.get(i.name, [i])]
    return replace(block, instructions=tuple(code))


def _addends(sums: dict[str, Instruction], inner: set[str], root: Instruction) -> Iterator[Addend]:
    """What a tree of sums adds up, from left to right."""
    work: list[Addend] = [(root.value, True)]
    while work:
        value, added = work.pop()
        if isinstance(value, Local) and (value.name in inner or value == root.value):
            i = sums[value.name]
            work += (i.operands[1], added is (i.opcode == "add")), (i.operands[0], added)
        else:
            yield value, added


def _dots(
    loads: ByteLoads, root: Instruction, addends: list[Addend], known: tuple[str, ...]
) -> tuple[list[Dot], list[Addend]]:
    """The dots of a sum, and what else is added."""
    groups: dict[tuple[Bytes, Bytes], dict[int, Value]] = {}
    rest: list[Addend] = []
    for value, added in addends:
        found = _product(loads, value) if added else None
        places = groups.setdefault(found[0], {}) if found is not None else None
        if found is None or places is None or found[1] in places:
            rest.append((value, added))
        else:
            places[found[1]] = value
    dots = []
    for (first, second), places in groups.items():
        signs = _signs(first, second, known)
        if len(places) == BYTES and signs and all(loads.may_move(b.word, root) for b in (first, second)):
            order = (second, first) if signs == "su" else (first, second)
            names = frozenset(v.name for v in places.values() if isinstance(v, Local))
            dots.append(Dot("us" if signs == "su" else signs, *order, names))
        else:
            rest += ((value, True) for value in places.values())
    return dots, rest


def _signs(first: Bytes, second: Bytes, known: tuple[str, ...]) -> str:
    """As what two words of bytes can be multiplied; "": not at all. "su": the other way round."""
    pairs = {a + b for a in first.signs for b in second.signs}
    ways = (way for signs in known for way in (signs, signs[::-1]))
    return next((way for way in ways if way in pairs), "")


def _product(loads: ByteLoads, value: Value) -> tuple[tuple[Bytes, Bytes], int] | None:
    """The two words that the factors of a product are bytes of, and which byte."""
    function = loads.function
    i = function.definitions.get(value.name) if isinstance(value, Local) else None
    if i is None or i.opcode != "mul":
        return None
    found = [_byte(loads, field(function, o)) for o in i.operands]
    if found[0] is None or found[1] is None or found[0][1] != found[1][1]:
        return None
    first, second = sorted((found[0][0], found[1][0]), key=lambda b: (str(b.word), b.at))
    return (first, second), found[0][1]


def _byte(loads: ByteLoads, found: Field | None) -> tuple[Bytes, int] | None:
    if found is None or found.above == "none":
        return None
    place = (found.word, 0) if found.word.type == I32 else loads.place(found.word)
    at, signed = found.at % 8, found.above == "sign"
    if place is None or at + found.bits > 8 or (signed and found.bits < 8):
        return None
    return Bytes(place[0], at, found.bits, signed), place[1] + found.at // 8


def _written(loads: ByteLoads, root: Instruction, dots: list[Dot], rest: list[Addend]) -> list[Instruction]:
    code: list[Instruction] = []

    def put(opcode: str, a: Value, b: Value) -> Value:
        name = f"{root.name}.d{len(code)}"
        code.append(Instruction(opcode, I32, (a, b), name, metadata=root.debug_only))
        return code[-1].value

    loaded: dict[Value, Value] = {}

    def whole(word: Value) -> Value:
        if word not in loaded:
            load = loads.load(word, f"{root.name}.d{len(code)}")
            if load is not None:
                code.append(load)
            loaded[word] = word if load is None else load.value
        return loaded[word]

    def word(b: Bytes) -> Value:
        if b.bits == 8:
            return whole(b.word)
        moved = put("lshr", whole(b.word), const(I32, b.at)) if b.at else whole(b.word)
        return put("and", moved, const(I32, 0x01010101 * ((1 << b.bits) - 1)))

    first = next((n for n, (_, added) in enumerate(rest) if added), -1)
    total: Value = rest[first][0] if first >= 0 else const(I32, 0)
    for n, (value, added) in enumerate(rest):
        if n != first:
            total = put("add" if added else "sub", total, value)
    for dot in dots:
        words = word(dot.first), word(dot.second)
        name, callee = f"{root.name}.d{len(code)}", Global(f"{DOT}.{dot.signs}", PTR)
        code.append(Instruction("call", I32, (total, *words), name, callee=callee, metadata=root.debug_only))
        total = code[-1].value
    return [*code[:-1], replace(code[-1], name=root.name)]
