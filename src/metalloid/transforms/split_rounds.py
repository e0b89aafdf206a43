"""The new blocks of a loop that runs many rounds at once (`split_sums.py`)."""

from __future__ import annotations

from metalloid.analysis.intervals import NO_WRAP, is_proved
from metalloid.analysis.loop_stride import Strides
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.layout import DataLayout
from metalloid.ir.loops import loops
from metalloid.ir.types import I1, I8, I64, IntType
from metalloid.ir.values import Int, Local, Value, const, poison
from metalloid.records import replace
from metalloid.transforms.folds import again, starts_alike, step_of
from metalloid.transforms.partial_sums import Row, is_total, total_of

_POINTER = {"load": 0, "store": 1}  # operands
_WIDENED = {"slt": "sext", "ult": "zext"}  # by the order that a counter goes up in


def rounds_of(row: Row) -> str:
    """The name of the block with the rounds."""
    return f"{row.header}.rounds{row.tag}"


def enough(row: Row, at: Value, count: int) -> list[Instruction]:
    """Whether `count` rounds are left: the counter of the last of them is still below the limit."""
    kind, tag = row.limit.type, row.tag
    assert isinstance(kind, IntType)
    left = Instruction("sub", kind, (row.limit, at), f"{row.header}.left{tag}")
    most = const(kind, (count - 1) * row.step + 1)
    code = [left, Instruction("icmp", I1, (left.value, most), f"{row.header}.enough{tag}", predicate="uge")]
    if row.order:
        below = Instruction("icmp", I1, (at, row.limit), f"{row.header}.below{tag}", predicate=row.order)
        both = Instruction("and", I1, (code[-1].value, below.value), f"{row.header}.go{tag}")
        code += below, both
    return code


