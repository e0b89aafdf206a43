"""Kernels that find row and column of a flat index, for gangs that are told their rows.

A gang that starts anywhere and ends where its row does need not look for it: `i / width` is a number that it is told,
and `i % width` counts up from lane to lane. `backends/cpu/lower/row_gangs.py` tells them.
"""

from __future__ import annotations

from metalloid.analysis.divergence import Flow
from metalloid.analysis.intervals import STREAMED, is_fixed, is_proved
from metalloid.analysis.uniformity import Uniformity
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.intrinsics import BUFFER, GIVEN_ROW, Effect, effect, family
from metalloid.ir.module import CallStyle
from metalloid.ir.types import I1, I32, PTR, IntType
from metalloid.ir.values import Global, Int, Local, Value
from metalloid.records import replace
from metalloid.transforms.one_row import DIVISIONS

Pair = tuple[Value, Value]  # a number and its divisor
MOST = 3  # pairs of a kernel
_EXTREMES = ("llvm.umax.", "llvm.umin.", "llvm.smax.", "llvm.smin.")  # of divisors, most of all: 0 is 1
_NEVER = {"eq": 0, "ne": 1}
_PLAIN = frozenset("add sub mul shl lshr and or xor zext sext trunc freeze getelementptr".split())


def divided(known: Uniformity, guard: bool, least: int) -> tuple[Pair, ...]:
    """Numbers that count up from lane to lane, with what they are divided by, where both can be said before the first
    of a threadgroup's threads runs. Rows of fewer than `least` are left alone, as far as that is in the text."""
    function = known.flow.function
    found: dict[Pair, None] = {}
    for name in known.flow.order:
        for i in function.block[name].instructions:
            if i.opcode in DIVISIONS and _counts(known, i, least):
                number, by = i.operands
                if all(_early(known, value, guard) for value in (number, by)):
                    found[number, by] = None
    return tuple(found)[:MOST]


def needed(flow: Flow, pairs: tuple[Pair, ...]) -> list[Instruction]:
    """What the pairs are computed by, in order."""
    function = flow.function
    names: set[str] = set()
    work = [v.name for pair in pairs for v in pair if isinstance(v, Local)]
    while work:
        name = work.pop()
        if name not in names:
            names.add(name)
            work += function.definitions[name].uses
    return [i for name in flow.order for i in function.block[name].instructions if i.name in names]


def given_rows(function: Function, pairs: tuple[Pair, ...]) -> Function:
    """The function of gangs that lie inside one row of each pair."""
    names = [f"given.row.{n}" for n in range(len(pairs))]
    assert not function.definitions.keys() & set(names)
    told = [
        Instruction("call", number.type, (Int(I32, n),), name=name, callee=Global(GIVEN_ROW, PTR), style=CallStyle())
        for n, (name, (number, _)) in enumerate(zip(names, pairs, strict=True))
    ]  # fmt: skip
    rows = {pair: i.value for pair, i in zip(pairs, told, strict=True)}
    known = {i.name: Int(I1, n) for i in function.instructions() if (n := _by_zero(i, pairs)) is not None}
    blocks = []
    for block in function.blocks:
        code = [new for i in block.instructions for new in _inside(_chosen(i.substitute(known)), rows)]
        blocks.append(Block(block.name, (*told, *code) if block.name == function.entry.name else tuple(code)))
    return function.with_blocks(tuple(blocks))


def _by_zero(i: Instruction, pairs: tuple[Pair, ...]) -> int | None:
    """What a comparison of a divisor with 0 says: it is not."""
    if i.opcode != "icmp" or i.predicate not in _NEVER or not any(i.operands[0] == by for _, by in pairs):
        return None
    return _NEVER[i.predicate] if isinstance(i.operands[1], Int) and not i.operands[1].value else None


def _chosen(i: Instruction) -> Instruction:
    """A select whose condition is known as what it selects."""
    if i.opcode != "select" or not isinstance(i.operands[0], Int):
        return i
    value = i.operands[1 if i.operands[0].value else 2]
    return Instruction("freeze", i.type, (value,), name=i.name, metadata=i.metadata)


def _inside(i: Instruction, rows: dict[Pair, Local]) -> list[Instruction]:
    """An instruction inside of one row. Stores that were to go past the caches are aligned no longer."""
    if i.opcode == "store":
        return [replace(i, metadata=tuple(m for m in i.metadata if not m[0].startswith(STREAMED)))]
    if i.opcode not in DIVISIONS or i.operands not in rows:
        return [i]
    number, by = i.operands
    row = rows[number, by]
    if i.opcode[1:] == "div":
        return [Instruction("freeze", i.type, (row,), name=i.name)]
    first = Instruction("mul", i.type, (row, by), name=f"{i.name}.first")
    return [first, Instruction("sub", i.type, (number, first.value), name=i.name)]


def _counts(known: Uniformity, i: Instruction, least: int) -> bool:
    """Whether neighbours are divided by one number."""
    number, by = (known.shape(o) for o in i.operands)
    if i.type not in (IntType(32), IntType(64)) or number is None or by is None or not by.uniform:
        return False
    divisor = i.operands[1]
    if isinstance(divisor, Int) and divisor.signed < least:
        return False
    return number.exact and number.pattern == tuple(range(known.lanes.width))


def _early(known: Uniformity, value: Value, guard: bool) -> bool:
    """Whether a value can be computed before the first thread runs: all that it is made of can."""
    made = needed(known.flow, ((value, value),))
    return isinstance(value, Int | Local) and all(_is_early(known, i, guard) for i in made)


def _is_early(known: Uniformity, i: Instruction, guard: bool) -> bool:
    if i.opcode == "call":
        place = family(i.called) == "position" and not known.lanes.looks_up(i)
        return place or i.called == BUFFER or i.called.startswith(_EXTREMES)
    if i.opcode == "load":
        plain = not (i.ordering or "volatile" in i.flags or any(known.varies(o) for o in i.operands))
        return plain and (is_proved(i) or not guard) and (_of_launch(known, i) or _comes_first(known, i))
    return i.opcode in _PLAIN


def _of_launch(known: Uniformity, load: Instruction) -> bool:
    """Whether a load is of a number that the launch has its own copy of, wherever it stands."""
    (pointer,) = load.operands
    made = needed(known.flow, ((pointer, pointer),))
    return is_fixed(load) and all(
        i.called == BUFFER or all(isinstance(o, Int) for o in i.operands[1:]) for i in made
    )


def _comes_first(known: Uniformity, load: Instruction) -> bool:
    """Whether every thread begins with a load, before anything is written."""
    for i in known.flow.function.entry.instructions:
        if i.name == load.name:
            return True
        if effect(i) & (Effect.WRITES | Effect.ORDERS):
            return False
    return False
