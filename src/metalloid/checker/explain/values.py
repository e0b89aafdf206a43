"""Links about values: did another thread overwrite it, is it zero from the start, does it depend on the thread."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from metalloid.backends.base import Launch, Triple
from metalloid.backends.interpret.notes import unflattened
from metalloid.checker.case import Case
from metalloid.checker.checked_launches import CheckedLaunches
from metalloid.checker.code import GROUP, LANE, SIMDGROUP, THREAD
from metalloid.checker.explain.lines import line_of
from metalloid.checker.explain.link import Link, said_of
from metalloid.checker.explain.output import Output
from metalloid.checker.guards import stores_to
from metalloid.checker.origin import CONSTANT, of_zero
from metalloid.findings import NOTE
from metalloid.location import Location


def kept(output: Output, report: CheckedLaunches) -> Link | None:
    """Did the first value stay?"""
    races = ("M202", "M203", "M201", "M205", "M206", "M208", "M204")
    for finding in output.checked.findings:
        mine = finding.buffer == output.name or finding.rule in ("M201", "M205", "M206", "M208", "M204")
        if finding.rule in races and mine:
            return Link(False, said_of(finding), finding.hint, finding)
    return None


def value(output: Output, report: CheckedLaunches) -> Link | None:
    """Is the value itself zero, and since when?"""
    at = output.first_wrong()
    if at is None or at < 0:
        at = 0 if output.data.size and not output.data.any() else None
    if at is None:  # what a rule has found says more
        return None if any(f.severity != NOTE for f in output.checked.findings) else _constant(output)
    thread = _writer(output, at)
    if thread is None:
        return Link(
            False, f"element {at} of '{output.name}' was written by no thread", "let a thread write it"
        )
    if output.data.flat[at]:
        told = next((f for f in output.checked.findings if f.severity != NOTE), None)
        extra = f"\n{told.rule} {told.message}" if told else ""
        wanted = output.expected.flat[at] if output.expected is not None else "?"
        return Link(
            False,
            f"element {at} is {output.data.flat[at]}, expected {wanted}; thread {thread} wrote it{extra}",
            told.hint if told else "follow this thread: mt.compare shrinks the case",
            told,
        )
    each = output.parameter.type.size
    size = output.data.itemsize
    launch = _copied(output)
    origin = of_zero(output.case, launch, thread, output.parameter.index, at * size // each, each)
    said = f"thread {thread} stored 0 in element {at}"
    if origin is None:
        return Link(False, f"{said}: the value itself is 0", "look at how it is computed")
    line = output.case.line(origin.location).strip()
    where = f"\nline {line_of(output.case, origin.location)}: {line}" if origin.location and line else ""
    if origin.words == CONSTANT and _found_at(output, origin.location):
        return Link(
            False, f"{said}, of the line with this finding{where}", "this is where the value becomes 0"
        )
    none = ", ".join(f"'{name}'" for name in _zero_scalars(output.case))
    also = f"\n{none}, which the caller passes, is 0" if none else ""
    return Link(False, f"{said}: {origin.words}{where}{also}", "this is where the value becomes 0")


def _found_at(output: Output, place: Location | None) -> bool:
    """Whether a finding is about this line: it knows better why its value is 0."""
    line = line_of(output.case, place) if place is not None else 0
    return any(f.location and f.location.line == line and f.severity != NOTE for f in output.checked.findings)


def found(output: Output, report: CheckedLaunches) -> Link | None:
    """What else the rules have to say: a NaN, lost digits, a read outside."""
    told = next((f for f in output.checked.findings if f.severity != NOTE), None)
    if told is None:
        return None
    return Link(False, said_of(told), told.hint, told)


def _zero_scalars(case: Case) -> list[str]:
    return [
        p.name
        for p in case.kernel.signature.buffers
        if p.reference
        and p.index in case.launch.buffers
        and not np.asarray(case.launch.buffers[p.index]).any()
    ]


def _constant(output: Output) -> Link | None:
    """All elements are one value: does it depend on the thread at all?"""
    if output.data.size < 2 or not (output.data == output.data.flat[0]).all():
        return None
    stores = [s for s in stores_to(output.case, output.parameter.index) if s.count]
    fixed = [s for s in stores if not {THREAD, LANE, SIMDGROUP, GROUP} & s.value]
    if not fixed:
        return None
    return Link(
        False,
        f"the value stored in line {line_of(output.case, fixed[0].location)} does not depend on the thread",
        "use the thread's position where the value is computed",
    )


def _writer(output: Output, element: int) -> Triple | None:
    marks = output.case.observation.writers.get(output.parameter.index)
    granule = output.case.observation.granules.get(output.parameter.index, 1)
    if marks is None:
        return None
    number = int(np.asarray(marks)[element * output.data.itemsize // granule])
    return unflattened(number - 1, output.checked.launch.grid) if number else None


def _copied(output: Output) -> Launch:
    """The launch over copies, with what its buffers held before, as far as that is known."""
    launch = output.checked.launch
    before = output.checked.before
    buffers = {
        i: before[i].copy() if i in before else np.array(m, copy=True) for i, m in launch.buffers.items()
    }
    return replace(launch, buffers=buffers)