class SideBySide:
    """The new blocks of one loop: `many` asks whether enough rounds are left, `rounds` runs them, `few` adds up.

    A second loop goes on with the parts of the first, folded into as many as it has: the total of the first is only for
    those who leave behind it (`whole`)."""

    goes_on = True  # with parts

    def __init__(self, function: Function, row: Row, count: int, layout: DataLayout | None = None) -> None:
        """With a layout, all that a proved load reads lies at a distance from what the first round's does."""
        self.function, self.row, self.count = function, row, count
        loop = loops(function).loops[row.header]
        self.strides = Strides(function, loop, layout, exact=True) if layout is not None else None
        self.body = function.block[row.header]
        self.tag, self.kinds = row.tag, dict(zip(row.sums, row.kinds, strict=True))
        self.many, self.rounds, self.few = (
            row.split(),
            rounds_of(row),
            f"{row.header}.few{self.tag}",
        )
        self.back = self.rounds  # where it comes from that has run them
        self.next = {p.name: v for p in self.body.phis for v, s in p.cases if s == row.header}
        self.first = {p.name: v for p in self.body.phis for v, s in p.cases if s == row.outside}
        # What is asked for behind the loop, of its last round.
        asked = [v for phi in function.block[row.behind].phis for v, s in phi.cases if s == row.header]
        inside = {i.name for i in self.body.instructions}
        self.kept = {v.name: v for v in asked if isinstance(v, Local) and v.name in inside}
        self.totals: dict[str, Value] = {}
        self.last: dict[str, Value] = {}  # values of the last of the rounds
        self.again: dict[str, Value] = {}  # what phis become behind it
        self.many_code: tuple[Instruction, ...] = ()
        self.folded: dict[
            str, list[Instruction]
        ] = {}  # of a sum that goes on: the instructions, the parts last
        self.whole = f"{row.header}.whole{self.tag}"
        self.before = {name: total for name in row.sums if (total := self._before(name)) is not None}
        for name, total in self.before.items():
            self.folded[name] = self._fold(name, [*total.operands])

    def blocks(self) -> list[Block]:
        rounds = self._rounds()
        return [self._many(), rounds, self._few()]

    def arrays(self) -> list[Instruction]:
        """Variables of a thread that it needs."""
        return []

    def _before(self, name: str) -> Instruction | None:
        """The total of an earlier loop that a sum starts with, where nobody wants it but behind both."""
        first, row = self.first[name], self.row
        total = self.function.definitions.get(first.name) if isinstance(first, Local) else None
        if not self.goes_on or total is None or not is_total(total) or len(total.operands) % self.count:
            return None
        users = (*self.body.phis, *self.function.block[row.behind].phis)
        if self.function.home[total.name] != row.outside or len(total.operands) == self.count:
            return None
        return total if all(u in users for u in self.function.users[total.name]) else None

    def _fold(self, name: str, parts: list[Value]) -> list[Instruction]:
        """By halves, until there are as many as there are rounds."""
        made, code = self.next[name], list[Instruction]()
        assert isinstance(made, Local)
        step = step_of(self.function, self.function.definitions[made.name])
        assert step is not None
        while len(parts) > self.count:
            half = len(parts) // 2
            for n in range(half):
                label = f"{name}.fold{len(parts)}.{n}{self.tag}"
                code += again(step, parts[n], parts[n + half], label)
                parts[n] = code[-1].value
            del parts[half:]
        return [*(i for i in code if i.value not in parts), *(i for i in code if i.value in parts)]

    def outside(self, block: Block) -> list[Block]:
        """The block before the loop, and one for those who never come to it."""
        end = block.terminator.relabel({self.row.header: self.many})
        if not self.before:
            return [replace(block, instructions=(*block.instructions[:-1], end))]
        totals = tuple(self.before.values())
        code = [i for i in block.instructions[:-1] if i not in totals]
        folds = [i for found in self.folded.values() for i in found]
        end = end.relabel({self.row.behind: self.whole})
        jump = Instruction("br", end.type, (), labels=(self.row.behind,), metadata=end.debug_only)
        return [replace(block, instructions=(*code, *folds, end)), Block(self.whole, (*totals, jump))]

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
            if self.before:
                i = i.relabel({self.row.outside: self.whole})
            found = next((v for v, source in i.cases if source == self.row.header), None)
            if found is None:
                return i
            return replace(i, operands=(*i.operands, self._ended(found)), labels=(*i.labels, self.few))

        return replace(block, instructions=tuple(joined(i) for i in block.instructions))

    def _start(self, phi: Instruction) -> Value:
        return self.totals.get(phi.name, self._left(Local(f"{phi.name}.many{self.tag}", phi.type)))

    def _ended(self, value: Value) -> Value:
        """A value of the last round, after the many."""
        if not isinstance(value, Local) or value.name not in self.kept:
            return value
        for name in self.row.sums:
            if self.next[name] == value:
                return self.totals[name]
        return self._left(Local(f"{value.name}.last{self.tag}", value.type))

    def _left(self, value: Local) -> Value:
        """A value of `many`, behind it."""
        return value

    def _parts(self, name: str) -> list[str]:
        return [f"{name}.part{n}{self.tag}" for n in range(self.count)]

    def _many(self) -> Block:
        code = []
        for phi in self.body.phis:
            if phi.name in self.row.sums:
                code += self._carried(phi)
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
        self.many_code = (*code, jump)
        return Block(self.many, self.many_code)

    def _carried(self, sum: Instruction) -> list[Instruction]:
        """What a sum is from one time to the next."""
        parts = zip(self._parts(sum.name), self._starts(sum), strict=True)
        return [self._phi(part, start, Local(f"{part}.next", sum.type)) for part, start in parts]

    def _starts(self, sum: Instruction) -> list[Value]:
        """What the parts of a sum are at first."""
        if sum.name in self.folded:
            return [i.value for i in self.folded[sum.name][-self.count :]]
        first = self.first[sum.name]
        nothing = first if starts_alike(self.kinds[sum.name]) else const(sum.type, -0.0)
        return [first, *[nothing] * (self.count - 1)]

    def _part(self, sum: Instruction, n: int) -> Value:
        """What a round adds to."""
        return Local(self._parts(sum.name)[n], sum.type)

    def _goes(self, test: Value, stays: bool) -> Instruction:
        """Whether the loop goes on: `few` asks."""
        return self._phi(f"{self.row.header}.test{self.tag}", Int(I1, int(stays)), test)

    def _phi(self, name: str, first: Value, again: Value) -> Instruction:
        return Instruction("phi", first.type, (first, again), name, labels=(self.row.outside, self.back))

    def _enough(self) -> list[Instruction]:
        return enough(self.row, Local(f"{self.row.counter}.many{self.tag}", self.row.limit.type), self.count)

    def _rounds(self) -> Block:
        code: list[Instruction] = []
        values: dict[str, Value] = {
            p.name: Local(f"{p.name}.many{self.tag}", p.type)
            for p in self.body.phis
            if p.name not in self.row.sums
        }
        places: dict[int, Value] = {}
        for n in range(self.count):
            if n:
                code.append(self._counter(n))
                values[self.row.counter] = code[-1].value
            ends = {}
            for name in self.row.sums:
                values[name] = self._part(self.function.definitions[name], n)
                made = self.next[name]
                assert isinstance(made, Local)
                ends[made.name] = f"{name}.part{n}{self.tag}.next"
            for m, i in enumerate(self.body.body[:-1]):
                copy = replace(
                    i.substitute(values), name=i.name and ends.get(i.name, f"{i.name}.r{n}{self.tag}")
                )
                if stride := self._stride(i):
                    at = _POINTER[i.opcode]
                    first = places.setdefault(m, copy.operands[at])
                    if n:
                        name = f"{self.row.header}.m{m}.r{n}{self.tag}.at"
                        moved = (first, const(I64, n * stride))
                        code.append(Instruction("getelementptr", first.type, moved, name, element=I8))
                        copy = replace(copy, operands=(*copy.operands[:at], code[-1].value))
                code.append(self._told(i, copy))
                if i.name:
                    values[i.name] = copy.value
            self.last = dict(values)
            for name, value in self.next.items():
                following = self.last.get(value.name, value) if isinstance(value, Local) else value
                self.again[name] = values[name] = following
        end = self.body.terminator
        code += self._added_up()
        code.append(Instruction("br", end.type, (), labels=(self.many,), metadata=end.debug_only))
        return Block(self.rounds, tuple(code))

    def _stride(self, i: Instruction) -> int:
        """How many bytes an access that is inside its memory moves from round to round; 0 where that is not known."""
        if self.strides is None or i.opcode not in _POINTER or not is_proved(i):
            return 0
        found = self.strides.of(i.operands[_POINTER[i.opcode]])
        return found.get((), 0) if found is not None and len(found) == 1 else 0

    def _added_up(self) -> list[Instruction]:
        """Behind the rounds of one time."""
        return []

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
            code.append(self._total(name, self._parts(name)))
            self.totals[name] = code[-1].value
        return self._leave(code)

    def _total(self, name: str, parts: list[str]) -> Instruction:
        made = self.next[name]
        assert isinstance(made, Local)
        operands = tuple(Local(part, made.type) for part in parts)
        like = self.function.definitions[made.name]
        return total_of(self.kinds[name], made.type, operands, f"{name}.total{self.tag}", like)

    def _leave(self, code: list[Instruction]) -> Block:
        end = self.body.terminator
        test = self._left(Local(f"{self.row.header}.test{self.tag}", I1))
        return Block(self.few, (*code, replace(end, operands=(test,), metadata=end.debug_only)))
