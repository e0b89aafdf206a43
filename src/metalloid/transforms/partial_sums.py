"""Sums that a loop adds up one by one, as several sums at once: s += a[i] becomes s0 += a[i], s1 += a[i + 1], ...

Where the author lets sums be reordered, a loop of one lane is to fill registers. LLVM would do that as well, but which
loops it takes, and in what order it adds, depends on what else stands in them: a guard is enough to change the last
bits. Done here, from the loop's form alone, the order is part of the program, and all code of a kernel has the same.

    many:  run `count` rounds at once, each for a sum of its own, as long as so many are left
    few:   add the sums up, by halves; go round the old loop for what is left, or a second time with fewer rounds
"""

from __future__ import annotations

from metalloid.analysis.intervals import NO_WRAP
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.loops import Loop, loops
from metalloid.ir.types import BFLOAT, I1, PTR, FloatType, IntType
from metalloid.ir.values import Global, Int, Local, Value, const, poison
from metalloid.records import dataclass, replace

TOTAL = "llvm.partial.total"  # of sums, by halves; the engine's own
MOST = 1024  # instructions of the rounds that run at once
_WIDENED = {"slt": "sext", "ult": "zext"}  # by the order that a counter goes up in
_ANY_ORDER = ("add", "mul", "and", "or", "xor")
_COUNTS_UP = {"eq": "", "ne": "", "ult": "ult", "slt": "slt", "ugt": "ult", "sgt": "slt"}


@dataclass(frozen=True)
class Row:
    """A loop of one block that adds up sums."""

    header: str
    outside: str  # the block before it
    behind: str  # the block that it leaves to
    sums: tuple[str, ...]  # phis
    counter: str  # the phi that says when it ends
    step: int
    limit: Value
    order: str  # "ult" or "slt": as long as the counter is below the limit; "": until it is the limit
    tag: str = ""  # of its names, where it is split a second time

    def split(self) -> str:
        """The name of the loop that runs many rounds at once."""
        return f"{self.header}.many{self.tag}"


def rows(function: Function) -> tuple[Row, ...]:
    """The loops whose sums may be split."""
    forest = loops(function)
    return tuple(row for loop in forest.loops.values() if (row := _row(function, loop)) is not None)


def split(function: Function, row: Row, counts: tuple[int, ...]) -> Function:
    """The function with as many rounds of the loop at once as `counts` says, as many sums in the place of each; then
    with fewer, and the old loop for the rest. It is left alone where it is no longer there, or would be too long."""
    for n, count in enumerate(counts):
        if n:
            loop = loops(function).loops.get(row.header)
            found = _row(function, loop) if loop is not None else None
            if found is None:
                return function
            row = replace(found, tag=_tag(n))
        made = _split(function, row, count)
        if made is function:
            break
        function = made
    return function


def splits(row: Row, counts: tuple[int, ...]) -> list[str]:
    """The names of the loops that `split` makes."""
    return [replace(row, tag=_tag(n)).split() for n in range(len(counts))]


def _tag(n: int) -> str:
    return f".{n + 1}" if n else ""


def _split(function: Function, row: Row, count: int) -> Function:
    loop = loops(function).loops.get(row.header)
    if loop is None or _row(function, loop) != replace(row, tag=""):
        return function
    body = function.block[row.header]
    if count < 2 or count * len(body.body) > MOST or count * row.step > _largest(row):
        return function
    made = _Split(function, row, count)
    new = [*made.blocks(), made.rest()]
    blocks: list[Block] = []
    for block in function.blocks:
        if block.name == row.outside:
            blocks.append(_led(block, row.header, row.split()))
        elif block.name == row.header:
            blocks += new
        elif block.name == row.behind:
            blocks.append(made.after(block))
        else:
            blocks.append(block)
    return function.with_blocks(tuple(blocks))


def _largest(row: Row) -> int:
    """What the counter holds: so many rounds have to fit, or it would go round on the way."""
    assert isinstance(row.limit.type, IntType)
    return (1 << row.limit.type.bits) - 1


