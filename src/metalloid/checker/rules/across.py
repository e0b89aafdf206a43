"""M105 across launches: memory from `device.empty` that no launch has written, and this one reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from metalloid.backends import interpret
from metalloid.backends.behind import unchanged_behind
from metalloid.checker.case import Case
from metalloid.checker.conspicuous import writers_of
from metalloid.checker.holes import Flags, by_byte, holes
from metalloid.findings import Finding
from metalloid.ir.debug import Location
from metalloid.types import Parameter

Elements = np.ndarray[tuple[int], np.dtype[np.int64]]
_LOOKED_AT = 4  # elements of those that are read and written, spread over them
_SECONDS = 5.0


def read_holes(case: Case) -> Iterator[Finding]:
    """Elements that are read, that no launch before has written, and this one has not either."""
    seen = case.observation
    if seen.stopped:
        return
    for parameter in case.kernel.signature.buffers:
        index = parameter.index
        unset, read = holes(case.launch, index), seen.reads.get(index)
        if unset is None or read is None:
            continue
        granule = seen.granules.get(index, 1)
        filled = np.zeros_like(unset)
        if index in seen.writers:  # a write hides the reads before it
            filled = unset & by_byte(seen.touched(index), granule, len(unset))
        if len(elements := _elements(parameter, unset & by_byte(read, granule, len(unset)) & ~filled)):
            yield _finding(case, parameter, elements)
        elif parameter.access == "read_write" and len(elements := _elements(parameter, filled)):
            yield from _in_place(case, parameter, unset, elements)


def _elements(parameter: Parameter, flags: Flags) -> Elements:
    return np.unique(np.flatnonzero(flags) // max(1, parameter.type.size))


def _in_place(case: Case, parameter: Parameter, unset: Flags, elements: Elements) -> Iterator[Finding]:
    """Elements that this launch fills and may have read: who does both runs again, to see which came first."""
    some = [int(elements[n]) for n in np.linspace(0, len(elements) - 1, _LOOKED_AT).astype(int)]
    size, index = max(1, parameter.type.size), parameter.index
    groups = dict.fromkeys(g for g, _ in writers_of(case.launch, case.observation, index, some, size))
    buffers = {
        i: np.array(case.before.get(i, memory), copy=True) for i, memory in case.launch.buffers.items()
    }
    again = replace(case.launch, buffers=buffers, below={}, holes={index: unset}, undefined=frozenset())
    with unchanged_behind(case.launch):
        seen = interpret.observe(case.kernel.checked_ir, again, seconds=_SECONDS, positions=tuple(groups))
    for record in seen.records:
        if record.rule == "M105" and record.offset is not None:
            yield case.finding(
                record,
                f"element {record.offset // size} of '{parameter.name}' is read, and no launch has written there; its"
                " memory starts undefined",
                _hint(parameter.name),
            )


def _hint(name: str) -> str:
    return (
        f"let the launches before write all that is read of '{name}', read only what they wrote, or start from"
        " device.zeros"
    )


def _finding(case: Case, parameter: Parameter, elements: Elements) -> Finding:
    name, count, first, last = parameter.name, len(elements), int(elements[0]), int(elements[-1])
    which = f"element {first}" if count == 1 else f"{count} elements, the first {first}, the last {last},"
    signature = case.kernel.signature
    place = Location(signature.file, parameter.line or signature.line, 0, signature.name)
    named = re.search(rf"\b{name}\b", case.line(place))
    place = replace(place, column=named.start() + 1 if named else 0)
    return Finding(
        "M105",
        f"{which} of '{name}' {'is' if count == 1 else 'are'} read, and no launch has written there; its memory"
        " starts undefined",
        case.launch.kernel,
        place,
        buffer=name,
        hint=_hint(name),
        count=count,
        excerpt=case.line(place),
        detail={"first": first, "elements": count},
    )
