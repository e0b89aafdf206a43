"""Kernels that find row and column of a flat index: once more for gangs whose lanes are all in one row.

`i / width` and `i % width` are a division for each lane, and what they lead to is looked up lane by lane: a gather,
where rows lie one behind the other. Most gangs lie inside one row. For those the quotient is a number, the rest counts
up from lane to lane, and what follows is written as for a grid of two dimensions. Which it is, is one scalar test.
Where the processor loads and stores some lanes in one instruction, gangs across two or three rows go through them one
by one, each with the lanes that are in it.

Indices that are cut off at the ends of a row (`cut_off.py`) are such a case as well: most gangs are far from both.
"""

from __future__ import annotations

from collections.abc import Callable

from metalloid.analysis.intervals import NO_WRAP, is_no_wrap
from metalloid.analysis.uniformity import Uniformity
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.intrinsics import BARRIER, BETWEEN, FEW_ROWS, LAST_ROW, ROW, SAME_ROW, among_lanes
from metalloid.ir.module import CallStyle
from metalloid.ir.types import I1, I32, PTR, VOID, IntType
from metalloid.ir.values import Global, Int, Local, Value
from metalloid.records import dataclass, replace
from metalloid.transforms.cut_off import MOST as MOST_CLAMPS
from metalloid.transforms.cut_off import Clamp, Limits, clamp_of, hoisted, is_count, uncut

DIVISIONS = ("udiv", "sdiv", "urem", "srem")
MOST = 400  # instructions that are written twice
SHORT = 80  # that are written a third time
_BY_ZERO = {"eq": 0, "ne": 1}


@dataclass(frozen=True)
class _Cut:
    """Where the function is parted: before one instruction of a block; and what is divided from there on."""

    block: str
    at: int
    divided: tuple[tuple[Value, Value], ...]
    copied: tuple[str, ...]  # the blocks behind it that only it leads to
    clamps: tuple[Clamp, ...] = ()  # what is cut off from there on
    early: tuple[Instruction, ...] = ()  # what they need, which is done before


def in_one_row(
    function: Function, known: Uniformity, loops: frozenset[str], some_lanes: bool
) -> tuple[Function, frozenset[str]]:
    """The function with a second copy of all that follows its first division of lanes; and the names of `loops`, with
    those of their copies. `some_lanes`: the processor loads and stores some lanes in one instruction."""
    cut = _cut(function, known)
    if cut is None:
        return function, loops
    each = some_lanes and len(cut.divided) == 1 and not cut.clamps and _is_short(function, known, cut)
    copied = {n for n in loops if n in cut.copied}
    return _Writer(function, cut, each).write(), loops | {_second(n) for n in copied}


def _is_short(function: Function, known: Uniformity, cut: _Cut) -> bool:
    """Whether what follows may be written a third time: it is short, and has no loop."""
    code = len(function.block[cut.block].instructions) - cut.at
    code += sum(len(function.block[name].instructions) for name in cut.copied)
    return code <= SHORT and not {cut.block, *cut.copied} & known.flow.forest.loops.keys()


def _second(name: str) -> str:
    return f"{name}.row"


def _third(name: str) -> str:
    return f"{name}.each"


def _cut(function: Function, known: Uniformity) -> _Cut | None:
    if any(i.called == BARRIER or among_lanes(i) for i in function.instructions()):
        return None
    names = function.definitions.keys() | function.block.keys()
    for name in known.flow.order:
        for at, i in enumerate(function.block[name].instructions):
            if _divides(known, i) or clamp_of(known, i) is not None:
                copied = _behind(function, known, name)
                taken = any(other(n) in names for n in names for other in (_second, _third))
                return None if copied is None or taken else _found(function, known, name, at, copied)
    return None


def _found(function: Function, known: Uniformity, name: str, at: int, copied: tuple[str, ...]) -> _Cut | None:
    block = function.block[name]
    code = [*block.instructions[at:], *(i for b in copied for i in function.block[b].instructions)]
    if len(code) > MOST:
        return None
    late = {i.name for i in code if i.name}
    early = [i for i in code if _divides(known, i) and not late.intersection(i.uses)]
    pairs = dict.fromkeys((i.operands[0], i.operands[1]) for i in early)
    clamps, before = _clamps(function, known, name, at)
    return _Cut(name, at, tuple(pairs), copied, clamps, before) if pairs or clamps else None


def _clamps(
    function: Function, known: Uniformity, name: str, at: int
) -> tuple[tuple[Clamp, ...], tuple[Instruction, ...]]:
    """What a block cuts off behind a place, as far as arithmetic alone leads there; and that arithmetic."""
    found: list[Clamp] = []
    needed: dict[str, Instruction] = {}
    for i in function.block[name].instructions[at:]:
        clamp = clamp_of(known, i) if len(found) < MOST_CLAMPS else None
        before = None
        if clamp is not None:
            wanted = (clamp.whole, clamp.number, clamp.limits.low, clamp.limits.high)
            before = hoisted(function, name, at, wanted)
        if clamp is not None and before is not None:
            found.append(clamp)
            needed |= {i.name: i for i in before}
    return tuple(found), tuple(i for i in function.block[name].instructions[at:] if i.name in needed)


