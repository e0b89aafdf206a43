"""Numbers that a word was put together from: clang stores a uchar4 that it has in registers as one word,
x | y << 8 | z << 16 | w << 24, and a half4 as two.
"""

from __future__ import annotations

from metalloid.analysis.highest import highest
from metalloid.ir import Function
from metalloid.ir.types import FloatType, IntType
from metalloid.ir.values import Int, Local, Value
from metalloid.records import dataclass

_SIZES = (8, 16, 32)  # of parts


@dataclass(frozen=True)
class WordParts:
    """The numbers of a word, the lowest first, `bits` of each; and the instructions that put them together."""

    values: tuple[Value, ...]
    bits: int
    inner: frozenset[str]


def word_parts(function: Function, word: Value, block: str) -> WordParts | None:
    """The parts of a word that is put together in a block; None where it is no such word."""
    if not isinstance(word, Local) or not isinstance(word.type, IntType):
        return None
    found: dict[int, Value] = {}
    inner: set[str] = set()
    if not _take_apart(function, word, 0, block, found, inner) or len(found) < 2:
        return None
    bits, left = divmod(word.type.bits, len(found))
    places = sorted(found)
    if left or bits not in _SIZES or places != [n * bits for n in range(len(found))]:
        return None
    values = tuple(found[place] for place in places)
    if len({v.type for v in values}) > 1 or not all(_fits(function, v, bits) for v in values):
        return None
    return WordParts(values, bits, frozenset(inner))


def _fits(function: Function, value: Value, bits: int) -> bool:
    """Whether a number has no more than so many bits."""
    if isinstance(value.type, FloatType):
        return {"half": 16, "float": 32}.get(str(value.type)) == bits
    assert isinstance(value.type, IntType)
    if value.type.bits <= bits:
        return value.type.bits == bits
    most = highest(function, value)
    return most is not None and most < 1 << bits


def _take_apart(
    function: Function, value: Value, place: int, block: str, found: dict[int, Value], inner: set[str]
) -> bool:
    """The numbers that a value is made of, by the bit where they stand; False where two stand at one."""
    i = function.definitions.get(value.name) if isinstance(value, Local) else None
    if i is not None and function.home.get(i.name) == block:
        within = _moved(i.opcode, i.operands, place)
        if within is not None:
            inner.add(i.name)
            return all(_take_apart(function, v, at, block, found, inner) for v, at in within)
    if place in found:
        return False
    found[place] = value
    return True


def _moved(opcode: str, operands: tuple[Value, ...], place: int) -> list[tuple[Value, int]] | None:
    """What an instruction puts together, and where; None where it does something else."""
    match opcode, operands:
        case "or", (a, b) if not isinstance(a, Int) and not isinstance(b, Int):
            return [(a, place), (b, place)]
        case "shl", (a, Int(value=by)) if isinstance(a, Local):
            return [(a, place + by)]
        case "zext", (a,) if a.type != IntType(1):
            return [(a, place)]
        case "bitcast", (a,) if isinstance(a.type, FloatType):
            return [(a, place)]
    return None
