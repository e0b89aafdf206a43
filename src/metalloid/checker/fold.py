"""One mistake, one finding.

A mistake shows up in many threads (the observation counts those), at several instructions of one line, as a
pair of accesses seen from either side, and through what follows from it: a race makes reads of memory that
was not written yet, a wrapped index makes accesses out of bounds. What follows from another finding is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from metalloid.checker.join import joined
from metalloid.findings import Finding
from metalloid.ir.debug import Location

# The first of two that speak of one line and memory is the cause.
CAUSES: dict[str, tuple[str, ...]] = {
    "M404": ("M101", "M102", "M103", "M106", "M202", "M203", "M206", "M305"),
    "M310": ("M105",),
    "M408": ("M101", "M102", "M103", "M106", "M202", "M203", "M305", "M404"),
    "M108": ("M101", "M102", "M104"),
    "M204": ("M104", "M201", "M206"),
    "M205": ("M104", "M105"),
    "M202": ("M206", "M105", "M203", "M106"),
    "M201": ("M206", "M104", "M205"),
    "M203": ("M206", "M105", "M106"),
    "M206": ("M104", "M105"),
    "M101": ("M109", "M110", "M623"),
    "M102": ("M101", "M106", "M305", "M109", "M110", "M623"),
    "M109": ("M106", "M101", "M102", "M104", "M110", "M201", "M202", "M203", "M206"),
    "M621": ("M407",),
    "M622": ("M110",),
    "M623": ("M109", "M106"),
    "M209": ("M202", "M206"),
    "M208": ("M202", "M203", "M201", "M206"),
    "M301": ("M106", "M305"),
    "M304": ("M106", "M305"),
    "M305": ("M106",),
}
_QUOTED = re.compile(r"'\w+'")
# Of the rest, worst first.
_ORDER = (
    "M30 M108 M204 M404 M408 M407 M102 M101 M103 M107 M201 M202 M203 M205 M206 M207 M208 M104 M105 M110 M106"
).split()


def fold(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings of one launch, without echoes, worst first."""
    kept = by_one_position(joined(merged(findings)))
    echoes = {id(f) for cause in kept for f in kept if f is not cause and follows(f, cause)}
    return tuple(f for f in kept if id(f) not in echoes)


def by_one_position(findings: Sequence[Finding]) -> list[Finding]:
    """Accesses outside of one thread: where a mixed-up position explains one of them, it explains the others."""
    known = {f.thread: f.hint for f in findings if f.detail.get("mixed")}
    outside = ("M101", "M102")
    return [
        replace(f, hint=known[f.thread]) if f.rule in outside and f.thread in known else f for f in findings
    ]


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings about the same lines and memory as one, with their counts added; worst first."""
    found: dict[object, Finding] = {}
    for finding in findings:
        key = _key(finding)
        had = found.get(key)
        found[key] = finding if had is None else replace(had, count=had.count + finding.count)
    return tuple(sorted(found.values(), key=_place_in_report))


def _key(finding: Finding) -> object:
    lines = frozenset(_lines(finding))
    if not lines:
        return finding.rule, finding.kernel, finding.buffer, finding.message
    if finding.rule == "M205" and finding.location:  # the barrier is the mistake, whoever it fails
        lines = frozenset([(finding.location.file, finding.location.line)])
    # Templates make many kernels of one line; the text tells apart files of one name.
    return finding.rule, finding.buffer, lines, finding.excerpt


def _lines(finding: Finding) -> set[tuple[str, int]]:
    places = [finding.location, finding.other.location if finding.other else None]
    return {(p.file, p.line) for p in places if isinstance(p, Location)}


def follows(finding: Finding, cause: Finding) -> bool:
    """Whether one finding is but an echo of another."""
    if finding.kernel != cause.kernel or finding.rule not in CAUSES.get(cause.rule, ()):
        return False
    if cause.rule == "M109" and finding.rule != "M106":  # a row that runs into the next one
        return cause.detail.get("axes", 0) > 1 and bool(_lines(finding) & _lines(cause))
    if finding.rule == "M109" and finding.detail.get("axes", 0) > 1:
        return False
    if finding.rule == "M110":  # the compiler saw it, too
        name = _QUOTED.search(cause.message)
        return bool(_lines(finding) & _lines(cause)) or (name is not None and name[0] in finding.message)
    if finding.rule in ("M109", "M407", "M623") or cause.rule == "M209":
        return bool(_lines(finding) & _lines(cause))
    if cause.rule in ("M109", "M623"):  # what follows from it is compiled away
        return "no store" in finding.message
    if cause.rule in ("M102", "M301", "M304", "M305") and finding.rule != "M101":
        return finding.buffer == cause.buffer or not cause.buffer
    if cause.rule == "M204":
        return True
    if finding.rule == "M106" and cause.rule in ("M202", "M203"):  # stores that meet leave others out
        return finding.buffer == cause.buffer
    if cause.rule == "M310":
        return finding.buffer == cause.detail.get("read")
    if cause.rule == "M408":  # what uses the variable that got the wrong number
        name = cause.detail.get("named", "")
        return not finding.location or (bool(name) and bool(re.search(rf"\b{name}\b", finding.excerpt)))
    # Whoever puts a barrier for the threadgroup there has one for the lanes too.
    if cause.rule == "M404" and cause.detail.get("position"):  # everything goes by it
        return True
    if cause.rule in ("M404", "M208") or finding.rule == "M206":
        return bool(_lines(finding) & _lines(cause))
    memories = (cause.buffer, *cause.detail.get("also", ()))
    return finding.buffer in memories and (cause.rule == "M205" or bool(_lines(finding) & _lines(cause)))


def _place_in_report(finding: Finding) -> tuple[int, str, int, int]:
    place = finding.location or Location("", 0)
    return _rank(finding.rule), place.file, place.line, place.column


def _rank(rule: str) -> int:
    last = len(_ORDER) + (rule[1:2] == "5")  # notes about cost behind everything
    return next((n for n, start in enumerate(_ORDER) if rule.startswith(start)), last)


def places(findings: Sequence[Finding]) -> list[tuple[str, int]]:
    """(rule, line) of each: what tests compare."""
    return [(f.rule, f.location.line if f.location else 0) for f in findings]
