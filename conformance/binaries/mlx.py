"""Launches of MLX's kernels from MLX's own library, as `conformance.results.mlx` launches them from source.

Each result is held against the reference of its case, and its bits against those that the same launch from source
leaves.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from conformance.binaries.lines import Found
from conformance.binaries.names import host_names
from conformance.packages import MLX_LIBRARY, fetch
from conformance.results.case import Case, Step, Work
from conformance.results.judge import error_of, made
from conformance.results.mlx import FAMILIES, binary, unary
from conformance.results.ulps import same_bits
from conformance.results.ways import USUAL, run_in_way
from metalloid.air.stored import kernel_names
from metalloid.source import Binary

SIZE = "small"


def library_path() -> Path:
    return fetch(MLX_LIBRARY) / "mlx/lib/mlx.metallib"


@cache
def library() -> Binary:
    path = library_path()
    return Binary("", name=str(path), math="safe", form="metallib", path=path)


@cache
def _names() -> frozenset[str]:
    return frozenset(kernel_names(library()))


def _all() -> Iterator[Case]:
    """The cases of all families; functions of elements also in their next form, which is another kernel."""
    for family in FAMILIES:
        yield from family.cases()
    for elementwise in (unary, binary):
        known = {case.label for case in elementwise.cases()}
        yield from (case for case in elementwise.cases(turn=1) if case.label not in known)


@cache
def cases() -> tuple[Case, ...]:
    """Those all of whose kernels the library has."""
    found = []
    for case in _all():
        if case.order != "race" and all(from_library(step) for step in made(case, SIZE).steps):
            found.append(case)
    return tuple(found)


def labels() -> frozenset[str]:
    """Of all cases, without their data, which takes half a minute to make."""
    return frozenset(case.label for case in _all())


def from_library(step: Step) -> Step | None:
    """The same launch of the library's kernel; None where it has no such kernel."""
    wanted = (step.kernel, *host_names(step.source.text))  # its own name, where it is no template
    name = next((name for name in wanted if name in _names()), None)
    return None if name is None else replace(step, source=library(), kernel=name)


def judge(case: Case) -> Found:
    """Never raises: whatever goes wrong is what was found."""
    start = time.perf_counter()
    kernels: tuple[str, ...] = ()
    try:
        work = made(case, SIZE)
        steps = [found for step in work.steps if (found := from_library(step)) is not None]
        kernels = tuple(step.kernel for step in steps)
        for step in steps:
            run_in_way(step, USUAL[0])
        reason = next((text for output in work.outputs if (text := error_of(output)[1])), "")
        same = _same_as_source(case, work)
    except Exception as error:  # a fault or a crash is a finding of this run, not its end
        reason, same = f"{type(error).__name__}: {error}", False
    reason = " ".join(reason.split())[:300]
    return Found(case.label, kernels, reason, seconds=time.perf_counter() - start, same_bits=same)


def _same_as_source(case: Case, work: Work) -> bool:
    other = made(case, SIZE)
    for step in other.steps:
        run_in_way(step, USUAL[0])
    pairs = zip(work.outputs, other.outputs, strict=True)
    return all(same_bits(one.look(one.actual), two.look(two.actual)) for one, two in pairs)
