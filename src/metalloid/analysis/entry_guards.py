"""Tests at the start of a kernel that let some threads of a row through: `if (x == 0 || x >= w - 1) return;`.

Each is a comparison of a number that counts up along the row with one that all its threads share. Those who pass all
of them are neighbours, from one thread to another, and what is left of the kernel has no such test.
"""

from __future__ import annotations

from metalloid.analysis.uniformity import Uniformity
from metalloid.ir import Function, Instruction
from metalloid.ir.flags import logic, truth
from metalloid.ir.intrinsics import Effect, effect
from metalloid.ir.types import IntType
from metalloid.ir.values import Local, Value
from metalloid.records import dataclass

_SEEN = Effect.WRITES | Effect.ORDERS | Effect.TELLS


@dataclass(frozen=True)
class Guard:
    """A branch to the end. Threads pass where its condition is what is `wanted`."""

    block: str
    end: str
    condition: Value
    wanted: bool


def entry_guards(known: Uniformity) -> tuple[Guard, ...]:
    """The tests, in order; none where lanes do not part there, or where it is not known who passes."""
    function, flow = known.flow.function, known.flow
    found: list[Guard] = []
    name = flow.graph.root
    while (guard := _guard(function, name)) is not None:
        if not _expressed(known, guard.condition, guard.wanted) or not _quiet(known, name):
            break
        found.append(guard)
        name = next(b for b in function.block[name].terminator.labels if b != guard.end)
    return tuple(found) if any(known.varies(g.condition) for g in found) else ()


def needed(function: Function, guards: tuple[Guard, ...]) -> set[str]:
    """The values that the tests are made from."""
    found: set[str] = set()
    work = [g.condition.name for g in guards if isinstance(g.condition, Local)]
    while work:
        name = work.pop()
        if name not in found:
            found.add(name)
            work += function.definitions[name].uses
    return found


def _guard(function: Function, name: str) -> Guard | None:
    end = function.block[name].terminator
    if end.opcode != "br" or len(set(end.labels)) != 2:
        return None
    ends = [len(function.block[label].instructions) == 1 for label in end.labels]
    if ends[0] == ends[1]:
        return None
    last = end.labels[ends.index(True)]
    if function.block[last].terminator.opcode != "ret":
        return None
    return Guard(name, last, end.operands[0], end.labels[1] == last)


def _quiet(known: Uniformity, name: str) -> bool:
    """Whether a block does nothing, and reads only what is the same for all lanes."""
    for i in known.flow.function.block[name].instructions:
        if i.opcode == "phi" or effect(i) & _SEEN or (effect(i) & Effect.READS and _apart(known, i)):
            return False
    return True


def _apart(known: Uniformity, i: Instruction) -> bool:
    return any(known.varies(o) for o in i.operands)


def _expressed(known: Uniformity, condition: Value, wanted: bool) -> bool:
    """Whether those who have a condition (or, where not wanted, have it not) are neighbours."""
    if truth(condition) is not None or not known.varies(condition):
        return True
    i = known.flow.function.definitions.get(condition.name) if isinstance(condition, Local) else None
    if i is None:
        return False
    if i.opcode == "icmp":
        return _counts(known, i)
    if i.opcode == "freeze" or (i.opcode == "xor" and truth(i.operands[1])):
        return _expressed(known, i.operands[0], wanted is (i.opcode == "freeze"))
    sides = logic(i)
    return (
        sides is not None and sides[0] is wanted and all(_expressed(known, side, wanted) for side in sides[1])
    )


def _counts(known: Uniformity, i: Instruction) -> bool:
    """Whether one side counts up from lane to lane, and the other is the same for all."""
    kind, lanes = i.operands[0].type, tuple(range(known.lanes.width))
    if not isinstance(kind, IntType) or kind.bits > 32:
        return False
    left, right = (known.shape(o) for o in i.operands)
    if left is None or right is None or left.uniform is right.uniform:
        return False
    shape = right if left.uniform else left
    return shape.exact and shape.pattern == lanes
