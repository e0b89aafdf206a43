"""Many rounds of a loop at once, of which only those run that are left: a row of any length has no rest.

Rows of a sparse matrix have a few elements each, and each its own number: a rest that goes one by one ends when nobody
expects it, and costs more than what went before. A round that is not there reads what the first does, and adds nothing.
What the rounds load is marked, with the number of the round: `lower/access/round_loads.py` loads it under a mask.
"""

from __future__ import annotations

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.types import I1, IntType
from metalloid.ir.values import Int, Local, Value, const
from metalloid.records import replace
from metalloid.transforms.folds import starts_alike
from metalloid.transforms.partial_sums import Row
from metalloid.transforms.split_rounds import SideBySide

ROUND = (
    "mt.round"  # of a load: the load of the loop, the number of the round, and what says how many are left
)


def may_be_masked(function: Function, row: Row) -> bool:
    """Whether a loop carries a counter and its sums, and nobody asks for anything else of its last round."""
    body = function.block[row.header]
    inside = {i.name for i in body.instructions} - {""}
    sums = {
        v.name
        for p in body.phis
        if p.name in row.sums
        for v, s in p.cases
        if s == row.header and isinstance(v, Local)
    }
    asked = {v for block in function.blocks if block is not body for i in block.instructions for v in i.uses}
    return (
        row.step == 1
        and {p.name for p in body.phis} == {*row.sums, row.counter}
        and not (asked & inside) - sums
    )


class Masked(SideBySide):
    """`many` asks whether rounds are left, `rounds` runs as many as there are, `few` adds up. The first round runs in
    any case: a loop asks behind it."""

    def _starts(self, sum: Instruction) -> list[Value]:
        """All parts start alike, or LLVM would make registers of some of them: what was there before is added last."""
        if sum.name in self.folded or starts_alike(self.kinds[sum.name]):
            return super()._starts(sum)
        return [const(sum.type, -0.0)] * self.count

    def _few(self) -> Block:
        code: list[Instruction] = []
        for name in self.row.sums:
            made = self.next[name]
            assert isinstance(made, Local)
            code.append(self._total(name, self._parts(name)))
            if not starts_alike(self.kinds[name]) and name not in self.folded:
                last, operands = self.function.definitions[made.name], (self.first[name], code[-1].value)
                code.append(replace(last, opcode="fadd", operands=operands, name=f"{name}.with{self.tag}"))
            self.totals[name] = code[-1].value
        return self._leave(code)

    def _many(self) -> Block:
        row, end, kind = self.row, self.body.terminator, self.row.limit.type
        at, below = Local(f"{row.counter}.many{self.tag}", kind), Local(f"{row.header}.below{self.tag}", I1)
        left, behind = (Local(f"{row.header}.{what}{self.tag}", kind) for what in ("left", "behind"))
        code = []
        for phi in self.body.phis:
            if phi.name in row.sums:
                code += self._carried(phi)
            else:
                code.append(
                    self._phi(at.name, self.first[phi.name], Local(f"{row.counter}.next{self.tag}", kind))
                )
        code += [
            self._phi(f"{row.header}.go{self.tag}", Int(I1, 1), Local(f"{row.header}.more{self.tag}", I1)),
            Instruction("sub", kind, (row.limit, at), left.name),
            Instruction("sub", kind, (left, const(kind, 1)), behind.name if row.order else self._rest.name),
        ]
        goes = code[-3]
        if row.order:
            code += [
                Instruction("icmp", I1, (at, row.limit), below.name, predicate=row.order),
                Instruction("select", kind, (below, behind, const(kind, 0)), self._rest.name),
            ]
        jump = Instruction(
            "br", end.type, (goes.value,), labels=(self.rounds, self.few), metadata=end.debug_only
        )
        return Block(self.many, (*code, jump))

    @property
    def _rest(self) -> Local:
        """How many rounds are left behind the first of these."""
        return Local(f"{self.row.header}.rest{self.tag}", self.row.limit.type)

    def _rounds(self) -> Block:
        row, kind = self.row, self.row.limit.type
        assert isinstance(kind, IntType)
        first = Local(f"{row.counter}.many{self.tag}", kind)
        code: list[Instruction] = []
        for n in range(self.count):
            here = Local(f"{row.header}.here{n}{self.tag}", I1)
            code.append(Instruction("icmp", I1, (self._rest, const(kind, n)), here.name, predicate="uge"))
            at: Value = first
            if n:
                code.append(self._counter(n))
                chosen = Instruction(
                    "select", kind, (here, code[-1].value, first), f"{row.counter}.at{n}{self.tag}"
                )
                code.append(chosen)
                at = chosen.value
            code += self._round(n, at)
            for name in row.sums:
                made, part = self.next[name], Local(self._parts(name)[n], self.next[name].type)
                assert isinstance(made, Local)
                sum = Local(f"{made.name}.r{n}{self.tag}", made.type)
                said = ((ROUND, f"{name} {n} {self._rest.name}"),)
                next = f"{part.name}.next"
                code.append(Instruction("select", made.type, (here, sum, part), next, metadata=said))
        more, far = Local(f"{row.header}.more{self.tag}", I1), Local(f"{row.counter}.far{self.tag}", kind)
        end = self.body.terminator
        code += [
            Instruction("icmp", I1, (self._rest, const(kind, self.count)), more.name, predicate="uge"),
            Instruction("add", kind, (first, const(kind, self.count)), far.name),
            Instruction("select", kind, (more, far, row.limit), f"{row.counter}.next{self.tag}"),
            Instruction("br", end.type, (), labels=(self.many,), metadata=end.debug_only),
        ]
        return Block(self.rounds, tuple(code))

    def _round(self, n: int, at: Value) -> list[Instruction]:
        """One round, of a counter."""
        values: dict[str, Value] = {
            name: Local(self._parts(name)[n], self.next[name].type) for name in self.row.sums
        }
        values[self.row.counter] = at
        code = []
        for i in self.body.body[:-1]:
            copy = replace(i.substitute(values), name=i.name and f"{i.name}.r{n}{self.tag}")
            if i.opcode == "load":
                copy = replace(copy, metadata=(*copy.metadata, (ROUND, f"{i.name} {n} {self._rest.name}")))
            code.append(copy)
            if i.name:
                values[i.name] = copy.value
        return code

    def _leave(self, code: list[Instruction]) -> Block:
        """To what is behind the loop: nothing is left."""
        end = self.body.terminator
        leaves = Int(I1, int(end.labels[0] != self.row.header))
        return Block(self.few, (*code, replace(end, operands=(leaves,), metadata=end.debug_only)))
