"""The new blocks of a loop that runs many rounds at once (`split_sums.py`), in three ways."""

from __future__ import annotations

from metalloid.analysis.intervals import NO_WRAP, PROVED
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.types import I1, I32, VOID, ArrayType, IntType, PointerType
from metalloid.ir.values import Int, Local, Value, const, poison
from metalloid.records import replace
from metalloid.transforms.folds import starts_alike
from metalloid.transforms.partial_sums import Row, total_of

_WIDENED = {"slt": "sext", "ult": "zext"}  # by the order that a counter goes up in
_PRIVATE, _ALIGN = PointerType(5), 2  # of halves, too
_PROVED = ((PROVED, "!{}"),)


def rounds_of(row: Row) -> str:
    """The name of the block with the rounds."""
    return f"{row.header}.rounds{row.tag}"


class SideBySide:
    """The new blocks of one loop: `many` asks whether enough rounds are left, `rounds` runs them, `few` adds up."""

    def __init__(self, function: Function, row: Row, count: int) -> None:
        self.function, self.row, self.count = function, row, count
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

    def blocks(self) -> list[Block]:
        rounds = self._rounds()
        return [self._many(), rounds, self._few()]

    def arrays(self) -> list[Instruction]:
        """Variables of a thread that it needs."""
        return []

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
        return [
            self._phi(
                part,
                self.first[sum.name]
                if n == 0 or starts_alike(self.kinds[sum.name])
                else const(sum.type, -0.0),
                Local(f"{part}.next", sum.type),
            )
            for n, part in enumerate(self._parts(sum.name))
        ]

    def _part(self, sum: Instruction, n: int) -> Value:
        """What a round adds to."""
        return Local(self._parts(sum.name)[n], sum.type)

    def _goes(self, test: Value, stays: bool) -> Instruction:
        """Whether the loop goes on: `few` asks."""
        return self._phi(f"{self.row.header}.test{self.tag}", Int(I1, int(stays)), test)

    def _phi(self, name: str, first: Value, again: Value) -> Instruction:
        return Instruction("phi", first.type, (first, again), name, labels=(self.row.outside, self.back))

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
                values[name] = self._part(self.function.definitions[name], n)
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
        code += self._added_up()
        code.append(Instruction("br", end.type, (), labels=(self.many,), metadata=end.debug_only))
        return Block(self.rounds, tuple(code))

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


class InTurn(SideBySide):
    """The same where a sum is one number from one time to the next."""

    def _carried(self, sum: Instruction) -> list[Instruction]:
        following = Local(f"{sum.name}.next{self.tag}", sum.type)
        return [self._phi(f"{sum.name}.many{self.tag}", self.first[sum.name], following)]

    def _part(self, sum: Instruction, n: int) -> Value:
        if starts_alike(self.kinds[sum.name]):
            return Local(f"{sum.name}.many{self.tag}", sum.type)
        return const(sum.type, -0.0)

    def _added_up(self) -> list[Instruction]:
        code: list[Instruction] = []
        for name in self.row.sums:
            made = self.next[name]
            assert isinstance(made, Local)
            total = self._total(name, [f"{part}.next" for part in self._parts(name)])
            if starts_alike(self.kinds[name]):  # what was before is in each part
                code.append(replace(total, name=f"{name}.next{self.tag}"))
                continue
            last, before = self.function.definitions[made.name], Local(f"{name}.many{self.tag}", made.type)
            sum = replace(last, opcode="fadd", operands=(before, total.value), name=f"{name}.next{self.tag}")
            code += total, sum
        return code

    def _few(self) -> Block:
        """Lanes leave at different times: what they leave with goes through phis."""
        code = [
            Instruction("phi", i.type, (i.value,), f"{i.name}.few", labels=(self.many,))
            for i in self.many_code
            if i.opcode == "phi"
        ]
        for name in self.row.sums:
            self.totals[name] = self._left(
                Local(f"{name}.many{self.tag}", self.function.definitions[name].type)
            )
        return self._leave(code)

    def _left(self, value: Local) -> Value:
        return Local(f"{value.name}.few", value.type)


