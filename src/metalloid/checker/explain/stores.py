"""Links about stores: did any thread come to one, did they land in the output, do they cover it."""

from __future__ import annotations

from math import prod

from metalloid.backends.observe import Record
from metalloid.checker.checked_launches import CheckedLaunches
from metalloid.checker.code import GROUP
from metalloid.checker.explain.lines import line_of
from metalloid.checker.explain.link import Link, said_of
from metalloid.checker.explain.output import Output
from metalloid.checker.guards import Store, guards, scalars, stores_to
from metalloid.checker.rules import by_default
from metalloid.checker.rules.coverage import Extent, written_extent
from metalloid.findings import Finding
from metalloid.findings import launch_words as words


def stored(output: Output, report: CheckedLaunches) -> Link:
    """Did any thread get as far as storing?"""
    case = output.case
    stores = stores_to(case, output.parameter.index)
    ran = sum(s.count for s in stores)
    if ran:
        lines = ", ".join(f"line {line_of(case, s.location)} ({_times(s.count)})" for s in stores if s.count)
        return Link(True, f"stores to '{output.name}' ran: {lines}")
    written = written_extent(case, output.parameter) if not stores else None
    if written is not None and written.count:  # recursive functions keep pointers on a stack
        return Link(True, f"stores to '{output.name}' ran, through a pointer that was kept in memory")
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
    said = f"no thread reached line {line_of(case, store.location)}, which stores to '{output.name}'"
    for guard in guards(case, store):
        line = case.line(guard).strip()
        values = scalars(case, line)
        known = f"; {', '.join(values)}" if values else ""
        return Link(
            False,
            f"{said}\nno thread passed line {line_of(case, guard)}: {line}{known}",
            "pass the size that the condition compares with; is the scalar bound, and in its own type?"
            if values
            else "look at the condition: it is false for every thread",
        )
    return Link(False, said, "look at what stands before that line")


def inside(output: Output, report: CheckedLaunches) -> Link | None:
    """Did the stores land in the buffer?"""
    case, index = output.case, output.parameter.index
    written = written_extent(case, output.parameter)
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


def one_place(output: Output, report: CheckedLaunches) -> Link | None:
    """Do all threads write to one element of many?"""
    stores = [s for s in stores_to(output.case, output.parameter.index) if s.count]
    groups = prod(output.checked.launch.threadgroups)
    shared = [s for s in stores if not s.varies and not (GROUP in s.address and groups > 1)]
    if not stores or len(shared) < len(stores) or output.data.size < 2 or shared[0].count < 2:
        return None
    store = shared[0]
    return Link(
        False,
        f"every thread stores to the same element in line {line_of(output.case, store.location)}: the index does not"
        f" depend on the thread, and '{output.name}' has {output.data.size}",
        "use the thread's position in the index",
    )


def covered(output: Output, report: CheckedLaunches) -> Link | None:
    case = output.case
    written = written_extent(case, output.parameter)
    if written is None:
        return None
    if written.count == written.total:
        return Link(True, f"{_all_of(written.total, output.name)} was written")
    return _missing(output, written, report)


def _missing(output: Output, written: Extent, report: CheckedLaunches) -> Link:
    launch, threads = output.checked.launch, output.case.observation.threads
    said = f"only {written.count} of {written.total} elements of '{output.name}' were written; not {written.missing()}"
    each, form = prod(launch.threadgroup), output.case.kernel.source.form
    looks = next((f for f in report.findings if f.rule == "M304"), None)
    if looks is not None:  # it knows what the caller passed; the launch may have been cut to fit
        return Link(False, f"{said}\n{looks.message}", looks.hint, looks)
    found = next(
        (f for f in output.checked.findings if f.rule in ("M106", "M305") and f.buffer == output.name), None
    )
    if found is not None:
        why = f"\n{said_of(found)}" if found.rule == "M305" else ""  # M106 says the same
        return Link(False, f"{said}{why}", found.hint, found)
    ran = sum(s.count for s in stores_to(output.case, output.parameter.index))
    if ran > written.count and (race := _overwritten(output)) is not None:
        said += f"\n{ran} stores went to {written.count} elements: several to the same one\n{said_of(race)}"
        return Link(False, said, race.hint, race)
    if output.expected is None:  # nothing says that the rest was meant
        why = f"; {default}" if (default := by_default.why(output.case)) else ""
        return Link(True, f"{said}; nothing in the launch says that the rest was meant{why}")
    if each > 1 and threads == -(-written.total // each):
        said += f"\nthe grid is {threads} threads, which looks like a count of threadgroups of {each}"
        return Link(
            False,
            said,
            f"{words.grid(form)} counts threads: pass {words.threads(form, threads * each)}"
            + (f", or threadgroups={threads}" if words.has_groups(form) else ""),
        )
    if threads < written.total and written.prefix:
        said += f"\nthe grid has {threads} threads"
        return Link(False, said, f"launch {words.threads(form, written.total)}, or loop in each thread")
    return Link(False, said, "let a thread write each of them")


def _overwritten(output: Output) -> Finding | None:
    races = (f for f in output.checked.findings if f.rule in ("M202", "M203"))
    return next((f for f in races if f.buffer == output.name), None)


def _all_of(count: int, name: str) -> str:
    return f"the only element of '{name}'" if count == 1 else f"every one of the {count} elements of '{name}'"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
