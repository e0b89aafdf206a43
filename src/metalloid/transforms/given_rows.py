"""Kernels that find row and column of a flat index, for gangs that are told their rows.

A gang that starts anywhere and ends where its row does need not look for it: `i / width` is a number that it is told,
and `i % width` counts up from lane to lane. Rows have rows, too: in `i / width % height` it is the quotient that is
divided, and a plane ends with the last of its rows. In `e = i % plane; e / width; e % width` it is the rest, which
counts up from lane to lane once its own row is told: pairs are found in rounds. `backends/cpu/lower/row_gangs.py` tells
them.
"""

from __future__ import annotations

from metalloid.analysis.divergence import Flow
from metalloid.analysis.intervals import STREAMED, is_fixed, is_proved
from metalloid.analysis.polynomials import Polynomial, less, polynomial, times
from metalloid.analysis.uniformity import Uniformity
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.intrinsics import BUFFER, GIVEN_ROW, Effect, effect, family
from metalloid.ir.module import CallStyle
from metalloid.ir.types import I1, I32, PTR, IntType
from metalloid.ir.values import Global, Int, Local, Value
from metalloid.records import replace
from metalloid.transforms.one_row import DIVISIONS

Pair = tuple[Value, Value]  # a number and its divisor
MOST = 6  # pairs of a kernel
_EXTREMES = ("llvm.umax.", "llvm.umin.", "llvm.smax.", "llvm.smin.")  # of divisors, most of all: 0 is 1
_NEVER = {"eq": 0, "ne": 1}
_PLAIN = frozenset("add sub mul shl lshr and or xor zext sext trunc freeze getelementptr".split())


def divided(
    known: Uniformity, guard: bool, least: int, register: int, told: tuple[Pair, ...]
) -> tuple[Pair, ...]:
    """Numbers that count up from lane to lane, with what they are divided by, where both can be said before the first
    of a threadgroup's threads runs; quotients and rests of such pairs, with what they are divided by. `told` are those
    whose rows the function is told already. Rows of fewer than `least` are left alone, as far as that is in the text,
    and those that a register has several of, whose lanes are known."""
    function = known.flow.function
    found: dict[Pair, None] = {}
    for name in known.flow.order:
        for i in function.block[name].instructions:
            if i.opcode not in DIVISIONS or i.type not in (IntType(32), IntType(64)):
                continue
            number, by = i.operands
            counts = _counts(known, i, least, register) and (
                _early(known, number, guard) or _is_rest(function, number, told)
            )
            of_rows = _quotient(function, number, (*told, *found)) is not None and _is_positive(by)
            if (counts or of_rows) and _early(known, by, guard):
                found[number, by] = None
    return tuple(found)[: MOST - len(told)]


def parents(function: Function, pairs: tuple[Pair, ...]) -> tuple[int | None, ...]:
    """Of each pair, that whose quotient it divides."""
    return tuple(_quotient(function, number, pairs[:n]) for n, (number, _) in enumerate(pairs))


def late(flow: Flow, pairs: tuple[Pair, ...]) -> frozenset[int]:
    """The pairs that divide a rest, or its quotient: their numbers are known once another pair's row is."""
    found: set[int] = set()
    for n, parent in enumerate(parents(flow.function, pairs)):
        made = needed(flow, pairs[n][:1])
        if parent in found or (parent is None and any(i.called == GIVEN_ROW for i in made)):
            found.add(n)
    return frozenset(found)


def _quotient(function: Function, value: Value, pairs: tuple[Pair, ...]) -> int | None:
    """The pair whose quotient a value is."""
    i = _made(function, value)
    if i is not None and i.opcode in ("udiv", "sdiv") and i.operands in pairs:
        return pairs.index(i.operands)
    return _told(i)


def _told(i: Instruction | None) -> int | None:
    """The pair whose row an instruction is told."""
    if i is None or i.called != GIVEN_ROW:
        return None
    (number,) = i.operands
    return number.value if isinstance(number, Int) else None


