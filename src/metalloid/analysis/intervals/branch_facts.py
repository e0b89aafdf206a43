"""What branches say about values: `i < n` holds in every block that only the true side leads to."""

from __future__ import annotations

from metalloid.analysis.divergence import Flow
from metalloid.analysis.intervals import strided as S
from metalloid.analysis.intervals.strided import Span
from metalloid.ir import Function, Instruction
from metalloid.ir.flags import logic
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value
from metalloid.records import dataclass, field

OPPOSITE = {
    "eq": "ne", "ne": "eq", "ult": "uge", "uge": "ult", "ule": "ugt", "ugt": "ule",
    "slt": "sge", "sge": "slt", "sle": "sgt", "sgt": "sle",
}  # fmt: skip
MIRRORED = {
    "eq": "eq", "ne": "ne", "ult": "ugt", "ugt": "ult", "ule": "uge", "uge": "ule",
    "slt": "sgt", "sgt": "slt", "sle": "sge", "sge": "sle",
}  # fmt: skip


@dataclass(frozen=True)
class Fact:
    """`value predicate other`, two numbers of the same width."""

    predicate: str
    value: Value
    other: Value


@dataclass
class Context:
    """What is known in a block or on an edge: its own facts, and those of the context around it."""

    key: str
    depth: int
    parent: Context | None = None
    # By name: predicate, other, and the number that is added to the value before it compares so; or the difference that
    # compares so, and that the value is taken away in.
    facts: dict[str, list[tuple[str, Value, int | Instruction]]] = field(default_factory=dict)


def facts(function: Function, condition: Value, holds: bool) -> list[Fact]:
    """The comparisons that follow from a condition being true, or false."""
    if not isinstance(condition, Local):
        return []
    i = function.definitions[condition.name]
    if i.opcode == "icmp" and isinstance(i.operands[0].type, IntType):
        predicate = i.predicate if holds else OPPOSITE[i.predicate]
        left, right = i.operands
        return [Fact(predicate, left, right), Fact(MIRRORED[predicate], right, left)]
    if i.opcode == "freeze":
        return facts(function, i.operands[0], holds)
    parts = logic(i)
    if (
        parts is not None and parts[0] is holds
    ):  # both sides of an `and` that holds, or of an `or` that does not
        return [f for part in parts[1] for f in facts(function, part, holds)]
    if i.opcode == "xor" and isinstance(i.operands[1], Int) and i.operands[1].value:
        return facts(function, i.operands[0], not holds)
    return []


class Contexts:
    """The contexts of a function's blocks and edges, made when asked for."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._made: dict[str, Context] = {"": Context("", 0)}

    def block(self, name: str) -> Context:
        key = f"b:{name}"
        if key not in self._made:
            if name == self.flow.graph.root:
                found = self._made[""]
            else:
                sources = self.flow.graph.predecessors[name]
                if len(sources) == 1:
                    found = self.edge(sources[0], name)
                else:
                    found = self.block(self.flow.dominators.immediate[name])
            self._made[key] = found
        return self._made[key]

    def edge(self, source: str, target: str) -> Context:
        """On the way from one block to another."""
        key = f"e:{source}>{target}"
        if key not in self._made:
            around = self.block(source)
            found = self.branch_facts(source, target)
            self._made[key] = self.within(around, key, found) if found else around
        return self._made[key]

    def branch_facts(self, source: str, target: str) -> list[Fact]:
        end = self.flow.function.block[source].terminator
        if end.opcode != "br" or not end.operands or len(set(end.labels)) != 2:
            return []
        return facts(self.flow.function, end.operands[0], end.labels[0] == target)

    def within(self, around: Context, key: str, found: list[Fact]) -> Context:
        made = Context(key, around.depth + 1, around)
        for fact in found:
            self._note(made, fact)
        return made

    def _note(self, context: Context, fact: Fact) -> None:
        value = fact.value
        while isinstance(value, Local):
            context.facts.setdefault(value.name, []).append((fact.predicate, fact.other, 0))
            i = self.flow.function.definitions[value.name]
            self._note_summand(context, fact, i)
            # A narrow unsigned number is what its wide copy is.
            if i.opcode == "zext" and fact.predicate in ("ult", "ule", "ugt", "uge", "eq"):
                value = i.operands[0]
            else:
                return

    def _note_summand(self, context: Context, fact: Fact, i: Instruction) -> None:
        """`x + 1 < n` says something about x as well, where the sum does not go round; and `n - x > 0` does."""
        if i.opcode == "sub" and isinstance(i.operands[1], Local):
            context.facts.setdefault(i.operands[1].name, []).append((fact.predicate, fact.other, i))
        if i.opcode != "add" or fact.predicate not in ("ult", "ule", "ugt", "uge"):
            return
        value, more = i.operands
        if isinstance(value, Local) and isinstance(more, Int) and isinstance(i.type, IntType):
            half = 1 << i.type.bits - 1
            shift = (more.value + half) % (2 * half) - half
            context.facts.setdefault(value.name, []).append((fact.predicate, fact.other, shift))


def refine_summand(
    a: Span, predicate: str, other: Span, shift: int, bits: int, other_bits: int
) -> Span | None:
    """The members of `a` that compare so when a number is added to them; all where a sum may go round."""
    plain = S.unsigned(a, bits)
    if plain.lo + shift < 0 or plain.hi + shift >= 1 << bits:
        return a
    found = refine(Span(plain.lo + shift, plain.hi + shift, plain.step), predicate, other, bits, other_bits)
    return Span(found.lo - shift, found.hi - shift, found.step) if found is not None else None


def refine(a: Span, predicate: str, other: Span, bits: int, other_bits: int) -> Span | None:
    """The members of `a` that compare so with some member of `other`."""
    if predicate == "eq":
        return S.meet(a, S.unsigned(other, other_bits), bits)
    if predicate == "ne":
        if not other.one:
            return a
        a, gone = S.small(a, bits), other.lo
        for value in (gone % (1 << bits), gone % (1 << bits) - (1 << bits)):
            if a.lo == value:
                return None if a.one else S.make(a.lo + a.step, a.hi, a.step)
            if a.hi == value:
                return S.make(a.lo, a.hi - a.step, a.step)
        return a
    read = S.unsigned if predicate[0] == "u" else S.signed
    mine, yours = read(a, bits), read(other, other_bits)
    match predicate[1:]:
        case "lt":
            return S.between(mine, mine.lo, yours.hi - 1)
        case "le":
            return S.between(mine, mine.lo, yours.hi)
        case "gt":
            return S.between(mine, yours.lo + 1, mine.hi)
        case _:
            return S.between(mine, yours.lo, mine.hi)
