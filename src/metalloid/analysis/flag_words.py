"""Words that a thread puts together of answers, a bit for each: bits |= (a[i * 32 + k] != 0) << k, unrolled.

clang writes a bit as a choice between 0 and 8, as a shift or as a mask, of an answer or of its opposite. Here all bits
of a word are questions again, written alike where they are alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.types import I1, IntType
from metalloid.ir.values import Int, Local, Named, Value
from metalloid.records import dataclass, replace

LEAST, MOST = 8, 64  # bits of a word
LONGEST = 8 * MOST  # values that it is put together from, inner ones too
_JOINS = ("or", "add", "xor")  # of numbers that have no bit in common
_OPPOSITES = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq", "rd": "no", "no": "rd"}
_STRICT = {"uge": ("ugt", -1), "sge": ("sgt", -1), "ule": ("ult", 1), "sle": ("slt", 1)}
_ALWAYS = ("true", "false")
_NO_NANS = frozenset(("nnan", "fast"))


class Question(NamedTuple):
    """Whether a bit of a number is set; the opposite of that."""

    value: Value
    bit: int
    opposite: bool = False

    def turned(self) -> Question:
        return self._replace(opposite=not self.opposite)


@dataclass(frozen=True)
class Answer:
    """A value of one bit, and the instructions that are to make it."""

    value: Value
    code: tuple[Instruction, ...] = ()


@dataclass(frozen=True)
class FlagWord:
    """A word's last instruction, its answers by their bits, and the names of what put them together."""

    root: Instruction
    answers: Mapping[int, Answer]
    inner: frozenset[str]


def flag_words(function: Function, block: Block) -> Iterator[FlagWord]:
    """The words of a block, the last first."""
    seen: set[str] = set()
    for i in reversed(block.body):
        if i.opcode in _JOINS and isinstance(i.type, IntType) and i.name not in seen:
            search = _Search(function, block.name)
            found = search.questions(i)
            seen |= search.inner
            if found is not None and len(found) >= LEAST:
                answers = {bit: search.answer(q, f"{i.name}#bit{bit}") for bit, q in found.items()}
                yield FlagWord(i, answers, frozenset(search.inner))


class _Search:
    """Takes one word of a block apart."""

    def __init__(self, function: Function, block: str) -> None:
        self.function, self.block = function, block
        self.inner: set[str] = set()

    def questions(self, word: Instruction) -> dict[int, Question] | None:
        """What is asked for each bit; None where the word has other numbers in it, or two share a bit."""
        assert isinstance(word.type, IntType)
        found: dict[int, Question] = {}
        work: list[tuple[Value, int, int]] = [(word.value, 0, word.type.bits)]
        for _ in range(LONGEST):
            if not work:
                return found
            value, place, top = work.pop()
            if place >= top:
                continue  # shifted out
            made = self._made(value)
            within = _joined(made, place, top) if made is not None else None
            if made is not None and within is not None:
                self.inner.add(made.name)
                work += within
                continue
            one = self._bit(made) if made is not None else None
            if one is None and place == top - 1 and (lowest := self._asked(value, 0)) is not None:
                one = 0, lowest  # all but this bit is shifted out
            if one is None or place + one[0] in found or len(found) == MOST:
                return None
            if place + one[0] < top:
                found[place + one[0]] = one[1]
        return None

    def _made(self, value: Value) -> Instruction | None:
        if not isinstance(value, Local) or self.function.home.get(value.name) != self.block:
            return None
        return self.function.definitions[value.name]

    def _bit(self, i: Instruction) -> tuple[int, Question] | None:
        """The one bit that a number can have, and when it has it."""
        bit, asked = -1, None
        match i.opcode, i.operands:
            case "zext", (a,) if a.type == I1:
                bit, asked = 0, self._asked(a, 0)
            case "select", (c, Int(value=yes), Int(value=no)) if not yes or not no:
                bit, asked = _only(yes | no), self._asked(c, 0, not yes)
            case "and", (a, Int(value=mask)):
                bit = _only(mask)
                asked = self._asked(a, bit)
            case "lshr", (a, Int(value=by)) if isinstance(a.type, IntType) and by == a.type.bits - 1:
                bit, asked = 0, self._asked(a, by)
            case "xor", (a, Int(value=mask)) if (made := self._made(a)) and (one := self._bit(made)):
                bit, asked = (one[0], one[1].turned()) if mask == 1 << one[0] else (-1, None)
        return (bit, asked) if bit >= 0 and asked is not None else None

    def _asked(self, value: Value, bit: int, opposite: bool = False) -> Question | None:
        """A question about the number that a bit comes from."""
        while (i := self._made(value)) is not None and bit >= 0:
            if (test := self._test(i)) is not None:
                value, bit, opposite = test.value, test.bit, opposite != test.opposite
                continue
            match i.opcode, i.operands:
                case "shl", (a, Int(value=by)):
                    bit -= by
                case "lshr", (a, Int(value=by)) if bit + by < _bits(a):
                    bit += by
                case "ashr", (a, Int(value=by)):
                    bit = min(bit + by, _bits(a) - 1)
                case (("zext" | "trunc"), (a,)) if bit < _bits(a):
                    pass
                case "sext", (a,):
                    bit = min(bit, _bits(a) - 1)
                case "xor", (a, Int(value=mask)):
                    opposite ^= bool(mask >> bit & 1)
                case "xor", (a, Named(word="true")):
                    opposite = not opposite
                case "and", (a, Int(value=mask)) if mask >> bit & 1:
                    pass
                case _:
                    break
            value = a
        return Question(value, bit, opposite) if isinstance(value, Local) and bit >= 0 else None

    def _test(self, i: Instruction) -> Question | None:
        """A comparison that asks for one bit of a number."""
        match i.opcode, i.predicate, i.operands:
            case "icmp", "slt", (a, Int(value=0)):
                return Question(a, _bits(a) - 1)
            case "icmp", "sgt", (a, Int(signed=-1)):
                return Question(a, _bits(a) - 1, True)
            case "icmp", ("eq" | "ne"), (a, Int(value=0)) if (made := self._made(a)) and made.opcode == "and":
                mask = made.operands[1]
                bit = _only(mask.value) if isinstance(mask, Int) else -1
                return Question(a, bit, i.predicate == "eq") if bit >= 0 else None
        return None

    def answer(self, asked: Question, name: str) -> Answer:
        """What is to be written for a question."""
        value, bit, opposite = asked
        if value.type == I1:
            made = self._made(value)
            if made is not None and made.opcode in ("icmp", "fcmp") and made.predicate not in _ALWAYS:
                test = _plain(replace(made, name=name), opposite)
                return Answer(test.value, (test,))
            if not opposite:
                return Answer(value)
            test = Instruction("xor", I1, (value, Named(I1, "true")), name)
            return Answer(test.value, (test,))
        assert isinstance(value.type, IntType)
        if bit == value.type.bits - 1:
            order, limit = ("sgt", -1) if opposite else ("slt", 0)
            test = Instruction("icmp", I1, (value, Int(value.type, limit)), name, predicate=order)
            return Answer(test.value, (test,))
        mask = Instruction("and", value.type, (value, Int(value.type, 1 << bit)), f"{name}.mask")
        order, zero = "eq" if opposite else "ne", Int(value.type, 0)
        test = Instruction("icmp", I1, (mask.value, zero), name, predicate=order)
        return Answer(test.value, (mask, test))


