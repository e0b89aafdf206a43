"""M209: a loop that does not end, or that waits for what another thread would have to do first.

Metal promises no thread that another one runs meanwhile: threadgroups may run one after the other, and here they do.
What a run was doing when its time was up says which loop it was; the loop's own code, whether it waits.
"""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.backends.observe import Record
from metalloid.checker.case import Case
from metalloid.checker.code import Code
from metalloid.checker.guards import buffers_of
from metalloid.findings import Finding
from metalloid.ir.debug import Location
from metalloid.ir.loops import Loop, loops
from metalloid.ir.module import Block, Instruction
from metalloid.ir.values import Local

_CHANGES = ("atomicrmw", "cmpxchg")
_SHORT = 24  # instructions of a loop that does nothing but wait


def endless(case: Case) -> Iterator[Finding]:
    for record in case.records("M209"):
        loop = _loop(case, record)
        if loop is None:
            continue
        place = _place(case, loop) or record.access.location
        awaited = _awaited(case, loop)
        if awaited is None:
            message = f"this loop has not come to an end: {_still(case)}"
            hint = f"look at the test that ends it: does the loop change what it tests, can it come true? {_LONGER}"
        else:
            message = f"this loop waits until {awaited} changes, which another thread would have to do"
            hint = (
                "threadgroups need not run at the same time, nor lanes of a SIMD-group one after the other: split the"
                " work into two launches; inside a threadgroup use threadgroup_barrier"
            )
        yield case.finding(record, message, hint, location=case.place(place), excerpt=case.line(place))


_LONGER = "where it is only long, give it more time: mt.check(..., timeout=600), --timeout 600"


def _still(case: Case) -> str:
    return case.observation.stopped or "still running"


def _loop(case: Case, record: Record) -> Loop | None:
    """The innermost loop around the place where a thread was."""
    code, found = case.code, loops(case.code.function)
    here = record.access.location
    for block in code.function.blocks:
        if block.name in found.innermost and any(code.location(i) == here for i in block.instructions):
            return found.innermost[block.name]
    return next(iter(found.loops.values()), None) if len(found.loops) == 1 else None


def _blocks(case: Case, loop: Loop) -> list[Block]:
    return [block for block in case.code.function.blocks if block.name in loop.blocks]


def _ends(case: Case, loop: Loop) -> list[Instruction]:
    """The branches that leave a loop."""
    inside = {name for name, _ in loop.exits}
    return [block.terminator for block in _blocks(case, loop) if block.name in inside]


def _place(case: Case, loop: Loop) -> Location | None:
    """The line of the condition that ends a loop; of one without, its first."""
    code = case.code
    for end in _ends(case, loop):
        made = [code.defined.get(o.name) for o in end.operands if isinstance(o, Local)]
        for instruction in (*made, end):
            place = code.location(instruction) if instruction is not None else None
            if place is not None and place.line:
                return place
    places = (code.location(i) for block in _blocks(case, loop) for i in block.instructions)
    return next((place for place in places if place is not None and place.line), None)


def _awaited(case: Case, loop: Loop) -> str | None:
    """What a loop reads to know whether it may end, where it does not change that itself."""
    code = case.code
    inside = {i.name: i for block in _blocks(case, loop) for i in block.instructions if i.name}
    written = {
        index
        for block in _blocks(case, loop)
        for i in block.instructions
        if i.opcode == "store"
        for index in buffers_of(code, i.operands[1])
    }
    seen: set[str] = set()
    work = [o.name for end in _ends(case, loop) for o in end.operands if isinstance(o, Local)]
    while work:
        name = work.pop()
        made = inside.get(name)
        if name in seen or made is None:
            continue
        seen.add(name)
        if made.opcode in ("load", *_CHANGES):
            read = buffers_of(code, made.operands[0]) - written
            named = [case.parameters[index].name for index in sorted(read) if index in case.parameters]
            if named:
                return f"'{named[0]}'"
            if not buffers_of(code, made.operands[0]) and made.opcode in _CHANGES:
                return "memory of the threadgroup"
        work += [o.name for o in made.operands if isinstance(o, Local)]
    return None


def spins(code: Code) -> bool:
    """Whether a kernel has a loop that does nothing but look at memory."""
    function = code.function
    for loop in loops(function).loops.values():
        inside = [i for block in function.blocks if block.name in loop.blocks for i in block.instructions]
        looks = any(i.ordering or i.opcode in _CHANGES for i in inside if i.opcode in ("load", *_CHANGES))
        if looks and len(inside) <= _SHORT and not any(i.opcode == "store" for i in inside):
            return True
    return False
