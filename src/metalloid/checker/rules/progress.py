"""M209: a loop that does not end, or that waits for what another thread would have to do first.

Metal promises no thread that another one runs meanwhile: threadgroups may run one after the other, and here they do.
What a run was doing when its time was up says which loop it was; the loop's own code, whether it waits. Who waits for
an earlier threadgroup has it behind him here, so such a loop is told by its code alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from metalloid.backends.observe import Record
from metalloid.checker.case import Case
from metalloid.checker.code import Code
from metalloid.checker.guards import buffers_of
from metalloid.findings import Finding
from metalloid.ir.debug import Location
from metalloid.ir.intrinsics import BARRIER
from metalloid.ir.loops import Loop, loops
from metalloid.ir.module import Block, Instruction
from metalloid.ir.values import Local, Value

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
            hint = _SPLIT
        yield case.finding(record, message, hint, location=case.place(place), excerpt=case.line(place))


def waits(case: Case) -> Iterator[Finding]:
    """Loops that came to their end in this order of threadgroups, and need not in another."""
    code = case.code
    if (
        case.records("M209")
        or prod(case.launch.grid) < 2
        or not any(map(_looks, code.function.instructions()))
    ):
        return
    for loop in loops(code.function).loops.values():
        pointer = _looked_at(case, loop)
        if pointer is None or not _changed_elsewhere(case, loop, pointer):
            continue
        place = _place(case, loop)
        named = [case.parameters[i].name for i in sorted(buffers_of(code, pointer)) if i in case.parameters]
        awaited = f"'{named[0]}'" if named else "memory of the threadgroup"
        yield Finding(
            "M209",
            f"this loop waits until {awaited} changes, which another thread has to do: here it had, in another order"
            " of threads it need not",
            case.launch.kernel,
            case.place(place),
            buffer=named[0] if named else "",
            hint=_SPLIT,
            excerpt=case.line(place),
        )


_SPLIT = (
    "threadgroups need not run at the same time, nor lanes of a SIMD-group one after the other: split the work into two"
    " launches; inside a threadgroup use threadgroup_barrier"
)
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
            known = [case.parameters[index] for index in sorted(read) if index in case.parameters]
            changes = made.ordering or made.opcode in _CHANGES  # others write what is looked at so
            named = [p.name for p in known if not p.reference and (changes or p.access != "read")]
            if named:
                return f"'{named[0]}'"
            if not buffers_of(code, made.operands[0]) and made.opcode in _CHANGES:
                return "memory of the threadgroup"
        work += [o.name for o in made.operands if isinstance(o, Local)]
    return None


def _looks(i: Instruction) -> bool:
    """Whether it reads what others may change meanwhile."""
    return i.opcode == "load" and bool(i.ordering or "volatile" in i.flags)


def _looked_at(case: Case, loop: Loop) -> Value | None:
    """The one place that a loop looks at until it may end; None where it does anything else, or can end without."""
    inside = {i.name: i for block in _blocks(case, loop) for i in block.instructions if i.name}
    if any(i.opcode in ("store", *_CHANGES) or i.called == BARRIER for i in _all(case, loop)):
        return None
    places: set[Value] = set()
    for end in _ends(case, loop):
        tested = list(_made_inside(inside, end))
        seen = [i for i in tested if _looks(i)]
        others = [i for i in tested if i.opcode == "phi" or (i.opcode == "load" and not _looks(i))]
        counted = any(i.opcode == "phi" for i in others) or any(
            _changes_place(inside, i) for i in (*seen, *others)
        )
        if not seen or counted:
            return None
        places |= {i.operands[0] for i in seen}
    return places.pop() if len(places) == 1 else None


def _all(case: Case, loop: Loop) -> Iterator[Instruction]:
    return (i for block in _blocks(case, loop) for i in block.instructions)


def _made_inside(inside: Mapping[str, Instruction], start: Instruction) -> Iterator[Instruction]:
    """What an instruction is computed from in each round; the places of loads are not followed."""
    seen: set[str] = set()
    work = list(start.uses)
    while work:
        name = work.pop()
        if name in seen or name not in inside:
            continue
        seen.add(name)
        yield inside[name]
        work += [] if inside[name].opcode == "load" else inside[name].uses


def _changes_place(inside: Mapping[str, Instruction], load: Instruction) -> bool:
    """Whether a load goes elsewhere in the next round: a list that is followed, not a place that is watched."""
    return any(i.opcode in ("phi", "load") or i.called for i in _made_inside(inside, load))


def _changed_elsewhere(case: Case, loop: Loop, pointer: Value) -> bool:
    """Whether this kernel changes what the loop looks at: else somebody else is waited for, such as the host."""
    code, mine = case.code, buffers_of(case.code, pointer)
    for block in code.function.blocks:
        for i in block.instructions if block.name not in loop.blocks else ():
            if i.opcode in ("store", *_CHANGES):
                to = i.operands[1 if i.opcode == "store" else 0]
                if buffers_of(code, to) & mine or (not mine and _space(to) == _space(pointer) == 3):
                    return True
    return False


def _space(pointer: Value) -> int:
    return int(getattr(pointer.type, "space", 0))


def spins(code: Code) -> bool:
    """Whether a kernel has a loop that does nothing but look at memory."""
    function = code.function
    for loop in loops(function).loops.values():
        inside = [i for block in function.blocks if block.name in loop.blocks for i in block.instructions]
        looks = any(i.ordering or i.opcode in _CHANGES for i in inside if i.opcode in ("load", *_CHANGES))
        if looks and len(inside) <= _SHORT and not any(i.opcode == "store" for i in inside):
            return True
    return False