def _is_rest(function: Function, value: Value, told: tuple[Pair, ...]) -> bool:
    """Whether a value is what a pair's row leaves of its number."""
    whole = polynomial(function, value) if told else None
    if whole is None:
        return False
    calls = (i for i in function.entry.instructions if i.called == GIVEN_ROW)
    rows: dict[int | None, Polynomial] = {_told(i): {(i.name,): 1} for i in calls}
    for n, (number, by) in enumerate(told):
        bits = number.type.bits if isinstance(number.type, IntType) else 0
        left, each = polynomial(function, number), polynomial(function, by)
        before = times(rows[n], each, bits) if each is not None else None
        if left is None or before is None or number.type != value.type:
            continue
        if less(left, before, bits) == whole:
            return True
    return False


def _bare(function: Function, value: Value) -> Value:
    """A value without `freeze` around it."""
    while isinstance(value, Local) and function.definitions[value.name].opcode == "freeze":
        (value,) = function.definitions[value.name].operands
    return value


def _made(function: Function, value: Value) -> Instruction | None:
    value = _bare(function, value)
    return function.definitions[value.name] if isinstance(value, Local) else None


def _is_positive(by: Value) -> bool:
    return not isinstance(by, Int) or by.signed > 0


def flat(function: Function, pairs: tuple[Pair, ...]) -> tuple[Value, ...]:
    """The divisors of numbers that count up from lane to lane."""
    of = parents(function, pairs)
    return tuple(by for (_, by), parent in zip(pairs, of, strict=True) if parent is None)


def early(flow: Flow, pairs: tuple[Pair, ...]) -> tuple[Value, ...]:
    """What has to be known before the first thread runs: all divisors, and numbers that no other pair's row tells."""
    of, after = parents(flow.function, pairs), late(flow, pairs)
    numbers = (pairs[n][0] for n, parent in enumerate(of) if parent is None and n not in after)
    return (*(by for _, by in pairs), *numbers)


def innermost(flow: Flow, pairs: tuple[Pair, ...]) -> int:
    """The pair with the shortest rows, as far as the text says: other divisors are products of its, or its quotient is
    divided again."""
    of = parents(flow.function, pairs)

    def inside(n: int) -> int:
        by = pairs[n][1]
        names = [{i.name for i in needed(flow, (other,))} for _, other in pairs if other != by]
        return of.count(n) + sum(isinstance(by, Local) and by.name in found for found in names)

    return max(range(len(pairs)), key=inside)


def needed(flow: Flow, values: tuple[Value, ...]) -> list[Instruction]:
    """What values are computed by, in order."""
    function = flow.function
    names: set[str] = set()
    work = [v.name for v in values if isinstance(v, Local)]
    while work:
        name = work.pop()
        if name not in names:
            names.add(name)
            work += function.definitions[name].uses
    return [i for name in flow.order for i in function.block[name].instructions if i.name in names]


def given_rows(function: Function, pairs: tuple[Pair, ...], first: int) -> Function:
    """The function of gangs that lie inside one row of each pair, of which `first` is the number of the first."""
    names = [f"given.row.{n}" for n in range(first, first + len(pairs))]
    assert not function.definitions.keys() & set(names)
    told = [
        Instruction("call", number.type, (Int(I32, n),), name=name, callee=Global(GIVEN_ROW, PTR), style=CallStyle())
        for n, (name, (number, _)) in enumerate(zip(names, pairs, strict=True), first)
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


def _counts(known: Uniformity, i: Instruction, least: int, register: int) -> bool:
    """Whether neighbours are divided by one number."""
    number, by = (known.shape(o) for o in i.operands)
    if number is None or by is None or not by.uniform:
        return False
    divisor = i.operands[1]
    if isinstance(divisor, Int):
        rows = divisor.signed
        if rows < least or (rows < register and register % rows == 0):
            return False
    return number.exact and number.pattern == tuple(range(known.lanes.width))


def _early(known: Uniformity, value: Value, guard: bool) -> bool:
    """Whether a value can be computed before the first thread runs: all that it is made of can."""
    made = needed(known.flow, (value,))
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
    made = needed(known.flow, (pointer,))
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
