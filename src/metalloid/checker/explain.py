"""Why zeros: follow a result from the launch to the value, and name the first link that is broken.

Every call succeeded and the output is zeros, one value, half empty or wrong. The chain is always the same:
was it committed, did threads run, is the output bound, did stores run, where did they go, did another
overwrite them, is the value itself zero. Each link is answered with what the checked run saw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from metalloid.backends.base import Launch, Triple
from metalloid.backends.interpret.notes import unflattened
from metalloid.backends.observe import Record
from metalloid.checker.case import Case, nbytes
from metalloid.checker.code import GROUP, LANE, SIMDGROUP, THREAD
from metalloid.checker.guards import Store, guards, scalars, stores_to
from metalloid.checker.origin import of_zero
from metalloid.checker.rules.coverage import Extent, extent
from metalloid.findings import NOTE, Finding
from metalloid.runtime import resources
from metalloid.runtime.pack import NUMPY
from metalloid.types import Matrix, Parameter, Scalar, Vector

if TYPE_CHECKING:
    from metalloid.checker.report import Checked, Report

_WRITES = ("write", "read_write")


@dataclass(frozen=True)
class Link:
    """One link of the chain: what holds, or what is broken and what to do."""

    holds: bool
    said: str
    hint: str = ""
    finding: Finding | None = None

    def lines(self) -> list[str]:
        first, *rest = self.said.split("\n")
        hint = [f"       hint: {self.hint}"] if self.hint and not self.holds else []
        return [f"  {'ok ' if self.holds else 'NO '}  {first}", *(f"       {r}" for r in rest), *hint]


@dataclass(frozen=True)
class Explanation:
    """The chain as far as it was followed; `broken` is the link that explains the result."""

    subject: str
    links: tuple[Link, ...]

    @property
    def broken(self) -> Link | None:
        return next((link for link in self.links if not link.holds), None)

    def text(self) -> str:
        lines = [self.subject, *(line for link in self.links for line in link.lines())]
        if self.broken is None:
            lines.append("  nothing on the way is broken; compare with a reference: mt.compare")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True)
class Output:
    """The result in question."""

    checked: Checked
    parameter: Parameter
    data: np.ndarray[Any, Any]  # elements
    expected: np.ndarray[Any, Any] | None = None

    @property
    def case(self) -> Case:
        return self.checked.case

    @property
    def name(self) -> str:
        return self.parameter.name

    def looks(self) -> str:
        """What is odd about it, in words; empty where nothing is."""
        if self.data.size and not self.data.any():
            return "all zeros"
        if self.data.size > 1 and (self.data == self.data.flat[0]).all():
            return f"all {self.data.flat[0]}"
        written = extent(self.case, self.parameter, self.case.observation.writers)
        if written is not None and written.count < written.total:
            return "partly untouched"
        wrong = self.first_wrong()
        return "partly wrong" if wrong is not None and wrong >= 0 else ""

    def first_wrong(self) -> int | None:
        """The first element that is not as expected; -1 where all are, None where nothing is expected."""
        if self.expected is None:
            return None
        wrong = ~np.isclose(self.data.astype(np.float64), self.expected.astype(np.float64), 1e-3, 1e-5)
        return int(np.argmax(wrong)) if wrong.any() else -1


def explain(report: Report, output: str = "", expected: Any = None) -> Explanation:
    """Why an output is as it is: the one named, else the first that looks odd, of the last launch that has one."""
    if not report.launches:
        return Explanation("why is there no result?", tuple(_nothing_ran(report)))
    chosen = _choose(report, output, expected)
    if chosen is None:
        return Explanation("the launches have no output to explain", ())
    looks = chosen.looks()
    subject = f"why is '{chosen.name}' of {chosen.checked.kernel} {looks or 'as it is'}?"
    links: list[Link] = []
    for link in _chain(chosen, report):
        links.append(link)
        if not link.holds:
            break
    return Explanation(subject, tuple(links))


def _choose(report: Report, name: str, expected: Any) -> Output | None:
    found = []
    for checked in reversed(report.launches):
        for parameter in checked.case.kernel.signature.buffers:
            written = parameter.access in _WRITES and (not name or parameter.name == name)
            memory = checked.launch.buffers.get(parameter.index)
            if written and memory is not None:
                data = _elements(parameter, memory)
                wanted = None if expected is None else np.asarray(expected).reshape(-1)
                fits = wanted is not None and wanted.size == data.size
                found.append(Output(checked, parameter, data, wanted if fits else None))
    odd = [o for o in found if o.looks()]
    return next(iter(odd or found), None)


def _elements(parameter: Parameter, memory: Any) -> np.ndarray[Any, Any]:
    raw = np.asarray(memory).reshape(-1).view(np.uint8) if nbytes(memory) else np.zeros(0, np.uint8)
    match parameter.type:
        case Scalar(dtype):
            return raw.view(NUMPY[dtype])
        case Vector(element) | Matrix(element):
            return raw.view(NUMPY[element.dtype])
        case _:
            return raw


def _nothing_ran(report: Report) -> Iterator[Link]:
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


def _chain(output: Output, report: Report) -> Iterator[Link]:
    for link in _LINKS:
        made = link(output, report)
        if made is not None:
            yield made


def _committed(output: Output, report: Report) -> Link | None:
    early = next((f for f in report.findings if f.rule == "M308"), None)
    if early is not None:
        return Link(False, f"{early.rule} {early.message}", early.hint, early)
    return None


def _ran(output: Output, report: Report) -> Link:
    launch, threads = output.checked.launch, output.case.observation.threads
    groups = prod(launch.threadgroups)
    if not threads:
        return Link(
            False, f"no thread ran: the grid is {launch.grid}", "every axis of the grid needs 1 or more"
        )
    each = prod(launch.size_of((0, 0, 0)))
    many = f"{groups} threadgroups of up to {each}" if groups > 1 else "1 threadgroup"
    return Link(True, f"{threads} threads ran, in {many}")


def _bound(output: Output, report: Report) -> Link:
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


def _local_memory(output: Output, report: Report) -> Link | None:
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


def _stored(output: Output, report: Report) -> Link:
    """Did any thread get as far as storing?"""
    case = output.case
    stores = stores_to(case, output.parameter.index)
    ran = sum(s.count for s in stores)
    if ran:
        lines = ", ".join(f"line {s.location.line} ({s.count} times)" for s in stores if s.count)
        return Link(True, f"stores to '{output.name}' ran: {lines}")
    if not stores:
        return Link(
            False,
            f"the kernel has no store to '{output.name}': the compiler found none, or removed what has no effect",
            f"is '{output.name}' the buffer that the kernel writes to?",
        )
    store = stores[0]
    return _guarded(output, store)


def _guarded(output: Output, store: Store) -> Link:
    case = output.case
    said = f"no thread reached line {store.location.line}, which stores to '{output.name}'"
    for guard in guards(case, store):
        line = case.line(guard).strip()
        values = scalars(case, line)
        known = f"; {', '.join(values)}" if values else ""
        return Link(
            False,
            f"{said}\nno thread passed line {guard.line}: {line}{known}",
            "pass the size that the condition compares with; is the scalar bound, and in its own type?"
            if values
            else "look at the condition: it is false for every thread",
        )
    return Link(False, said, "look at what stands before that line")


def _inside(output: Output, report: Report) -> Link | None:
    """Did the stores land in the buffer?"""
    case, index = output.case, output.parameter.index
    written = extent(case, output.parameter, case.observation.writers)
    outside = next((r for r in case.records("M102") if _of_buffer(r, index)), None)
    if outside is None or (written is not None and written.count == written.total):
        return None
    some = written is not None and written.count > outside.count
    stores = f"{outside.count} stores" if some else "the stores"
    element = (outside.offset or 0) // max(1, output.parameter.type.size)
    finding = next((f for f in output.checked.findings if f.rule in ("M102", "M404")), None)
    return Link(
        False,
        f"{stores} went outside '{output.name}': the first to element {element} of {output.data.size}, by thread"
        f" {outside.access.thread}",
        finding.hint if finding else "look at how the index is computed",
        finding,
    )


def _of_buffer(record: Record, index: int) -> bool:
    return record.memory is not None and record.memory.kind == "buffer" and record.memory.index == index


def _ended(output: Output, report: Report) -> Link | None:
    stopped = output.case.observation.stopped
    if not stopped:
        return None
    finding = next((f for f in output.checked.findings if f.rule == "M204"), None)
    hint = finding.hint if finding else "look for a loop that does not end"
    return Link(False, f"the run did not end: {stopped}", hint, finding)


def _covered(output: Output, report: Report) -> Link | None:
    case = output.case
    written = extent(case, output.parameter, case.observation.writers)
    if written is None:
        return None
    if written.count == written.total:
        return Link(True, f"every one of the {written.total} elements of '{output.name}' was written")
    return _missing(output, written, report)


def _missing(output: Output, written: Extent, report: Report) -> Link:
    launch, threads = output.checked.launch, output.case.observation.threads
    said = f"only {written.count} of {written.total} elements of '{output.name}' were written; not {written.missing()}"
    each = prod(launch.threadgroup)
    looks = next((f for f in report.findings if f.rule == "M304"), None)
    if looks is not None:  # it knows what the caller passed; the launch may have been cut to fit
        return Link(False, f"{said}\n{looks.message}", looks.hint, looks)
    if each > 1 and threads == -(-written.total // each):
        return Link(
            False,
            f"{said}\nthe grid is {threads} threads, which looks like a count of threadgroups of {each}",
            f"grid counts threads: pass grid={threads * each}, or threadgroups={threads}",
        )
    if threads < written.total and written.prefix:
        return Link(
            False,
            f"{said}\nthe grid has {threads} threads",
            f"launch grid={written.total}, or loop in each thread",
        )
    found = next((f for f in output.checked.findings if f.rule in ("M106", "M305")), None)
    ran = sum(s.count for s in stores_to(output.case, output.parameter.index))
    if found is None and ran > written.count:
        said += f"\n{ran} stores went to {written.count} elements: several to the same one"
        found = _overwritten(output)
    return Link(False, said, found.hint if found else "let a thread write each of them", found)


def _overwritten(output: Output) -> Finding | None:
    races = (f for f in output.checked.findings if f.rule in ("M202", "M203"))
    return next((f for f in races if f.buffer == output.name), None)


def _kept(output: Output, report: Report) -> Link | None:
    """Did the first value stay?"""
    races = ("M202", "M203", "M201", "M205", "M206", "M208", "M204")
    for finding in output.checked.findings:
        mine = finding.buffer == output.name or finding.rule in ("M201", "M205", "M206", "M208", "M204")
        if finding.rule in races and mine:
            place = f" (line {finding.location.line})" if finding.location else ""
            return Link(False, f"{finding.rule} {finding.message}{place}", finding.hint, finding)
    return None


def _one_place(output: Output, report: Report) -> Link | None:
    """Do all threads write to one element of many?"""
    stores = [s for s in stores_to(output.case, output.parameter.index) if s.count]
    groups = prod(output.checked.launch.threadgroups)
    shared = [s for s in stores if not s.varies and not (GROUP in s.address and groups > 1)]
    if len(shared) < len(stores) or output.data.size < 2 or shared[0].count < 2:
        return None
    store = shared[0]
    return Link(
        False,
        f"every thread stores to the same element in line {store.location.line}: the index does not depend on"
        f" the thread, and '{output.name}' has {output.data.size}",
        "use the thread's position in the index",
    )


def _value(output: Output, report: Report) -> Link | None:
    """Is the value itself zero, and since when?"""
    at = output.first_wrong()
    if at is None or at < 0:
        at = 0 if output.data.size and not output.data.any() else None
    if at is None:
        return _constant(output)
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
    where = f"\nline {origin.location.line}: {line}" if origin.location and line else ""
    none = ", ".join(f"'{name}'" for name in _zero_scalars(output.case))
    also = f"\n{none}, which the caller passes, is 0" if none else ""
    return Link(False, f"{said}: {origin.words}{where}{also}", "this is where the value becomes 0")


def _found(output: Output, report: Report) -> Link | None:
    """What else the rules have to say: a NaN, lost digits, a read outside."""
    told = next((f for f in output.checked.findings if f.severity != NOTE), None)
    if told is None:
        return None
    place = f" (line {told.location.line})" if told.location else ""
    return Link(False, f"{told.rule} {told.message}{place}", told.hint, told)


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
        f"the value stored in line {fixed[0].location.line} does not depend on the thread",
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


_LINKS: tuple[Callable[[Output, Report], Link | None], ...] = (
    *(_committed, _ran, _bound, _local_memory, _stored, _inside, _ended),
    *(_one_place, _covered, _kept, _value, _found),
)
