"""Loops that write rows from rows, so that LLVM's vectors have no rest: as many rounds as fill registers stay a loop,
and what is left is done at once, under a mask.

LLVM ends such a loop in one of narrower vectors and one of single numbers: a row of 20 takes one register, one half of
it, and four times one. The rounds of the rest are scalar code that anybody may run: all load first and then store, and
a round that is not there does what the first one does, which stores the same once more. Loads and stores are marked,
and written as masked ones where the code is for one lane (`lower/access/round_stores.py`).
"""

from __future__ import annotations

from metalloid.ir import Block, Function, Instruction
from metalloid.ir.types import I1, I32, I64, VOID, IntType
from metalloid.ir.values import Local, Value, const
from metalloid.records import dataclass, replace
from metalloid.transforms.masked_rounds import ROUND
from metalloid.transforms.partial_sums import counter_of

MOST = 1024  # instructions of the rest


@dataclass(frozen=True)
class Written:
    """A loop of one block that carries a counter, and goes up by one until that is at its limit."""

    header: str
    outside: str
    behind: str
    counter: Instruction
    next: Instruction
    test: Instruction
    limit: Value
    order: str  # as in `partial_sums.Row`


def written(function: Function, header: str) -> Written | None:
    """The loop, if nobody asks for anything of its last round."""
    block = function.block[header]
    found = counter_of(function, block)
    if found is None or len(block.phis) != 1:
        return None
    name, step, limit, order = found
    outside = [s for s in block.phis[0].labels if s != header]
    inside = {i.name for i in block.instructions} - {""}
    behind = next(label for label in block.terminator.labels if label != header)
    if step != 1 or len(outside) != 1 or block.phis[0].name != name:
        return None
    if function.block[outside[0]].terminator.labels.count(header) != 1:
        return None
    if any(inside & {*i.uses} for b in function.blocks if b is not block for i in b.instructions):
        return None
    value = block.phis[0].operands[block.phis[0].labels.index(header)]
    assert isinstance(value, Local)
    next_ = function.definitions[value.name]
    if not (order or {"nuw", "nsw"} & {*next_.flags} or next_.type in (I32, I64)):
        return None  # a narrow one that starts at its limit goes round: so many rounds are not counted
    asked = block.terminator.operands[0]
    assert isinstance(asked, Local)
    test = function.definitions[asked.name]
    if {*function.users[next_.name]} != {block.phis[0], test} or {*function.users[test.name]} != {
        block.terminator
    }:
        return None
    return Written(header, outside[0], behind, block.phis[0], next_, test, limit, order)


def moving(block: Block) -> set[str]:
    """What a round makes of the counter."""
    found = {phi.name for phi in block.phis}
    for i in block.body:
        if i.name and found & {*i.uses}:
            found.add(i.name)
    return found


def with_masked_rest(function: Function, found: Written, count: int) -> Function:
    """The function with `count` rounds at once for what is left of the loop; alone where that is long."""
    rest = _Rest(function, found, count)
    if count * len(function.block[found.header].body) > MOST:
        return function
    blocks: list[Block] = []
    for block in function.blocks:
        if block.name == found.outside:
            blocks += rest.before(block)
        elif block.name == found.header:
            blocks += [rest.loop(block), *rest.behind(block)]
        elif block.name == found.behind:
            blocks.append(replace(block, instructions=tuple(rest.joined(i) for i in block.instructions)))
        else:
            blocks.append(block)
    return function.with_blocks(tuple(blocks))


