"""M106, M305: elements that no thread wrote, or read.

An array that is read and written may keep most of what it holds, and so may one that a kernel scatters
into, or that was filled for the launch (init_value in MLX): nothing is said about those. What is said needs
evidence that all elements were meant:

- memory that nobody had set before (M106, M305): what is not written stays garbage;
- a write-only array as long as an input, or without any input, of which the threads wrote a first part, one
  element each, and stopped (M305), or all but a rest too small for one more share of several (M106);
- one that had a thread for every element, some of which a condition turned away (M106: `meant.turned_away`);
- one whose rows all end with a rest that is too short for one more round of their threads (M106: `tails`);
- a condition that lets so many threads write as it has elements, and more than ran (M305: `bounds`);
- an axis that its index asks for and the grid lacks, or as many threads as it has rows for threadgroups (M305);
- a number of threads that nobody passed, of a tensor that the kernel does not go through (M305: `by_default`);
- an input of which the threads of a reduction read a first part, one element each (M305).

Where data decides who stores and at which place (an atomic counter, a prefix sum), and they lie side by side from the
first element on, there were so many: nothing is said, even of memory that nobody had set.

A scalar argument that names the number of elements touched is a good reason where so many threads ran: then nothing is
said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from metalloid.checker.case import Case, nbytes
from metalloid.checker.guards import guards, looks_at_data, placed_by_data, scalars, stores_to
from metalloid.checker.rules import bounds, by_default, meant, mixed, tails
from metalloid.checker.rules.effect import nothing_stored, without_effect
from metalloid.findings import Finding
from metalloid.findings import launch_words as words
from metalloid.ir.debug import Location
from metalloid.types import Array, Parameter, Struct, Vector

_WRITES = ("write", "read_write")
_PIECE = 1 << 16  # elements that are looked at at once
_ORDINALS = {2: "second", 3: "third"}
_MANY = 1 << 22  # elements whose writers are told apart


@dataclass(frozen=True)
class Extent:
    """Which elements of a buffer were touched."""

    parameter: Parameter
    touched: np.ndarray[Any, Any]  # bool, by element

    @property
    def count(self) -> int:
        return int(self.touched.sum())

    @property
    def total(self) -> int:
        return len(self.touched)

    @property
    def first_missing(self) -> int:
        return int(np.argmin(self.touched))

    @property
    def prefix(self) -> bool:
        """Whether it is a first part, without gaps."""
        return 0 < self.first_missing == self.count

    def missing(self) -> str:
        """The elements that were not touched, in words."""
        first, last = self.first_missing, self.total - 1 - int(np.argmin(self.touched[::-1]))
        count = self.total - self.count
        if count == last - first + 1:
            return f"{first} to {last}" if count > 1 else f"{first}"
        gaps: list[int] = []
        for start in range(first, self.total, _PIECE):  # large arrays in pieces
            gaps += (start + np.flatnonzero(~self.touched[start : start + _PIECE])[:4]).tolist()
            if len(gaps) >= 4:
                break
        return f"{', '.join(map(str, gaps[:4]))}{', ...' if count > 4 else ''}"


def unwritten(case: Case) -> Iterator[Finding]:
    """M106 and M305 for outputs; M305 for the input of a reduction."""
    if case.observation.stopped:
        return
    if nothing_stored(case):
        yield from without_effect(case)
        return
    for parameter in case.kernel.signature.buffers:
        written = written_extent(case, parameter) if parameter.access in _WRITES else None
        if written is not None and written.count < written.total:
            yield from _output(case, written)
    yield from _input(case)


def written_extent(case: Case, parameter: Parameter) -> Extent | None:
    """Which elements were written."""
    seen = case.observation
    return extent(case, parameter, seen.touched(parameter.index)) if parameter.index in seen.writers else None


def extent(case: Case, parameter: Parameter, found: np.ndarray[Any, Any] | None) -> Extent | None:
    """Which elements have a mark; None where the buffer is not bound or has no whole elements."""
    memory = case.launch.buffers.get(parameter.index)
    if found is None or memory is None or parameter.reference or not parameter.type.size:
        return None
    each = case.unit(parameter.index)
    total = nbytes(memory) // each
    granule = case.observation.granules.get(parameter.index, each)
    if not total or each % granule:
        return None
    marks = found[: total * each // granule]
    return Extent(parameter, np.asarray(marks if each == granule else marks.reshape(total, -1).any(axis=1)))


def _output(case: Case, written: Extent) -> Iterator[Finding]:
    threads, parameter = prod(case.launch.grid), written.parameter
    undefined = parameter.index in case.launch.undefined
    if not undefined and (parameter.access != "write" or parameter.index in case.launch.filled):
        return
    handed_out = meant.handed_out(case, parameter.index)
    if handed_out and written.prefix:
        return  # so many there were; who reads further is told (M105)
    if short := _by_groups(case, written) or _by_axis(case, written, undefined):
        yield short
        return
    if written.prefix and by_default.too_few(case, parameter.index, written.count):
        yield _short_grid(case, written, written.count // threads)
        return
    memory = case.launch.buffers[parameter.index]
    away = not undefined and meant.turned_away(case, parameter.index, written.touched, memory)
    mixed_up = mixed.one_of_each_group(case, parameter.index, written.total)
    lacking = () if mixed_up else _lacking(case, written, undefined)
    crossed = tails.crossed_hint(case, written.count, written.total) if away or undefined or lacking else ""
    if lacking and not crossed:
        yield short_axes(case, written, lacking)
        return
    tail = tails.row_hint(case, written.touched, memory)
    if not (undefined or away or mixed_up or tail or lacking) and written.count in meant.numbers(case):
        return
    share = written.count // threads if threads and written.count % threads == 0 else 0
    short_grid = (
        written.prefix and 0 < share <= written.total - written.count and _writers(case, written) == threads
    )
    if short_grid and (undefined or (share == 1 and _all_meant(case, written))):
        yield _short_grid(case, written, share)
    elif (
        undefined
        or away
        or mixed_up
        or tail
        or lacking
        or (meant.whole(case, written.total) and _rest(case, written))
    ):
        yield finding_of(
            case,
            "M106",
            written,
            f"{written.total - written.count} of {written.total} elements of '{parameter.name}'"
            f" {'was' if written.total - written.count == 1 else 'were'} never written: {written.missing()}"
            + ("; what was there before is still there" if undefined else ""),
            mixed.unwritten_hint(case, parameter.index, written.total)
            or tail
            or crossed
            or (_late_hint(written) if handed_out else "")
            or _guard_hint(case, parameter.index, nbytes(memory) // _number(parameter))
            or _unwritten_hint(written, undefined),
        )


def _short_grid(case: Case, written: Extent, share: int) -> Finding:
    threads, name = prod(case.launch.grid), written.parameter.name
    each = "one element each" if share == 1 else f"{share} elements each"
    needed = -(-written.total // share)
    return finding_of(
        case,
        "M305",
        written,
        f"the grid does not cover '{name}': {threads} threads wrote {each}, and it has {written.total}"
        + (f"; {why}" if (why := by_default.why(case)) else ""),
        f"launch {words.threads(case.kernel.source.form, needed)}, or let each thread write"
        f" {-(-written.total // threads)} elements",
    )


def _lacking(case: Case, written: Extent, undefined: bool) -> tuple[bounds.Bound, ...]:
    """The conditions that let more threads write than the launch has; none where a part may be meant."""
    if written.count in (*meant.inputs(case), *meant.numbers(case)):
        return ()  # a cache that is filled so far
    stores = [s for s in stores_to(case, written.parameter.index) if s.count]
    if any(looks_at_data(case, s) or placed_by_data(case, s) for s in stores):
        return ()
    memory = case.launch.buffers[written.parameter.index]
    if not undefined and not meant.fresh(written.touched, memory):
        return ()
    return bounds.too_few(case, written.count, written.total)


def short_axes(case: Case, written: Extent, lacking: tuple[bounds.Bound, ...]) -> Finding:
    """A grid that has fewer positions along an axis than the kernel's conditions let through."""
    form, launch, name = case.kernel.source.form, case.launch, written.parameter.name
    needed = bounds.needed(launch.grid, lacking)
    groups = tuple(-(-n // t) for n, t in zip(needed, launch.threadgroup, strict=False))
    here = launch.threadgroups[: len(groups)]
    why = ""
    if groups == launch.grid[: len(groups)] and max(launch.threadgroup) > 1:
        why = f"{words.grid(form)} counts threads, not threadgroups: "
    elif groups != here and sorted(groups) == sorted(here):
        why = "the axes of the grid, or two sizes, have changed places: "
    several = f", or threadgroups={bounds.shown(groups)} (rounded up)" if words.has_groups(form) else ""
    return finding_of(
        case,
        "M305",
        written,
        f"the grid does not cover '{name}': {bounds.said(lacking)}; {written.count} of {written.total} elements were"
        " written",
        f"{why}launch {words.threads(form, bounds.shown(needed))}{several}",
    )


def _all_meant(case: Case, written: Extent) -> bool:
    return meant.whole(case, written.total) or meant.rows(case, written.total)


def _by_groups(case: Case, written: Extent) -> Finding | None:
    """A launch of as many threads as there are rows, one for each threadgroup."""
    groups, threads, index = prod(case.launch.threadgroups), prod(case.launch.grid), written.parameter.index
    share = written.count // groups if groups and written.count % groups == 0 else 0
    if mixed.unwritten_hint(case, index, written.total):
        return None
    few = written.prefix and share and written.total == share * threads and threads > groups
    if not few or not meant.by_groups(case, index):
        return None
    each, form = prod(case.launch.threadgroup), case.kernel.source.form
    wrote = "one element each" if share == 1 else f"{share} elements each"
    return finding_of(
        case,
        "M305",
        written,
        f"the grid does not cover '{written.parameter.name}': {groups} threadgroups wrote {wrote}, and it has"
        f" {written.total}, as many as {threads} threadgroups would write",
        f"{words.grid(form)} counts threads: for {threads} threadgroups of {each} pass"
        f" {words.threads(form, threads * each)}"
        + (f", or threadgroups={threads}" if words.has_groups(form) else ""),
    )


def _by_axis(case: Case, written: Extent, undefined: bool) -> Finding | None:
    """An index that asks for an axis of the position, and a grid that has only one thread along it."""
    axis = meant.lacking_axis(case, written.parameter.index)
    if not axis or not (undefined or _all_meant(case, written)) or written.total % max(1, written.count):
        return None
    times = written.total // max(1, written.count)
    sizes = list(case.launch.grid)
    sizes[axis] = times
    needed = tuple(sizes[: max(axis + 1, 2)])
    return finding_of(
        case,
        "M305",
        written,
        f"the grid does not cover '{written.parameter.name}': its index asks for .{'xyz'[axis]} of the position, and"
        f" the grid {case.launch.grid} has one thread along {'xyz'[axis]}; {written.count} of {written.total} elements"
        " were written",
        f"launch {words.threads(case.kernel.source.form, needed)}: the {_ORDINALS[axis + 1]} axis is missing",
    )


def _guard_hint(case: Case, index: int, total: int) -> str:
    """The condition that decides who stores, with the arguments it compares with."""
    lines = (guards(case, store) for store in stores_to(case, index) if store.count)
    for place in chain.from_iterable(lines):
        values = scalars(case, case.line(place))
        if values and any(str(n) in v.split() for v in values for n in (total, *case.launch.grid) if n > 1):
            return (
                f"line {place.line} decides who writes; {', '.join(values)}, which fits the launch: so it is the"
                " condition itself that turns their threads away, correct it"
            )
        if values:
            return f"line {place.line} decides who writes, and {', '.join(values)}: pass the size of the whole output"
    conditions = [p for s in stores_to(case, index) if s.count for p in guards(case, s)]
    tested = next((p for p in conditions if re.search(r"\bif\b|\?", case.line(p))), None)
    return f"the condition in line {tested.line} turns their threads away: correct it" if tested else ""


def _number(parameter: Parameter) -> int:
    """Bytes of one number of an element."""
    return parameter.type.element.size if isinstance(parameter.type, Vector) else parameter.type.size


def _input(case: Case) -> Iterator[Finding]:
    """A reduction whose grid is too small for its input."""
    threads = prod(case.launch.grid)
    outputs = [_places(case, p) for p in case.kernel.signature.buffers if p.access in _WRITES]
    for parameter in case.kernel.signature.buffers:
        if parameter.access != "read" or parameter.index not in case.launch.buffers or not outputs:
            continue
        if max(outputs) >= min(threads, case.elements(parameter.index)):
            continue  # no reduction; what was read of a large input takes long to tell
        seen = extent(case, parameter, case.observation.reads.get(parameter.index))
        if seen is None or not seen.prefix or seen.count != threads:
            continue
        if seen.count < seen.total and seen.count not in meant.numbers(case):
            yield finding_of(
                case,
                "M305",
                seen,
                f"the grid does not cover '{parameter.name}': {threads} threads read one element each,"
                f" and it has {seen.total}",
                f"launch {words.threads(case.kernel.source.form, seen.total)}, or loop in each thread:"
                " for (uint j = i; j < n; j += threads_per_grid)",
            )


def _places(case: Case, parameter: Parameter) -> int:
    """How many results an output has room for: those inside a struct count each."""
    if isinstance(parameter.type, Struct | Array) and parameter.index in case.launch.buffers:
        return nbytes(case.launch.buffers[parameter.index]) // 4
    return case.elements(parameter.index)


def _writers(case: Case, written: Extent) -> int:
    """How many threads wrote what was written."""
    each = case.unit(written.parameter.index)
    granule = case.observation.granules.get(written.parameter.index, each)
    elements = np.flatnonzero(written.touched) if written.count <= _MANY else np.arange(0)
    marks = case.observation.who(written.parameter.index, elements * max(1, each // granule))
    return int(np.count_nonzero(np.unique(marks))) if len(marks) else prod(case.launch.grid)


def _rest(case: Case, written: Extent) -> bool:
    """Whether what is missing is an end too short for one more share of several elements."""
    writers = _writers(case, written)
    share = written.count // writers if writers and written.count % writers == 0 else 0
    return written.prefix and written.total - written.count < share


def _unwritten_hint(written: Extent, undefined: bool) -> str:
    if written.prefix:
        left = written.total - written.count
        last, them = ("element", "it") if left == 1 else (f"{left} elements", "them")
        return f"let threads write the last {last} too: the loop or the grid leaves {them} out"
    fill = "give the output a value first (init_value, device.zeros), or " if undefined else ""
    if step := _step(written):
        return (
            f"the stores go to every {_ORDINALS.get(step, f'{step}th')} element: look at what the index is multiplied"
            f" by; or {fill}let threads write the others too"
        )
    return f"{fill}let a thread write each of them"


def _late_hint(written: Extent) -> str:
    """What to do where places were handed out side by side, but not from the first on; else ""."""
    first = int(np.argmax(written.touched))
    if not first or not written.touched[first : first + written.count].all():
        return ""
    return (
        f"the first place that was handed out is {first}: let the counter, or the sum, of places start at 0"
    )


def _step(written: Extent) -> int:
    """How far apart the elements that were written lie, where that is the same for all; 0 where it is not."""
    places = np.flatnonzero(written.touched[:_PIECE])
    apart = np.unique(np.diff(places))
    return int(apart[0]) if len(apart) == 1 and apart[0] > 1 and len(places) > 2 else 0


def finding_of(case: Case, rule: str, extent: Extent, message: str, hint: str) -> Finding:
    """A finding about an output or an input, at its parameter."""
    parameter, signature = extent.parameter, case.kernel.signature
    if case.kernel.source.form == "mlx":  # MLX writes the parameters; the caller has never seen that line
        return replace(case.at_launch(rule, message, hint), buffer=parameter.name)
    place = Location(signature.file, parameter.line or signature.line, 0, signature.name)
    named = re.search(rf"\b{re.escape(parameter.name)}\b", case.line(place))
    place = replace(place, column=named.start() + 1 if named else 0)
    return Finding(
        rule,
        message,
        case.launch.kernel,
        place,
        buffer=parameter.name,
        hint=hint,
        count=1,
        excerpt=case.line(place),
        detail={"missing": extent.total - extent.count, "elements": extent.total},
    )