def _bits(value: Value) -> int:
    return value.type.bits if isinstance(value.type, IntType) else 0


def _only(mask: int) -> int:
    """The one bit of a mask; -1 where it has more, or none."""
    return mask.bit_length() - 1 if mask & mask - 1 == 0 else -1


def _joined(i: Instruction, place: int, top: int) -> list[tuple[Value, int, int]] | None:
    """The numbers that one is put together from, where they stand, and below which bit they are left."""
    match i.opcode, i.operands:
        case (("or" | "add" | "xor"), (a, b)) if isinstance(a, Local) and isinstance(b, Local):
            return [(a, place, top), (b, place, top)]
        case "shl", (a, Int(value=by)) if isinstance(a, Local):
            return [(a, place + by, top)]
        case (("zext" | "trunc"), (a,)) if isinstance(a.type, IntType) and a.type != I1:
            return [(a, place, min(top, place + min(a.type.bits, _bits(i.value))))]
    return None


def _plain(test: Instruction, opposite: bool) -> Instruction:
    """A comparison, or its opposite, as all that ask the same are written."""
    predicate, operands = test.predicate, test.operands
    if opposite and test.opcode == "icmp":
        sign = predicate[:-2]
        predicate = sign + _OPPOSITES[predicate[-2:]]
    elif opposite:
        predicate = _opposite(predicate)
    if (
        test.opcode == "fcmp"
        and _NO_NANS & {*test.flags}
        and predicate[-2:] in ("lt", "le", "gt", "ge", "eq")
    ):
        predicate = f"o{predicate[-2:]}"
    if predicate in _STRICT and isinstance(limit := operands[1], Int):
        strict, by = _STRICT[predicate]
        moved = Int(limit.type, limit.value + by)
        if (moved.signed - limit.signed if predicate[0] == "s" else moved.value - limit.value) == by:
            predicate, operands = strict, (operands[0], moved)
    flags = () if test.opcode == "icmp" else test.flags
    return replace(test, predicate=predicate, operands=operands, flags=flags)


def _opposite(predicate: str) -> str:
    """Of a comparison of floats: what is not less is greater, equal or no number."""
    if predicate in ("ord", "uno"):
        return "uno" if predicate == "ord" else "ord"
    return ("u" if predicate[0] == "o" else "o") + _OPPOSITES[predicate[-2:]]