class InMemory(InTurn):
    """The same with the rounds as a loop, which puts what they add into an array; then that is added up."""

    def __init__(self, function: Function, row: Row, count: int) -> None:
        super().__init__(function, row, count)
        self.back = f"{row.header}.added{self.tag}"
        self.values: dict[str, Value] = {}  # of a round

    def arrays(self) -> list[Instruction]:
        kinds = {name: self.function.definitions[name].type for name in self.row.sums}
        return [
            Instruction(
                "alloca", _PRIVATE, (Int(I32, 1),), f"{n}.array{self.tag}", element=ArrayType(self.count, t)
            )
            for n, t in kinds.items()
        ]

    def blocks(self) -> list[Block]:
        rounds = self._rounds()
        added = self._behind()
        return [self._many(), rounds, added, self._few()]

    def _rounds(self) -> Block:
        at = Local(f"{self.row.header}.r{self.tag}", I32)
        following = Local(f"{at.name}.next", I32)
        code = [self._each(at.name, Int(I32, 0), following)]
        values: dict[str, Value] = {
            name: self._part(self.function.definitions[name], 0) for name in self.row.sums
        }
        for phi in self.body.phis:
            if phi.name not in self.row.sums:
                values[phi.name] = Local(f"{phi.name}.each{self.tag}", phi.type)
        for i in self.body.body[:-1]:
            copy = replace(i.substitute(values), name=i.name and f"{i.name}.each{self.tag}")
            code.append(copy)
            if i.name:
                values[i.name] = copy.value
        for name, value in self.next.items():
            made = values.get(value.name, value) if isinstance(value, Local) else value
            if name in self.row.sums:
                code += self._element(name, at, f"{name}.at{self.tag}")
                code.append(
                    Instruction("store", VOID, (made, code[-1].value), align=_ALIGN, metadata=_PROVED)
                )
            else:
                start = Local(f"{name}.many{self.tag}", value.type)
                code.insert(0, self._each(f"{name}.each{self.tag}", start, made))
        code += [
            Instruction("add", I32, (at, Int(I32, 1)), following.name),
            Instruction("icmp", I1, (following, Int(I32, self.count)), f"{at.name}.end", predicate="eq"),
        ]
        self.values = values
        jump = Instruction("br", VOID, (code[-1].value,), labels=(self.back, self.rounds))
        return Block(self.rounds, (*code, jump))

    def _each(self, name: str, first: Value, again: Value) -> Instruction:
        return Instruction("phi", first.type, (first, again), name, labels=(self.many, self.rounds))

    def _element(self, name: str, at: Value, label: str) -> list[Instruction]:
        base = Local(f"{name}.array{self.tag}", _PRIVATE)
        kind = self.function.definitions[name].type
        return [Instruction("getelementptr", _PRIVATE, (base, at), label, element=kind)]

    def _behind(self) -> Block:
        """Where all rounds are over: values of the last of them, and the totals."""
        code: list[Instruction] = []
        asked = {v.name: v for v in self.next.values() if isinstance(v, Local) and v.name in self.values}
        test = self.body.terminator.operands[0]
        assert isinstance(test, Local)
        for name, value in {**self.kept, **asked, test.name: test}.items():
            out = Local(f"{name}.out{self.tag}", value.type)
            code.append(Instruction("phi", value.type, (self.values[name],), out.name, labels=(self.rounds,)))
            self.last[name] = out
        for name, next in self.next.items():
            self.again[name] = self.last.get(next.name, next) if isinstance(next, Local) else next
        for name in self.row.sums:
            kind = self.function.definitions[name].type
            for n, part in enumerate(self._parts(name)):
                code += self._element(name, Int(I32, n), f"{part}.at")
                code.append(
                    Instruction(
                        "load", kind, (code[-1].value,), f"{part}.next", align=_ALIGN, metadata=_PROVED
                    )
                )
        code += self._added_up()
        return Block(self.back, (*code, Instruction("br", VOID, (), labels=(self.many,))))
