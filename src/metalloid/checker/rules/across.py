"""M105 across launches: memory from `device.empty` that no launch has written, and this one reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from metalloid.checker.case import Case
from metalloid.checker.holes import by_byte, holes
from metalloid.findings import Finding
from metalloid.ir.debug import Location
from metalloid.types import Parameter


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
        bad = unset & by_byte(read, granule, len(unset))
        if index in seen.writers:
            bad &= ~by_byte(seen.touched(index), granule, len(unset))
        size = max(1, parameter.type.size)
        elements = np.unique(np.flatnonzero(bad) // size)
        if len(elements):
            yield _finding(case, parameter, elements)


def _finding(
    case: Case, parameter: Parameter, elements: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> Finding:
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
        hint=f"let the launches before write all that is read of '{name}', read only what they wrote, or start from"
        " device.zeros",
        count=count,
        excerpt=case.line(place),
        detail={"first": first, "elements": count},
    )
