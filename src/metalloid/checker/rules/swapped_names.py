"""M310 by the caller's own words: buffers whose labels are each other's parameters.

The variables in the call count as labels where an output is among those that have changed places; inputs may be passed
the other way round on purpose (the transpose of a product). An input and an output alone may be two buffers that take
turns: of them nothing is said.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from metalloid.checker.case import Case
from metalloid.findings import Finding
from metalloid.runtime.arguments import WRITES
from metalloid.types import Parameter


def swapped_names(case: Case) -> Finding | None:
    labels = case.launch.labels
    ring = _ring(case, labels)
    if not ring:
        labels = {**_variables(case), **labels}
        ring = _ring(case, labels)
        accesses = {p.access for p in ring}
        if not accesses & set(WRITES):
            return None
    if not ring or (len(ring) == 2 and ring[0].access != ring[1].access):
        return None
    what = "the buffer labelled" if case.launch.labels else "the variable"
    told = [f"'{p.name}' gets {what} '{labels[p.index]}'" for p in ring]
    found = case.at_launch(
        "M310",
        f"{', '.join(told[:-1])} and {told[-1]}: have they changed places?",
        f"the kernel takes {', '.join(p.name for p in case.kernel.signature.buffers)}, in this order: pass them so, or"
        " by name",
    )
    written = next((p for p in ring if p.access in WRITES), ring[0])
    return replace(found, buffer=written.name, detail={"read": ring[0].name})


def _ring(case: Case, labels: Mapping[int, str]) -> list[Parameter]:
    """Parameters of which each has the next one's name for a label, and the last the first's."""
    named = {_plain(p.name): p for p in case.kernel.signature.buffers}
    given = {p.index: named.get(_plain(labels.get(p.index, ""))) for p in case.kernel.signature.buffers}
    for start in case.kernel.signature.buffers:
        ring, at = [start], given[start.index]
        while at is not None and at not in ring:
            ring.append(at)
            at = given[at.index]
        if at is start and len(ring) > 1:
            return ring
    return []


def _plain(name: str) -> str:
    return name.casefold().strip("_ ")


def _variables(case: Case) -> dict[int, str]:
    """The names of the variables in the call that made the launch, by index of their buffer."""
    file, _, line = case.launch.place.rpartition(":")
    if not line.isdigit():
        return {}
    parameters = case.kernel.signature.buffers
    for call in _calls(file, int(line)):
        checks = isinstance(call.func, ast.Attribute) and call.func.attr == "check"  # its first is the kernel
        given = call.args[1:] if checks else call.args
        if len(given) <= len(parameters) and not any(isinstance(a, ast.Starred) for a in given):
            return {p.index: a.id for p, a in zip(parameters, given, strict=False) if isinstance(a, ast.Name)}
    return {}


def _calls(file: str, line: int) -> Iterator[ast.Call]:
    """The calls that a line is a part of and that say how large a grid is."""
    for call in _launches(file):
        if call.lineno <= line <= (call.end_lineno or call.lineno):
            yield call


@lru_cache(maxsize=64)
def _launches(file: str) -> tuple[ast.Call, ...]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ()
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return tuple(c for c in calls if {k.arg for k in c.keywords} & {"grid", "threadgroups"})