def _divides(known: Uniformity, i: Instruction) -> bool:
    """Whether lanes that count up are divided by one number, and nothing is known of the result."""
    if i.opcode not in DIVISIONS or i.type != IntType(32):
        return False
    number, by = known.shape(i.operands[0]), known.shape(i.operands[1])
    if number is None or by is None or not by.uniform or known.shape(i.value) is not None:
        return False
    if not is_count(number):
        return False
    divisor = i.operands[1]
    return not isinstance(divisor, Int) or max(number.pattern or (0,)) < divisor.signed


def _behind(function: Function, known: Uniformity, name: str) -> tuple[str, ...] | None:
    """The blocks that a block leads to, less an empty end that others lead to as well; None where it cannot be
    parted."""
    graph = known.flow.graph
    found = graph.reachable_from(name)
    if name in found:
        return None
    behind = tuple(b.name for b in function.blocks if b.name in found and not _is_end(b))
    return behind if all(known.flow.dominators.dominates(name, b) for b in behind) else None


def _is_end(block: Block) -> bool:
    return len(block.instructions) == 1 and block.terminator.opcode == "ret"


class _Writer:
    """Writes both copies of what is behind a cut."""

    def __init__(self, function: Function, cut: _Cut, each: bool) -> None:
        self.function, self.cut, self.each = function, cut, each
        ends = [b.name for b in function.blocks if _is_end(b)]
        self.end = ends[0] if ends else "row.end"
        self.rows: dict[tuple[Value, ...], Value] = {}  # of the gang, by number and divisor
        self.uncut: dict[str, Value] = {}  # what clamps are where nothing is cut off

    def write(self) -> Function:
        function, cut = self.function, self.cut
        block = function.block[cut.block]
        head = (*block.instructions[: cut.at], *cut.early)
        rest = Block(cut.block, tuple(i for i in block.instructions[cut.at :] if i not in cut.early))
        inside = [rest, *(function.block[name] for name in cut.copied)]
        tests, flag = self._tests()
        first = Block(
            block.name,
            (
                *head,
                *tests,
                Instruction("br", VOID, (flag,), labels=(_second(block.name), f"{block.name}.rows")),
            ),
        )
        others = [b for b in function.blocks if b.name not in {i.name for i in inside}]
        names = {block.name: f"{block.name}.rows"}
        plain = [self._ended(Block(names.get(b.name, b.name), _led(b, names))) for b in inside]
        made = [first, *plain, *self._copies(inside, _second, self.end), *others]
        if self.each:
            made[0] = Block(
                first.name,
                (
                    *first.instructions[:-1],
                    first.terminator.relabel({names[block.name]: f"{block.name}.some"}),
                ),
            )
            made += self._row_by_row(block.name, inside)
        if self.end not in function.block:
            made.append(Block(self.end, (Instruction("ret", VOID),)))
        root = function.entry.name
        return function.with_blocks(
            (
                next(b for b in made if b.name == root),
                *(b for b in made if b.name != root),
            )
        )

    def _tests(self) -> tuple[list[Instruction], Value]:
        code: list[Instruction] = []
        flags: list[Value] = []
        for n, pair in enumerate(self.cut.divided):
            row = _call(ROW, IntType(32), pair, f"row.{n}")
            one = _call(SAME_ROW, I1, (*pair, row.value), f"same.row.{n}")
            code += row, one
            self.rows[pair] = row.value
            flags.append(one.value)
        steps: dict[str, Instruction] = {}
        clamps = {clamp.name: clamp for clamp in self.cut.clamps}
        numbers: list[tuple[Value, Limits]] = []
        for name, clamp in clamps.items():
            self.uncut[name] = uncut(self.function, clamps, clamp.whole, steps)
            numbers.append((uncut(self.function, clamps, clamp.number, steps), clamp.limits))
        code += steps.values()
        for n, (number, limits) in enumerate(dict.fromkeys(numbers)):
            high = limits.high
            if limits.below:
                code.append(Instruction("sub", I32, (high, Int(I32, 1)), f"below.{n}"))
                high = code[-1].value
            made = [_call(BETWEEN, I1, (number, limits.low, high), f"between.{n}")]
            for limit in limits.positive:
                made.append(Instruction("icmp", I1, (limit, Int(I32, 0)), f"positive.{n}", predicate="sge"))
            code += made
            flags += [i.value for i in made]
        flag = flags[0]
        for n, other in enumerate(flags[1:]):
            code.append(Instruction("and", I1, (flag, other), name=f"same.rows.{n}"))
            flag = code[-1].value
        return code, flag

    def _ended(self, block: Block, end: str = "") -> Block:
        """A copy jumps to the one end."""
        if block.terminator.opcode != "ret" and not end:
            return block
        if block.terminator.opcode != "ret":
            return Block(block.name, (*block.instructions[:-1], block.terminator.relabel({self.end: end})))
        jump = Instruction("br", VOID, labels=(end or self.end,), metadata=block.terminator.metadata)
        return Block(block.name, (*block.instructions[:-1], jump))

    def _row_by_row(self, name: str, inside: list[Block]) -> list[Block]:
        """A loop over the rows of a gang: those lanes of it run a copy that are in the row."""
        (pair,) = self.cut.divided
        number, by = pair
        some, before, loop, next, done = (f"{name}.{x}" for x in ("some", "before", "loop", "next", "done"))
        first = self.rows[pair]
        few, last = _call(FEW_ROWS, I1, pair, "few.rows"), _call(LAST_ROW, I32, pair, "last.row")
        now, then = Local("now.row", I32), Local("next.row", I32)
        start = Instruction("mul", I32, (now, by), name="now.first")
        rest = Instruction("sub", I32, (number, start.value), name="now.rest")
        mine = Instruction("icmp", I1, (rest.value, by), name="now.mine", predicate="ult")
        more = Instruction("icmp", I1, (now, last.value), name="more.rows", predicate="ult")
        self.rows[pair] = now
        copies = [_may_wrap(b) for b in self._copies(inside, _third, next)]
        self.rows[pair] = first
        return [
            Block(some, (few, last, _branch(few.value, before, f"{name}.rows"))),
            Block(before, (_jump(loop),)),
            Block(loop, (
                Instruction("phi", I32, (first, then), name=now.name, labels=(before, next)),
                *(start, rest, mine, _branch(mine.value, _third(name), next)),
            )),
            *copies,
            Block(next, (
                Instruction("add", I32, (now, Int(I32, 1)), name=then.name), more, _branch(more.value, loop, done),
            )),
            Block(done, (_jump(self.end),)),
        ]  # fmt: skip

    def _copies(self, inside: list[Block], other: Callable[[str], str], end: str) -> list[Block]:
        """The blocks as they run where all lanes are in one row."""
        names = {b.name: other(b.name) for b in inside}
        values: dict[str, Value] = {
            i.name: Int(I1, n) for i in self.function.instructions() if (n := self._never(i)) is not None
        }
        values |= self.uncut
        made = []
        for block in inside:
            for i in block.instructions:
                if i.name and i.name not in values:
                    values[i.name] = Local(other(i.name), i.type)
        for block in inside:
            code: list[Instruction] = []
            for i in _led(block, names):
                code += self._copy(i, values, other)
            made.append(self._ended(Block(names[block.name], tuple(code)), end if end != self.end else ""))
        return made

    def _never(self, i: Instruction) -> int | None:
        """What a comparison of a divisor with 0 says in one row: it is not."""
        if i.opcode != "icmp" or i.predicate not in _BY_ZERO or not _is_zero(i.operands[1]):
            return None
        return _BY_ZERO[i.predicate] if any(i.operands[0] == by for _, by in self.cut.divided) else None

    def _copy(
        self, i: Instruction, values: dict[str, Value], other: Callable[[str], str]
    ) -> list[Instruction]:
        if i.name in self.uncut:
            return []
        name = other(i.name) if i.name else ""
        if i.opcode in DIVISIONS and i.operands in self.cut.divided:
            row = self.rows[i.operands]
            if i.opcode[1:] == "div":
                return [Instruction("freeze", i.type, (row,), name=name)]
            first = Instruction("mul", i.type, (row, i.operands[1]), name=f"{name}.first")
            return [first, Instruction("sub", i.type, (i.operands[0], first.value), name=name)]
        made = i.substitute(values)
        if made.opcode == "select" and isinstance(made.operands[0], Int):
            chosen = made.operands[1 if made.operands[0].value else 2]
            return [Instruction("freeze", i.type, (chosen,), name=name, metadata=i.metadata)]
        return [replace(made, name=name)]


def _may_wrap(block: Block) -> Block:
    """The block without what was proved of its indices: a rest is below zero in lanes before the row."""
    return Block(
        block.name,
        tuple(
            replace(i, metadata=tuple(m for m in i.metadata if m[0] != NO_WRAP)) if is_no_wrap(i) else i
            for i in block.instructions
        ),
    )


def _is_zero(value: Value) -> bool:
    return isinstance(value, Int) and value.value == 0


def _led(block: Block, names: dict[str, str]) -> tuple[Instruction, ...]:
    return tuple(i.relabel(names) for i in block.instructions)


def _branch(flag: Value, yes: str, no: str) -> Instruction:
    return Instruction("br", VOID, (flag,), labels=(yes, no))


def _jump(to: str) -> Instruction:
    return Instruction("br", VOID, labels=(to,))


def _call(name: str, type: IntType, operands: tuple[Value, ...], result: str) -> Instruction:
    return Instruction("call", type, operands, name=result, callee=Global(name, PTR), style=CallStyle())
