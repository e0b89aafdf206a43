"""Counters of loops whose rounds are numbers of the text: `for (uint g = 0; g < 4; g++)`, unrolled or not."""

from __future__ import annotations

from metalloid.ir import Function, Instruction
from metalloid.ir.types import IntType
from metalloid.ir.values import Int, Local, Value


def last_of(function: Function, phi: Instruction) -> int | None:
    """The largest number of a phi that counts up from a number by another, as often as a loop's end says; None where
    it is not known."""
    counter = _counter(function, phi)
    if counter is None or not isinstance(phi.type, IntType):
        return None
    start, step, latch = counter
    rounds = _rounds(function, function.home[phi.name], latch)
    last = start + (rounds - 1) * step if rounds is not None else None
    return last if last is not None and last >> phi.type.bits - 1 == 0 else None


def _counter(function: Function, phi: Instruction) -> tuple[int, int, str] | None:
    """Where a phi starts, by how much it goes up, and in which block the next round begins."""
    if phi.opcode != "phi" or len(phi.cases) != 2:
        return None
    starts = [(value, source) for value, source in phi.cases if isinstance(value, Int)]
    others = [(value, source) for value, source in phi.cases if not isinstance(value, Int)]
    if len(starts) != 1:
        return None
    (start, _), (value, latch) = starts[0], others[0]
    step = _step(function, value, phi.value)
    if not isinstance(start, Int) or step is None or start.signed < 0:
        return None
    return start.value, step, latch


def _step(function: Function, value: Value, phi: Local) -> int | None:
    i = function.definitions[value.name] if isinstance(value, Local) else None
    if i is None or i.opcode != "add" or i.operands[0] != phi or not isinstance(i.operands[1], Int):
        return None
    return i.operands[1].signed if i.operands[1].signed > 0 else None


def _rounds(function: Function, header: str, latch: str) -> int | None:
    """How often a loop goes round at most: until a counter is a number that it comes to."""
    end = function.block[latch].terminator
    if end.opcode != "br" or len(set(end.labels)) != 2 or not isinstance(end.operands[0], Local):
        return None
    test = function.definitions[end.operands[0].name]
    if test.opcode != "icmp" or not isinstance(test.operands[1], Int) or header not in end.labels:
        return None
    stays = end.labels[0] == header
    for phi in function.block[header].phis:
        counter = _counter(function, phi)
        if counter is None or counter[2] != latch:
            continue
        start, step, _ = counter
        way = test.operands[1].value - start
        counted = [o for o, s in phi.cases if s == latch] == [test.operands[0]]
        if (
            counted
            and way > 0
            and way % step == 0
            and (test.predicate, stays) in (("eq", False), ("ne", True))
        ):
            return way // step
        if counted and way > 0 and (test.predicate, stays) in (("ult", True), ("uge", False)):
            return -(-way // step)
    return None
