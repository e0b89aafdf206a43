"""The new blocks of a loop that runs many rounds at once (`split_rounds.py`), where a lane has its turn among others:
it adds up the sums of its rounds each time, and goes on with the total."""

from __future__ import annotations

from metalloid.analysis.intervals import PROVED
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import I1, I32, VOID, ArrayType, PointerType
from metalloid.ir.values import Int, Local, Value, const
from metalloid.records import replace
from metalloid.transforms.folds import starts_alike
from metalloid.transforms.partial_sums import Row
from metalloid.transforms.split_rounds import SideBySide

_PRIVATE, _ALIGN = PointerType(5), 2  # of halves, too
_PROVED = ((PROVED, "!{}"),)


class InTurn(SideBySide):
    """The same where a sum is one number from one time to the next."""

    goes_on = False

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

    def __init__(self, function: Function, row: Row, count: int, layout: DataLayout | None = None) -> None:
        super().__init__(function, row, count, layout)
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