def _row(function: Function, loop: Loop) -> Row | None:
    block = function.block[loop.header]
    if loop.blocks != {loop.header} or len(loop.exits) != 1:
        return None
    sources = {s for phi in block.phis for s in phi.labels} - {loop.header}
    end = block.terminator
    if len(sources) != 1 or end.opcode != "br" or len(end.labels) != 2:
        return None
    outside, behind = sources.pop(), loop.exits[0][1]
    into = function.block[outside].terminator.labels
    if into.count(loop.header) != 1 or behind == loop.header:
        return None
    counted = _counted(function, block, end)
    floats = [phi for phi in block.phis if isinstance(phi.type, FloatType)]
    sums = tuple(phi.name for phi in floats if is_sum(function, block, phi))
    return Row(loop.header, outside, behind, sums, *counted) if counted and sums else None


def _counted(function: Function, block: Block, end: Instruction) -> tuple[str, int, Value, str] | None:
    """The counter that the loop ends by, its step, the limit and how both are compared."""
    test = function.definitions.get(end.operands[0].name) if isinstance(end.operands[0], Local) else None
    if test is None or test.opcode != "icmp" or function.home[test.name] != block.name:
        return None
    stays, left, right = end.labels[0] == block.name, *test.operands
    predicate = test.predicate
    if predicate in ("ugt", "sgt"):
        left, right = right, left
    if predicate not in _COUNTS_UP or stays is (predicate == "eq"):
        return None
    if isinstance(right, Local) and function.home.get(right.name) == block.name:
        return None
    for phi in block.phis:
        added = _back(function, block, phi)
        if added is None or added.value != left or added.opcode != "add" or added.operands[0] != phi.value:
            continue
        step, order = added.operands[1], _COUNTS_UP[predicate]
        if isinstance(step, Int) and (step.signed == 1 or (order and 0 < step.signed <= 64)):
            return phi.name, step.signed, right, order
    return None


def _back(function: Function, block: Block, phi: Instruction) -> Instruction | None:
    """What makes a phi's next value, if the loop itself does."""
    value = next((v for v, source in phi.cases if source == block.name), None)
    if not isinstance(value, Local) or function.home.get(value.name) != block.name:
        return None
    return function.definitions[value.name]


def counted(function: Function, loop: Loop) -> tuple[str, str, Value] | None:
    """Of a loop of one block that counts up by one until it is at its limit: the block before it, the counter, the
    limit."""
    block = function.block[loop.header]
    if loop.blocks != {loop.header} or len(loop.exits) != 1 or len(block.terminator.labels) != 2:
        return None
    sources = {s for phi in block.phis for s in phi.labels} - {loop.header}
    found = _counted(function, block, block.terminator)
    if found is None or len(sources) != 1:
        return None
    counter, step, limit, order = found
    return None if order or step != 1 else (sources.pop(), counter, limit)


def ends_by_count(function: Function, header: str) -> bool:
    """Whether a loop of one block ends when a counter gets to a limit."""
    block = function.block[header]
    return len(block.terminator.labels) == 2 and _counted(function, block, block.terminator) is not None


def is_sum(function: Function, block: Block, phi: Instruction) -> bool:
    """Whether a phi only has numbers added to it, in an order that the author leaves to us, or that does not matter.
    None of bfloat, which is computed in float: its sums have no register to fill."""
    made = _back(function, block, phi)
    if made is None or phi.type == BFLOAT:
        return False
    at = phi
    while at.name != made.name:
        users = function.users.get(at.name, ())
        if len(users) != 1 or function.home.get(users[0].name) != block.name:
            return False
        at, operand = users[0], at.value
        if at.operands.count(operand) != 1:
            return False
        if isinstance(phi.type, IntType) and at.opcode == made.opcode in _ANY_ORDER:
            continue
        added = at.opcode == "fadd" or (at.opcode == "fsub" and at.operands[0] == operand)
        if not added or not {"reassoc", "fast"} & {*at.flags}:
            return False
    behind = next(label for label in block.terminator.labels if label != block.name)
    return all(i in (phi, *function.block[behind].phis) for i in function.users.get(at.name, ()))


