"""Writes words of answers (`flag_words.py`): those of a gang at once, register by register, or each lane's in its turn.

A register of comparisons is a number that has a bit for each, the first the lowest: as many words as its lanes hold.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalloid.backends.cpu.lower.access.alike_lanes import as_lanes
from metalloid.backends.cpu.lower.access.flag_words import Chunk
from metalloid.backends.cpu.lower.access.in_turn import Writer, stepped
from metalloid.backends.cpu.lower.access.mem_ref import MemRef, address, alignment, memory_type, resolve
from metalloid.backends.cpu.lower.access.packs import Pack
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.ir import Instruction
from metalloid.ir.gep import constant_base
from metalloid.ir.types import IntType
from metalloid.ir.values import Local, Value


def write(e: Emitter, word: Instruction, chunks: Sequence[Chunk]) -> None:
    assert isinstance(word.type, IntType)
    kind, total = lowered(word.type), ""
    vector = e.width > 1
    for chunk in chunks:
        bits = len(chunk.answers)
        made = _Rows(e, chunk).write() if chunk.end_to_end and e.mask is None else _in_turn(e, chunk)
        ref = made.vec if vector else made.base
        assert ref is not None
        if bits < word.type.bits:
            ref = e.put(f"zext {_type(e, made.type)} {ref} to {_type(e, kind)}")
        if chunk.low:
            by = f"splat ({kind} {chunk.low})" if vector else chunk.low
            ref = e.put(f"shl {_type(e, kind)} {ref}, {by}")
        total = e.put(f"or {_type(e, kind)} {total}, {ref}") if total else ref
    e.set(word.name, Val(kind, vec=total) if vector else Val(kind, total))


def _type(e: Emitter, kind: str) -> str:
    return e.vt(kind) if e.width > 1 else kind


def _in_turn(e: Emitter, chunk: Chunk) -> Val:
    n = len(chunk.answers)

    def one(answers: str) -> str:
        return e.put(f"bitcast <{n} x i1> {_ordered(e, chunk, answers, n)} to i{n}")

    return Writer(e, chunk.packs).each(f"i{n}", chunk.answers, one)


def _ordered(e: Emitter, chunk: Chunk, answers: str, count: int) -> str:
    """Answers in the order of their bits, word by word."""
    n = len(chunk.order)
    if chunk.order == tuple(range(n)):
        return answers
    return _picked(e, "i1", answers, count, [x - x % n + chunk.order[x % n] for x in range(count)])


def _picked(e: Emitter, kind: str, ref: str, count: int, index: list[int]) -> str:
    picks = ", ".join(f"i32 {x}" for x in index)
    have = f"<{count} x {kind}>"
    return e.put(f"shufflevector {have} {ref}, {have} poison, <{len(index)} x i32> <{picks}>")


class _Rows:
    """The answers of all lanes, a register of bytes, and as many longer numbers, at a time."""

    def __init__(self, e: Emitter, chunk: Chunk) -> None:
        self.e, self.chunk, self.n = e, chunk, len(chunk.answers)
        self.total = e.width * self.n
        self.piece, self.start = min(self.total, e.out.target.vector_bytes), 0
        if chunk.order != tuple(range(self.n)):
            self.piece = max(self.piece, self.n)  # bits change their places inside of a word
        self.places: dict[str, MemRef] = {}
        self.once: dict[Pack, str] = {}  # what all lanes load
        self.vectors: dict[Pack, str] = {}

    def write(self) -> Val:
        e, word = self.e, f"i{self.n}"
        parts = []
        for start in range(0, self.total, self.piece):
            self.start = start
            answers = _ordered(e, self.chunk, self._answers(), self.piece)
            parts.append(e.put(f"bitcast <{self.piece} x i1> {answers} to i{self.piece}"))
        whole = parts[0]
        if len(parts) > 1:
            whole, type = "poison", f"<{len(parts)} x i{self.piece}>"
            for k, part in enumerate(parts):
                whole = e.put(f"insertelement {type} {whole}, i{self.piece} {part}, i64 {k}")
        else:
            type = f"i{self.piece}"
        if e.width == 1:
            return Val(word, whole if type == word else e.put(f"bitcast {type} {whole} to {word}"))
        return Val(word, vec=e.put(f"bitcast {type} {whole} to {e.vt(word)}"))

    def _answers(self) -> str:
        """Of one piece."""
        self.vectors = {}
        for pack in self.chunk.packs.found:
            made = [self.chunk.packs.made[name] for name in pack]
            load = made[0].opcode == "load"
            self.vectors[pack] = (
                self._load(pack, made) if load else as_lanes(self.e, made, self.piece, self._operand)
            )
        answers = self._operand(self.chunk.answers).vec
        assert answers is not None
        return answers

    def _load(self, pack: Pack, loads: list[Instruction]) -> str:
        e, (kind, size) = self.e, memory_type(loads[0].type)
        base, low = constant_base(e.function, loads[0].operands[0], e.out.layout)
        if str(base) not in self.places:
            e.proved = True
            self.places[str(base)] = resolve(e, base, size)
        place = self.places[str(base)]
        offset = place.offset.base or "0"
        if place.offset.uniform:
            if pack not in self.once:
                self.once[pack] = stepped(e, place, offset, loads, low, self.chunk.packs.steps[pack])
            return self._picked(kind, self.once[pack], self.n, [x % self.n for x in self._lanes()])
        low += self.start * size
        at = address(e, place.ptr, e.put(f"add i64 {offset}, {low}") if low else offset)
        align = min(alignment(i, size) for i in loads)
        return e.put(f"load <{self.piece} x {kind}>, ptr {at}, align {min(align, size)}")

    def _lanes(self) -> range:
        return range(self.start, self.start + self.piece)

    def _picked(self, kind: str, ref: str, count: int, index: list[int]) -> str:
        whole = index == list(range(count))
        return ref if whole else _picked(self.e, kind, ref, count, index)

    def _operand(self, given: tuple[Value, ...]) -> Val:
        """What n answers have for one of their operands."""
        e, kind = self.e, lowered(given[0].type)
        names = tuple(v.name for v in given if isinstance(v, Local))
        if names in self.vectors:
            return Val(kind, vec=self.vectors[names])
        if not names:
            numbers = ", ".join(f"{kind} {e.constant(given[x % self.n])}" for x in self._lanes())
            return Val(kind, vec=f"<{numbers}>")
        made = e.get(given[0])
        if made.uniform:
            return made
        return Val(
            kind, vec=self._picked(kind, e.expand(made), e.width, [x // self.n for x in self._lanes()])
        )
