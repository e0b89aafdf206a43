"""Words of answers (`analysis/flag_words.py`): 32 bytes of a thread, compared with 0, are 32 bits of its word.

By lanes each bit is a column of such bytes, which lie a row apart, then a choice and an addition. But what a register
of neighbours is compared to is their bits side by side already. Where the rows of all lanes lie end to end, the words
of a gang are the comparisons of all that memory, in its order (`flag_rows.py`). Else lanes take turns, where that is
less than to turn their rows round.
"""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.analysis.flag_words import LEAST, Answer, FlagWord, flag_words
from metalloid.analysis.lane_shape import LaneShape
from metalloid.backends.cpu.lower.access.in_turn import FOUND, may_load_late, turned
from metalloid.backends.cpu.lower.access.mem_ref import memory_type
from metalloid.backends.cpu.lower.access.packs import CALLS, PURE, Packs
from metalloid.backends.cpu.lower.access.plan import is_row, spots
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.ir import Block, Instruction
from metalloid.ir.gep import constant_base
from metalloid.ir.types import PointerType
from metalloid.ir.values import Local, Value
from metalloid.records import dataclass

SIZES = (64, 32, 16, 8)  # bits of a chunk
# Instructions: what a lane's turn costs besides its loads; what a register of answers costs as a column.
TURN = 8
ANSWER = 3


@dataclass(frozen=True)
class Chunk:
    """Bits of a word, from `low` on, whose answers are made alike. `answers` stand in the order of memory, and
    `order` says which of them each bit is. `end_to_end`: what all lanes load is one piece of memory."""

    low: int
    answers: tuple[Value, ...]
    order: tuple[int, ...]
    packs: Packs
    end_to_end: bool


@dataclass(frozen=True)
class Found:
    """The chunks of each word of a block, and the names that nobody else wants."""

    words: Mapping[str, tuple[Chunk, ...]]
    gone: frozenset[str]


NOTHING = Found({}, frozenset())


def find(e: Emitter, block: Block, others: frozenset[str]) -> Found:
    """The words of a block, but for `others`, which are written otherwise."""
    if e.out.check is not None or e.out.continue_after_fault:
        return NOTHING
    words = {}
    for word in flag_words(e.function, block):
        if word.root.name in others or (e.width > 1 and e.shape(word.root.value) is not None):
            continue
        chunks = _chunks(e, block, word)
        before = block.body[: block.body.index(word.root)]
        if chunks and all(_pays(e, chunk, before) for chunk in chunks):
            words[word.root.name] = chunks
    return Found(words, _gone(e, block, words)) if words else NOTHING


def _chunks(e: Emitter, block: Block, word: FlagWord) -> tuple[Chunk, ...]:
    """All bits of a word; none where some of its answers are made like no others."""
    made: list[Chunk] = []
    at, left = min(word.answers), len(word.answers)
    while left:
        answers = [word.answers.get(bit) for bit in range(at, at + left)]
        chunk = None
        for size in SIZES:
            own = [a for a in answers[:size] if a is not None]
            if len(own) == size and (chunk := _chunk(e, block, own, at)) is not None:
                break
        if chunk is None:
            return ()
        made.append(chunk)
        at, left = at + len(chunk.answers), left - len(chunk.answers)
    return tuple(made)


def _chunk(e: Emitter, block: Block, answers: list[Answer], low: int) -> Chunk | None:
    """Bits of a word, if they are made alike."""
    packs = Packs(e.function, block, e.out.layout, lambda v: _shape(e, v))
    packs.made.update({i.name: i for a in answers for i in a.code})
    places = [_place(e, packs, a.value) for a in answers]
    numbers = list(range(len(answers)))
    if len({base for base, _ in places}) == 1:
        numbers.sort(key=lambda n: places[n][1])
    values = tuple(answers[n].value for n in numbers)
    if not packs.collect(values):
        return None
    order = tuple(sorted(range(len(numbers)), key=numbers.__getitem__))
    return Chunk(low, values, order, packs, _end_to_end(e, packs))


def _shape(e: Emitter, value: Value) -> LaneShape | None:
    """None of what only we have written."""
    known = isinstance(value, Local) and value.name in e.function.definitions
    return e.shape(value) if known else None


def _place(e: Emitter, packs: Packs, value: Value) -> tuple[Value | None, int]:
    """Where an answer's first load goes."""
    work = [value]
    while work:
        i = packs.made.get(v.name) if isinstance(v := work.pop(), Local) else None
        if i is not None and i.opcode == "load":
            return constant_base(e.function, i.operands[0], e.out.layout)
        if i is not None and i.opcode not in ("getelementptr", "call"):
            work += reversed(i.operands)
    return None, 0


def _end_to_end(e: Emitter, packs: Packs) -> bool:
    """Whether the rows of all lanes lie one behind the other, or are the same row."""
    for loads in packs.loads():
        base, _ = constant_base(e.function, loads[0].operands[0], e.out.layout)
        shape, size = e.shape(base), memory_type(loads[0].type)[1] * len(loads)
        if shape is None or (not shape.exact and any(c for c, _ in shape.terms)):
            return False
        row = is_row(spots(shape.terms, e.width), size) and packs.steps[tuple(i.name for i in loads)] == 1
        if not (shape.uniform or row):
            return False
    return e.width == 1 or e.width % LEAST == 0


def _pays(e: Emitter, chunk: Chunk, before: tuple[Instruction, ...]) -> bool:
    """Whether it is less than columns; nobody has to look at bounds, and nothing changes what is loaded later."""
    loads = chunk.packs.loads()
    if not may_load_late(e, [i for pack in loads for i in pack], before):
        return False
    rows = sum(turned(e, pack) for pack in loads)
    if e.width == 1 or (chunk.end_to_end and e.mask is None):
        return e.width == 1 or rows > 0  # not what all lanes load
    columns = FOUND * sum(map(len, loads)) if e.mask is not None else rows
    return columns + ANSWER * len(chunk.answers) / e.out.target.lanes32 > len(loads) + TURN


def _gone(e: Emitter, block: Block, words: Mapping[str, tuple[Chunk, ...]]) -> frozenset[str]:
    """What only the words are made of."""
    kept = {name for chunks in words.values() for chunk in chunks for name in chunk.packs.shared}
    gone: set[str] = set()
    for i in reversed(block.body):
        users = e.function.users.get(i.name, ())
        if not users or i.name in kept or i.name in words or not _is_pure(i):
            continue
        if all(u.name in words or u.name in gone for u in users):
            gone.add(i.name)
    return frozenset(gone)


def _is_pure(i: Instruction) -> bool:
    if isinstance(i.type, PointerType) or i.ordering:
        return False
    return i.opcode in PURE or (i.opcode == "load" and not i.flags) or i.called.startswith(CALLS)