def _led(block: Block, old: str, new: str) -> Block:
    return replace(block, instructions=(*block.instructions[:-1], block.terminator.relabel({old: new})))


class _Split:
    """The new blocks of one loop: `many` asks whether enough rounds are left, `rounds` runs them, `few` adds up."""

    def __init__(self, function: Function, row: Row, count: int) -> None:
        self.function, self.row, self.count = function, row, count
        self.body = function.block[row.header]
        self.tag = row.tag
        self.many, self.rounds, self.few = (
            row.split(),
            f"{row.header}.rounds{self.tag}",
            f"{row.header}.few{self.tag}",
        )
        self.next = {p.name: v for p in self.body.phis for v, s in p.cases if s == row.header}
        self.first = {p.name: v for p in self.body.phis for v, s in p.cases if s == row.outside}
        # What is asked for behind the loop, of its last round.
        asked = [v for phi in function.block[row.behind].phis for v, s in phi.cases if s == row.header]
        inside = {i.name for i in self.body.instructions}
        self.kept = {v.name: v for v in asked if isinstance(v, Local) and v.name in inside}
        self.totals: dict[str, Value] = {}
        self.last: dict[str, Value] = {}  # values of the last of the rounds
        self.again: dict[str, Value] = {}  # what phis become behind it

    def blocks(self) -> list[Block]:
        rounds = self._rounds()
        return [self._many(), rounds, self._few()]

    def rest(self) -> Block:
        """The old loop, which starts where the many rounds end."""

        def started(i: Instruction) -> Instruction:
            if i.opcode != "phi":
                return i
            ways = [
                (self._start(i), self.few) if source == self.row.outside else (value, source)
                for value, source in i.cases
            ]
            return replace(i, operands=tuple(v for v, _ in ways), labels=tuple(s for _, s in ways))

        return replace(self.body, instructions=tuple(started(i) for i in self.body.instructions))

    def after(self, block: Block) -> Block:
        """The block behind the loop, which is reached without the old loop as well."""

        def joined(i: Instruction) -> Instruction:
            if i.opcode != "phi":
                return i
            found = next((v for v, source in i.cases if source == self.row.header), None)
            if found is None:
                return i
            return replace(i, operands=(*i.operands, self._ended(found)), labels=(*i.labels, self.few))

        return replace(block, instructions=tuple(joined(i) for i in block.instructions))

    def _start(self, phi: Instruction) -> Value:
        return self.totals.get(phi.name, Local(f"{phi.name}.many{self.tag}", phi.type))

    def _ended(self, value: Value) -> Value:
        """A value of the last round, after the many."""
        if not isinstance(value, Local) or value.name not in self.kept:
            return value
        for name in self.row.sums:
            if self.next[name] == value:
                return self.totals[name]
        return Local(f"{value.name}.last{self.tag}", value.type)

    def _parts(self, name: str) -> list[str]:
        return [f"{name}.part{n}{self.tag}" for n in range(self.count)]

    def _many(self) -> Block:
        code = []
        for phi in self.body.phis:
            if phi.name in self.row.sums:
                for n, part in enumerate(self._parts(phi.name)):
                    start = self.first[phi.name] if n == 0 else const(phi.type, -0.0)
                    code.append(self._phi(part, start, Local(f"{part}.next", phi.type)))
            else:
                code.append(
                    self._phi(f"{phi.name}.many{self.tag}", self.first[phi.name], self.again[phi.name])
                )
        for value in self.kept.values():
            if not any(self.next[name] == value for name in self.row.sums):
                code.append(
                    self._phi(f"{value.name}.last{self.tag}", poison(value.type), self.last[value.name])
                )
        end = self.body.terminator
        assert isinstance(end.operands[0], Local)
        goes = self._goes(self.last[end.operands[0].name], end.labels[0] == self.row.header)
        code += [goes, *self._enough()]
        jump = Instruction(
            "br", end.type, (code[-1].value,), labels=(self.rounds, self.few), metadata=end.debug_only
        )
        return Block(self.many, (*code, jump))

    def _goes(self, test: Value, stays: bool) -> Instruction:
        """Whether the loop goes on: `few` asks."""
        return self._phi(f"{self.row.header}.test{self.tag}", Int(I1, int(stays)), test)

    def _phi(self, name: str, first: Value, again: Value) -> Instruction:
        return Instruction("phi", first.type, (first, again), name, labels=(self.row.outside, self.rounds))

    def _enough(self) -> list[Instruction]:
        """Whether `count` rounds are left: the counter of the last of them is still below the limit."""
        row, kind = self.row, self.row.limit.type
        assert isinstance(kind, IntType)
        at, left = Local(f"{row.counter}.many{self.tag}", kind), Local(f"{row.header}.left{self.tag}", kind)
        most = const(kind, (self.count - 1) * row.step + 1)
        code = [
            Instruction("sub", kind, (row.limit, at), left.name),
            Instruction("icmp", I1, (left, most), f"{row.header}.enough{self.tag}", predicate="uge"),
        ]
        if row.order:
            code += [
                Instruction(
                    "icmp", I1, (at, row.limit), f"{row.header}.below{self.tag}", predicate=row.order
                ),
                Instruction(
                    "and",
                    I1,
                    (Local(f"{row.header}.enough{self.tag}", I1), Local(f"{row.header}.below{self.tag}", I1)),
                    f"{row.header}.go{self.tag}",
                ),
            ]
        return code

    def _rounds(self) -> Block:
        code: list[Instruction] = []
        values: dict[str, Value] = {
            p.name: Local(f"{p.name}.many{self.tag}", p.type)
            for p in self.body.phis
            if p.name not in self.row.sums
        }
        for n in range(self.count):
            if n:
                code.append(self._counter(n))
                values[self.row.counter] = code[-1].value
            ends = {}
            for name in self.row.sums:
                values[name] = Local(f"{name}.part{n}{self.tag}", self.function.definitions[name].type)
                made = self.next[name]
                assert isinstance(made, Local)
                ends[made.name] = f"{name}.part{n}{self.tag}.next"
            for i in self.body.body[:-1]:
                copy = replace(
                    i.substitute(values), name=i.name and ends.get(i.name, f"{i.name}.r{n}{self.tag}")
                )
                code.append(self._told(i, copy))
                if i.name:
                    values[i.name] = copy.value
            self.last = dict(values)
            for name, value in self.next.items():
                following = self.last.get(value.name, value) if isinstance(value, Local) else value
                self.again[name] = values[name] = following
        end = self.body.terminator
        code.append(Instruction("br", end.type, (), labels=(self.many,), metadata=end.debug_only))
        return Block(self.rounds, tuple(code))

    def _told(self, i: Instruction, copy: Instruction) -> Instruction:
        """The counter as an index: it does not wrap on its way to the limit, so rounds lie at known distances."""
        widened = _WIDENED.get(self.row.order) == i.opcode and i.operands[0] == Local(
            self.row.counter, self.row.limit.type
        )
        return replace(copy, metadata=(*copy.metadata, (NO_WRAP, "!{}"))) if widened else copy

    def _counter(self, n: int) -> Instruction:
        """The counter of a round, from that of the first: neighbours lie at known distances."""
        first = Local(f"{self.row.counter}.many{self.tag}", self.row.limit.type)
        step = const(first.type, n * self.row.step)
        return Instruction("add", first.type, (first, step), f"{self.row.counter}.r{n}{self.tag}")

    def _few(self) -> Block:
        code: list[Instruction] = []
        for name in self.row.sums:
            made = self.next[name]
            assert isinstance(made, Local)
            parts = tuple(Local(part, made.type) for part in self._parts(name))
            callee = Global(f"{TOTAL}.{made.type}", PTR)
            debug = self.function.definitions[made.name].debug_only
            code.append(
                Instruction(
                    "call", made.type, parts, f"{name}.total{self.tag}", callee=callee, metadata=debug
                )
            )
            self.totals[name] = code[-1].value
        end = self.body.terminator
        test = Local(f"{self.row.header}.test{self.tag}", I1)
        return Block(self.few, (*code, replace(end, operands=(test,), metadata=end.debug_only)))
