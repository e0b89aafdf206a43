"""Lines that change memory in place (`bins[k] += 1`, `count++`), and the atomic that does the same for many threads.

Where two threads collide at such a line, a barrier cannot mend it: between reading and writing, the other one
has been there. An atomic can, and it takes the place of that one statement.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from metalloid.backends.observe import Memory, Record
from metalloid.checker.case import Case
from metalloid.findings.places import target
from metalloid.ir.debug import Location
from metalloid.types import Scalar

_AFTER = re.compile(r"(?P<operator>[-+|&^])=(?!=)\s*(?P<value>[^;]*);|(?P<step>\+\+|--)")
_BEFORE = re.compile(r"(?P<step>\+\+|--)\s*(?P<target>[A-Za-z_][^;]*?)\s*[;)]")
_FETCH = {"+": "add", "-": "sub", "|": "or", "&": "and", "^": "xor"}
_TYPES = {"float": "atomic_float", "int": "atomic_int", "uint": "atomic_uint"}
_WORDS = {"unsigned": "uint", "int32_t": "int", "uint32_t": "uint"}
OWN = "add up in a variable of its own in each thread, and combine those with simd_sum or a tree of barriers"


@dataclass(frozen=True)
class Update:
    """A statement that reads, changes and writes one place."""

    target: str  # "bins[k]"
    operator: str  # of _FETCH
    value: str


def update_at(case: Case, record: Record) -> Update | None:
    """The update that both sides of a collision are, where they are one."""
    here, there = (case.place(a.location) if a else None for a in (record.access, record.other))
    if here is None or there is None or (here.file, here.line) != (there.file, there.line):
        return None
    return next((u for at, u in _updates(case.line(here)) if at == here.column == there.column), None)


def _updates(line: str) -> list[tuple[int, Update]]:
    """The updates on a line, each with the column of what it changes."""
    found = []
    for match in _AFTER.finditer(line):
        start = target(line, match.start())
        if start >= 0:
            name, step = line[start : match.start()].strip(), match["step"]
            made = (
                Update(name, step[0], "1")
                if step
                else Update(name, match["operator"], match["value"].strip())
            )
            found.append((start + 1, made))
    for match in _BEFORE.finditer(line):
        found.append((match.start() + 1, Update(match["target"], match["step"][0], "1")))
        found.append((match.start("target") + 1, found[-1][1]))
    return found


def atomic_hint(case: Case, record: Record, update: Update) -> str:
    """What to write instead."""
    name, space = case.name(record.memory), "device"
    if record.memory is not None and record.memory.kind in ("threadgroup", "variable"):
        space = "threadgroup"
    atomic = _TYPES.get(_type(case, record.memory, record.access.location), "")
    if not atomic or (
        space == "threadgroup" and atomic == "atomic_float"
    ):  # Metal has it in device memory only
        which = "float in threadgroup memory" if atomic else "this type"
        return f"there are no atomics for {which}: {OWN}"
    call = f"atomic_fetch_{_FETCH[update.operator]}_explicit"
    if case.kernel.source.form == "mlx" and space == "device":
        return (
            f"pass atomic_outputs=True and init_value=0, and write {call}(&{update.target}, {update.value},"
            " memory_order_relaxed)"
        )
    written = f"write {call}(({space} {atomic}*)&{update.target}, {update.value}, memory_order_relaxed)"
    if record.memory is not None and record.memory.kind == "resource":  # declared inside a struct
        return written
    return f"{written}, or declare '{name}' as {space} {atomic} throughout"


def _type(case: Case, memory: Memory | None, place: Location | None) -> str:
    """The element type of memory, as Metal calls it; empty where it is not plain."""
    if memory is None:
        return ""
    for p in case.kernel.parameters:
        if p.kind == memory.kind and p.index == memory.index:
            return p.type.dtype.msl if isinstance(p.type, Scalar) else ""
    for member in case.pointed if memory.kind == "resource" else ():
        kind = member.pointer.element
        if case.launch.resource_name(member.resource) == memory.name and isinstance(kind, Scalar):
            return kind.dtype.msl
    lines = case.texts.lines(place.file) if place else []
    declared = rf"\bthreadgroup\s+(?:metal::)?(\w+)\s+[^;*&]*\b{re.escape(case.name(memory))}\b"
    found = (re.search(declared, line) for line in lines)
    word = next((match[1] for match in found if match), "")
    return _WORDS.get(word, word)
