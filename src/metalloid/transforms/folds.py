"""How numbers are folded into one whose order the author leaves to us: sums, and the least or the greatest of many."""

from __future__ import annotations

from typing import NamedTuple

from metalloid.ir import Function, Instruction
from metalloid.ir.loops import Loop
from metalloid.ir.types import BFLOAT, FloatType, IntType
from metalloid.ir.values import Local, Value
from metalloid.records import replace

SUM = "fadd"
GREATEST, LEAST = "greatest", "least"  # a comparison that chooses
_CALLS = {
    f"llvm.{name}": name
    for name in ("maxnum", "minnum", "maximumnum", "minimumnum", "smax", "smin", "umax", "umin")
}
_INTEGERS = ("add", "mul", "and", "or", "xor")
_ORDER = {"lt": GREATEST, "le": GREATEST, "gt": LEAST, "ge": LEAST}  # what the right one of a < b is
_OTHER = {GREATEST: LEAST, LEAST: GREATEST}
CHOOSES = {GREATEST: "olt", LEAST: "ogt"}  # the second of two
_LIMITS = tuple(f"llvm.{name}." for name in ("maxnum", "minnum", "maximumnum", "minimumnum"))
_LOOSE = frozenset(("reassoc", "fast"))


class Step(NamedTuple):
    """Two numbers that become one: the kind of fold, the numbers, and the instructions, of which the last makes it."""

    kind: str
    numbers: tuple[Value, Value]
    parts: tuple[Instruction, ...]

    @property
    def made(self) -> Instruction:
        return self.parts[-1]


def step_from(function: Function, before: Local) -> Step | None:
    """The step that takes a value further, where nobody else uses it."""
    users = function.users.get(before.name, ())
    last = users[0] if len(users) == 1 else next((i for i in users if i.opcode == "select"), None)
    made = step_of(function, last) if last is not None else None
    if made is None or len(users) != len(made.parts) or not all(i in made.parts for i in users):
        return None
    if made.numbers.count(before) != 1 or (made.made.opcode == "fsub" and made.numbers[0] != before):
        return None
    return made


def step_of(function: Function, i: Instruction) -> Step | None:
    """An instruction as a step of a fold; None where it is something else, or where its order is the author's."""
    if i.type == BFLOAT:  # computed in float: no register to fill
        return None
    if i.opcode == "select":
        return _chosen(function, i)
    if len(i.operands) != 2:
        return None
    a, b = i.operands
    if i.opcode == "call":
        kind = _CALLS.get(i.called.rpartition(".")[0])
        return Step(kind, (a, b), (i,)) if kind else None
    if isinstance(i.type, IntType):
        return Step(i.opcode, (a, b), (i,)) if i.opcode in _INTEGERS else None
    adds = i.opcode in ("fadd", "fsub") and bool(_LOOSE & {*i.flags})
    return Step(SUM, (a, b), (i,)) if adds else None


def _chosen(function: Function, i: Instruction) -> Step | None:
    """select(a < b, b, a), of floats."""
    condition, yes, no = i.operands
    test = function.definitions.get(condition.name) if isinstance(condition, Local) else None
    if test is None or test.opcode != "fcmp" or not isinstance(i.type, FloatType):
        return None
    order, (left, right) = _ORDER.get(test.predicate[1:]), test.operands
    if order is None or not _LOOSE & {*test.flags} or {yes, no} != {left, right} or yes == no:
        return None
    if len(function.users.get(test.name, ())) != 1:
        return None
    return Step(order if yes == right else _OTHER[order], (left, right), (test, i))


def again(like: Step, a: Value, b: Value, name: str) -> list[Instruction]:
    """The same step with two other numbers; those that were taken away are added here."""
    if like.made.opcode != "select":
        opcode = "fadd" if like.kind == SUM else like.made.opcode
        return [replace(like.made, opcode=opcode, operands=(a, b), name=name)]
    test, chosen = like.parts
    test = replace(test, predicate=CHOOSES[like.kind], operands=(a, b), name=f"{name}.test")
    return [test, replace(chosen, operands=(test.value, b, a), name=name)]


def starts_alike(kind: str) -> bool:
    """Whether parts of a fold may all start with what the whole starts with: the greatest of many stays the same."""
    return kind != SUM


def finds_limit(function: Function, loop: Loop) -> bool:
    """Whether a loop carries the least or the greatest of its floats from round to round."""
    for phi in function.block[loop.header].phis:
        work = (
            [v for v, source in phi.cases if source in loop.blocks] if isinstance(phi.type, FloatType) else []
        )
        seen: set[str] = set()
        while work:
            value = work.pop()
            if (
                not isinstance(value, Local)
                or value.name in seen
                or function.home.get(value.name) not in loop.blocks
            ):
                continue
            seen.add(value.name)
            i = function.definitions[value.name]
            if i.called.startswith(_LIMITS):
                return True
            work += i.operands if i.opcode in ("phi", "select") else ()
    return False
