"""M106 for a launch that wrote nothing at all: every call succeeded, and the outputs are as they were.

Threads that all leave at a guard are a mistake where the guard looks at nothing but positions and arguments; a
guard that looks at data may well be false for all of it. An argument of 0 may be meant (there is nothing to do
today): that is told as a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from metalloid.checker.case import Case
from metalloid.checker.guards import Store, guards, has_zero, looks_at_data, scalars, stores_to
from metalloid.findings import ERROR, NOTE, Finding
from metalloid.ir.debug import Location
from metalloid.runtime.arguments import WRITES
from metalloid.types import Parameter


def outputs(case: Case) -> list[Parameter]:
    """The buffers that the kernel writes to, as far as they have elements."""
    return [p for p in case.kernel.signature.buffers if p.access in WRITES and case.elements(p.index)]


def nothing_stored(case: Case) -> bool:
    """Whether threads ran and no store to any buffer did."""
    seen = case.observation
    if not seen.threads or seen.stopped or case.launch.resources or case.kernel.signature.logs:
        return False
    if case.records("M101", "M102"):  # a store that went outside is a store
        return False
    if any(store.count for p in outputs(case) for store in stores_to(case, p.index)):
        return False
    return not any(seen.touched(p.index).any() for p in outputs(case) if p.index in seen.writers)


def without_effect(case: Case) -> Iterator[Finding]:
    """What is said of a launch in which nothing was stored."""
    if not outputs(case):
        yield from _no_store(case)
        return
    undefined = any(p.index in case.launch.undefined for p in outputs(case))
    stores = [(p, store) for p in outputs(case) for store in stores_to(case, p.index)]
    if not stores or (any(looks_at_data(case, store) for _, store in stores) and not undefined):
        return
    parameter, store = stores[0]
    guard = next(guards(case, store), None)
    filled = all(p.index in case.launch.filled for p in outputs(case))
    meant = filled or (guard is not None and has_zero(case, store))
    yield replace(
        _left_early(case, parameter, store, guard), severity=NOTE if meant and not undefined else ERROR
    )


def _left_early(case: Case, parameter: Parameter, store: Store, guard: Location | None) -> Finding:
    place = guard or store.location
    values = scalars(case, case.line(place))
    known = f" ({', '.join(values)})" if values else ""
    hint = "look at the condition: it turns every thread of this launch away"
    if values:
        hint = f"pass the size that the condition compares with; {', '.join(values)} in this launch"
    elif guard is None:
        hint = "look at what stands before that line"
    who = "none of" if case.observation.threads > 1 else "not even"
    return Finding(
        "M106",
        f"nothing was written: {who} {case.observation.threads} thread{'s' * (who == 'none of')} came past this"
        f" condition{known} to line {store.location.line}, which stores to '{parameter.name}'"
        if guard
        else f"nothing was written: no thread came to this line, which stores to '{parameter.name}'",
        case.launch.kernel,
        case.place(place),
        buffer=parameter.name,
        hint=hint,
        excerpt=case.line(place),
    )


def _no_store(case: Case) -> Iterator[Finding]:
    """A kernel that was given an output and has no store to any buffer."""
    given = [
        p
        for p in case.kernel.signature.buffers
        if p.space == "device" and not p.const and p.index in case.launch.buffers
    ]
    if any(p.access in WRITES for p in case.kernel.signature.buffers) or not given:
        return
    signature, name = case.kernel.signature, given[-1].name
    place = Location(signature.file, given[-1].line or signature.line, 0, signature.name)
    yield Finding(
        "M106",
        f"nothing was written: the compiled kernel has no store to '{name}' or any other buffer",
        case.launch.kernel,
        place,
        buffer=name,
        hint=f"assign the result to an element of '{name}'; the compiler leaves out what is not stored, and stores"
        " of what has no defined value (a division by 0, a null pointer, a loop without an end)",
        excerpt=case.line(place),
    )