class _Rest:
    def __init__(self, function: Function, found: Written, count: int) -> None:
        self.function, self.found, self.count = function, found, count
        assert isinstance(found.limit.type, IntType)
        self.kind: IntType = found.limit.type
        self.whole, self.check, self.tail = (f"{found.header}.{what}" for what in ("whole", "rest", "tail"))
        self.end = Local(f"{found.header}.end", self.kind)  # of the loop
        self.left = Local(f"{found.header}.over", self.kind)
        self.last = Local(f"{found.header}.behind", self.kind)  # rounds behind the first that is left

    def _i(self, opcode: str, a: Value, b: Value, name: str, predicate: str = "") -> Instruction:
        kind = I1 if opcode == "icmp" else self.kind
        return Instruction(opcode, kind, (a, b), name, predicate=predicate)

    def before(self, block: Block) -> list[Block]:
        """How many rounds there are, and whether they fill a register."""
        h, start = self.found.header, self.found.counter.operands[self.found.counter.labels.index(block.name)]
        rounds: Value = Local(f"{h}.rounds", self.kind)
        code = [self._i("sub", self.found.limit, start, f"{h}.rounds")]
        if self.found.order:  # the first round runs in any case
            code.append(self._i("icmp", start, self.found.limit, f"{h}.some", self.found.order))
            one = Instruction(
                "select", self.kind, (code[-1].value, rounds, const(self.kind, 1)), f"{h}.count"
            )
            code.append(one)
            rounds = one.value
        full = self._i("and", rounds, const(self.kind, -self.count), f"{h}.full")
        code += [full, self._i("add", start, full.value, self.end.name)]
        code.append(self._i("and", rounds, const(self.kind, self.count - 1), self.left.name))
        code.append(self._i("icmp", full.value, const(self.kind, 0), f"{h}.none", "eq"))
        jump = Instruction("br", VOID, (code[-1].value,), labels=(self.check, h))
        led = block.terminator.relabel({h: self.whole})
        return [
            replace(block, instructions=(*block.instructions[:-1], led)),
            Block(self.whole, (*code, jump)),
        ]

    def loop(self, block: Block) -> Block:
        """The loop, as far as rounds fill registers."""
        test = Instruction(
            "icmp", I1, (self.found.next.value, self.end), f"{block.name}.over.test", predicate="eq"
        )
        end = replace(block.terminator, operands=(test.value,), labels=(self.check, block.name))
        code = [i for i in block.body[:-1] if i is not self.found.test]
        phis = [i.relabel({self.found.outside: self.whole}) for i in block.phis]
        return replace(block, instructions=(*phis, *code, test, end))

    def behind(self, block: Block) -> list[Block]:
        none = self._i("icmp", self.left, const(self.kind, 0), f"{block.name}.done", "eq")
        last = self._i("sub", self.left, const(self.kind, 1), self.last.name)
        jump = Instruction("br", VOID, (none.value,), labels=(self.found.behind, self.tail))
        return [Block(self.check, (none, last, jump)), Block(self.tail, tuple(self._rounds(block)))]

    def _rounds(self, block: Block) -> list[Instruction]:
        counted = moving(block)
        code: list[Instruction] = []
        stores: list[Instruction] = []
        once: dict[str, Value] = {}
        body = [i for i in block.body[:-1] if i not in (self.found.next, self.found.test)]
        for i in body:
            if i.name and i.name not in counted:
                code.append(replace(i.substitute(once), name=f"{i.name}.t"))
                once[i.name] = code[-1].value
        for n in range(self.count):
            here = self._i("icmp", self.last, const(self.kind, n), f"{block.name}.here{n}", "uge")
            beyond = self._i("add", self.end, const(self.kind, n), f"{block.name}.beyond{n}")
            chosen = (here.value, beyond.value, self.end)
            at = Instruction("select", self.kind, chosen, f"{block.name}.at{n}")
            code += [here, beyond, at]
            values = {**once, self.found.counter.name: at.value}
            for m, i in enumerate(body):
                if i.opcode != "store" and i.name not in counted:
                    continue
                copy = replace(i.substitute(values), name=i.name and f"{i.name}.t{n}")
                if i.opcode in ("load", "store"):
                    said = (ROUND, f"{i.name or f'store{m}'} {n} {self.last.name}")
                    copy = replace(copy, metadata=(*copy.metadata, said))
                (stores if i.opcode == "store" else code).append(copy)
                if i.name:
                    values[i.name] = copy.value
        return [*code, *stores, Instruction("br", VOID, (), labels=(self.found.behind,))]

    def joined(self, i: Instruction) -> Instruction:
        """Phis behind the loop: what comes from there comes from two blocks."""
        if i.opcode != "phi" or self.found.header not in i.labels:
            return i
        value = i.operands[i.labels.index(self.found.header)]
        i = i.relabel({self.found.header: self.check})
        return replace(i, operands=(*i.operands, value), labels=(*i.labels, self.tail))
