"""M305 where nobody said how many threads run: torch then launches as many as the first tensor has elements.

For a kernel that goes through that tensor element by element that is right, and an output that is longer is used in
part. Where the kernel reads it at a fixed place, or at what a division or a remainder makes of the position
(`x[i % n]`, `a[i / n]`), a thread for each of its elements means nothing, and an output of which they wrote a first
part is too long for them.
"""

from __future__ import annotations

from math import prod

from metalloid.checker.case import Case
from metalloid.checker.code import GROUP, LANE, SIMDGROUP, THREAD
from metalloid.checker.guards import buffers_of, guards, scalars, stores_to
from metalloid.findings import launch_words as words
from metalloid.ir.module import Instruction
from metalloid.ir.values import Int, Local, Value

_POINTER = {"load": 0, "store": 1, "atomicrmw": 0, "cmpxchg": 0}
_DIVIDES = ("udiv", "sdiv", "urem", "srem", "lshr", "ashr")
_WHO = frozenset((THREAD, LANE, SIMDGROUP, GROUP))


def why(case: Case) -> str:
    """How many threads ran by themselves, in words; "" where the caller said how many."""
    parameter = case.parameters.get(case.launch.sized_by) if case.launch.sized_by is not None else None
    if parameter is None:
        return ""
    return (
        f"{words.grid(case.kernel.source.form)} was not passed, and is the number of elements of the first tensor,"
        f" '{parameter.name}'"
    )


def too_few(case: Case, index: int, count: int) -> bool:
    """Whether the first `count` elements of an output are all that so many threads could write, and nothing else says
    that number."""
    first, threads = case.launch.sized_by, prod(case.launch.grid)
    if first is None or first == index or not threads:
        return False
    if count % threads or _walked(case, first):
        return False
    named = {
        words.split()[-1]
        for store in stores_to(case, index)
        for place in guards(case, store)
        for words in scalars(case, case.line(place))
    }
    return str(count) not in named


def _walked(case: Case, index: int) -> bool:
    """Whether a buffer is gone through element by element, or not used at all."""
    places = [
        i.operands[_POINTER[i.opcode]]
        for i in case.code.function.instructions()
        if i.opcode in _POINTER and index in buffers_of(case.code, i.operands[_POINTER[i.opcode]])
    ]
    return not places or any(_follows(case, place) for place in places)


def _follows(case: Case, pointer: Value) -> bool:
    """Whether an address grows with the position: on some way to it nothing divides."""
    seen: set[str] = set()
    work = [pointer]
    while work:
        value = work.pop()
        if not isinstance(value, Local) or value.name in seen or value.name not in case.code.defined:
            continue
        seen.add(value.name)
        made = case.code.defined[value.name]
        if made.opcode == "load" or _divides(made) or not case.code.of(value) & _WHO:
            continue
        if made.opcode == "call":
            return True
        work += made.operands
    return False


def _divides(made: Instruction) -> bool:
    return made.opcode in _DIVIDES or (made.opcode == "and" and isinstance(made.operands[1], Int))
