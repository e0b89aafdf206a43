"""M501-M504: launches that compute the right thing slowly.

Said as notes, and only where it matters: launches of a few threads and arrays that fit a cache are left alone.
Addresses come from `checker.lanes`, which works them out for the first SIMD-group without running anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from metalloid.analysis.underlying_objects import UnderlyingObject
from metalloid.backends.base import SIMD_WIDTH
from metalloid.checker.case import Case, nbytes
from metalloid.checker.lanes import Touch, touches
from metalloid.findings import Finding
from metalloid.findings import launch_words as words
from metalloid.ir.debug import Location, variable_name
from metalloid.ir.types import ArrayType

if TYPE_CHECKING:
    Groups = dict[tuple[UnderlyingObject, Location], list[Touch]]

LINE = 128  # bytes that memory is read by
BANKS = 32  # of four bytes each
FEW_THREADS = 1024
SMALL_BUFFER = 16384  # bytes; stays in a cache however it is walked
LONG = 1024  # rounds of a loop
WRAPPED = 1 << 31  # so many are none that went below 0


def cost(case: Case) -> Iterator[Finding]:
    """Everything that can be said of one launch before it runs."""
    found = _touches(case)
    yield from small_threadgroup(case)
    yield from small_launch(case, found)
    if prod(case.launch.grid) >= FEW_THREADS:
        yield from scattered(case, found)
        yield from conflicts(case, found)


def scattered(case: Case, found: Iterable[Touch]) -> Iterator[Finding]:
    """M501: lanes that read and write far from each other: most of each line that is moved is not used."""
    told: dict[Location, list[tuple[str, str]]] = {}
    for (root, place), group in _by_line(found, "buffer").items():
        if root.index not in case.launch.buffers or nbytes(case.launch.buffers[root.index]) < SMALL_BUFFER:
            continue
        first = group[0].offsets
        if len(first) < SIMD_WIDTH // 2 or any(touch.from_data for touch in group):
            continue
        used = _bytes(group)
        lines = len(np.unique(used // LINE))
        if lines < 8 or 4 * len(used) >= lines * LINE:
            continue
        name, apart = case.parameters[root.index].name, int(abs(first[1] - first[0]))
        said = (
            f"{len(used)} bytes of '{name}' in {lines} lines of {LINE} bytes, neighbours {apart} bytes apart"
        )
        told.setdefault(place, []).append((name, said))
    for place, said_of in told.items():  # a line that copies in the wrong order is one mistake, not two
        yield Finding(
            "M501",
            f"scattered access: a SIMD-group touches {'; '.join(said for _, said in said_of)}",
            case.launch.kernel,
            place,
            buffer=said_of[0][0],
            hint="let neighbouring threads touch neighbouring elements: index the last axis with the x of the thread's"
            " position and the others with y and z, or load it row by row into threadgroup memory first",
            excerpt=case.line(place),
        )


def conflicts(case: Case, found: Iterable[Touch]) -> Iterator[Finding]:
    """M502: lanes that want different words of one bank of threadgroup memory wait for each other."""
    for kind in ("threadgroup", "variable"):
        for (root, place), group in _by_line(found, kind).items():
            if any(touch.from_data for touch in group):
                continue
            words = np.unique(_bytes(group) // 4)
            turns = int(np.bincount(words % BANKS).max()) if len(words) else 0
            best = -(-len(words) // BANKS)
            if turns < 4 * best:
                continue
            name, banks = _called(case, root), len(np.unique(words % BANKS))
            yield Finding(
                "M502",
                f"bank conflict: {len(words)} words of '{name}' lie in {banks} of {BANKS} banks,"
                f" so a SIMD-group needs {turns} turns instead of {best}",
                case.launch.kernel,
                place,
                buffer=name,
                hint=f"{_longer(case, root, name)}, so that a column lies in different banks",
                excerpt=case.line(place),
            )


def small_threadgroup(case: Case) -> Iterator[Finding]:
    """M503: threadgroups that do not fill one SIMD-group."""
    launch = case.launch
    each, groups = prod(launch.threadgroup), prod(launch.threadgroups)
    if each >= SIMD_WIDTH or prod(launch.grid) < FEW_THREADS:
        return
    better = (256, 1, 1) if max(launch.threadgroup[1:]) == 1 else (32, 8, 1)
    local = " (and make its threadgroup memory large enough)" if case.kernel.threadgroup_memory_length else ""
    yield case.at_launch(
        "M503",
        f"threadgroup too small: {each} of the {SIMD_WIDTH} lanes of a SIMD-group have a thread, in each of"
        f" {groups} threadgroups",
        f"pass threadgroup={better}{local}; a multiple of {SIMD_WIDTH} threads leaves no lane idle",
    )


def small_launch(case: Case, found: Iterable[Touch]) -> Iterator[Finding]:
    """M504: few threads with a long way to go each."""
    threads = prod(case.launch.grid)
    longest = max((touch.trips for touch in found), default=0)
    if threads >= FEW_THREADS or not LONG <= longest < WRAPPED:
        return
    yield case.at_launch(
        "M504",
        f"launch too small: {threads} threads in all, each going through a loop {longest} times; a GPU runs"
        " tens of thousands side by side",
        f"spread the loop over more threads: pass"
        f" {words.threads(case.kernel.source.form, threads * longest)} and let each take one round, or keep the"
        " loop, start it at the thread's position in the grid and step by threads_per_grid",
    )


_MOST = 256
_known: dict[object, tuple[Touch, ...]] = {}


def _touches(case: Case) -> tuple[Touch, ...]:
    """Worked out once for launches that differ in nothing but what their arrays hold."""
    launch, buffers = case.launch, case.kernel.signature.buffers
    bound = [(p, launch.buffers[p.index]) for p in buffers if p.index in launch.buffers]
    sizes = tuple((p.index, bytes(m) if p.reference else nbytes(m)) for p, m in bound)
    key = case.kernel.ir, launch.grid, launch.threadgroup, sizes
    found = _known.get(key)
    if found is None:
        if len(_known) >= _MOST:
            _known.clear()
        found = _known[key] = touches(case.module, launch, _only_read(case))
    return found


def _only_read(case: Case) -> frozenset[int]:
    return frozenset(p.index for p in case.kernel.signature.buffers if p.access == "read")


def _by_line(found: Iterable[Touch], kind: str) -> Groups:
    """Accesses to the same memory on one line belong together: a float4 is four of them."""
    groups: Groups = {}
    for touch in found:
        if touch.root.kind == kind and touch.location is not None and len(touch.offsets) > 1:
            place = Location(touch.location.file, touch.location.line, 0, touch.location.function)
            groups.setdefault((touch.root, place), []).append(touch)
    return groups


def _bytes(group: Iterable[Touch]) -> np.ndarray:
    """Every byte that is touched, once."""
    return np.unique(np.concatenate([np.add.outer(t.offsets, np.arange(t.size)).ravel() for t in group]))


def _longer(case: Case, root: UnderlyingObject, name: str) -> str:
    """How to write a tile with rows that are one element longer."""
    type = case.module.variable[root.name].type if root.kind == "variable" else None
    if isinstance(type, ArrayType) and isinstance(type.element, ArrayType):
        return f"declare it {name}[{type.count}][{type.element.count} + 1]"
    return f"make the rows of '{name}' one element longer than they are used (index with row * (length + 1))"


def _called(case: Case, root: UnderlyingObject) -> str:
    if root.kind == "threadgroup":
        named = (p.name for p in case.kernel.parameters if p.kind == "threadgroup" and p.index == root.index)
        return next(named, f"threadgroup memory {root.index}")
    return variable_name(case.module, case.module.variable[root.name])
