"""Links about the launch: was it committed, did threads run to their end, was everything bound."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from metalloid.checker.case import nbytes
from metalloid.checker.checked_launches import CheckedLaunches
from metalloid.checker.explain.link import Link
from metalloid.checker.explain.output import Output
from metalloid.findings import NOTE
from metalloid.runtime import resources


def nothing_ran(report: CheckedLaunches) -> Iterator[Link]:
    """No launch was seen: refused, never committed, or never made."""
    told = next((f for f in report.findings if f.severity != NOTE), None)
    if told is not None:
        yield Link(False, f"nothing ran: {told.rule} {told.message}", told.hint, told)
        return
    waiting = [r for r in resources.leaks() if r.kind == "command buffer"]
    if waiting:
        yield Link(
            False,
            f"nothing ran: the {waiting[0].what}, made at {waiting[0].place}, was never committed",
            "call commit() and wait_until_completed() before reading the result",
        )
    else:
        yield Link(False, "nothing ran: no kernel was launched", "make the launch inside the checked block")


def committed(output: Output, report: CheckedLaunches) -> Link | None:
    early = next((f for f in report.findings if f.rule == "M308"), None)
    if early is not None:
        return Link(False, f"{early.rule} {early.message}", early.hint, early)
    return None


def ran(output: Output, report: CheckedLaunches) -> Link:
    launch, threads = output.checked.launch, output.case.observation.threads
    groups = prod(launch.threadgroups)
    if not threads:
        return Link(
            False, f"no thread ran: the grid is {launch.grid}", "every axis of the grid needs 1 or more"
        )
    each = prod(launch.size_of((0, 0, 0)))
    many = f"{groups} threadgroups of up to {each}" if groups > 1 else "1 threadgroup"
    return Link(True, f"{threads} thread{'s' * (threads != 1)} ran, in {many}")


def bound(output: Output, report: CheckedLaunches) -> Link:
    """Something that the kernel uses and nobody bound comes before the output itself."""
    case = output.case
    for parameter in case.kernel.signature.buffers:
        if parameter.access != "none" and parameter.index not in case.launch.buffers:
            return Link(
                False,
                f"'{parameter.name}' is not bound: nothing came for index {parameter.index}",
                f"bind '{parameter.name}' at index {parameter.index}",
            )
    size = nbytes(case.launch.buffers[output.parameter.index])
    return Link(True, f"'{output.name}' is bound at index {output.parameter.index}, {size} bytes")


def local_memory(output: Output, report: CheckedLaunches) -> Link | None:
    for record in output.case.records("M101", "M102"):
        memory = record.memory
        if memory is not None and memory.kind == "threadgroup" and not memory.bytes:
            name = output.case.called(memory)
            return Link(
                False,
                f"{name} is threadgroup memory that the caller sizes, and no size came: what is written there is lost",
                f"pass threadgroup_memory={{{memory.index}: bytes}}",
            )
    return None


def ended(output: Output, report: CheckedLaunches) -> Link | None:
    stopped = output.case.observation.stopped
    if not stopped:
        return None
    finding = next((f for f in output.checked.findings if f.rule == "M204"), None)
    hint = finding.hint if finding else "look for a loop that does not end"
    return Link(False, f"the run did not end: {stopped}", hint, finding)
