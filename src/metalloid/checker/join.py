"""One missing barrier, one finding; one missing bounds check, one finding.

A barrier that is not there shows as many collisions: of several arrays, and of several lines. Two of them are
one mistake where one barrier would mend both: where the lines between their accesses overlap. The hint then
names the lines that are left between all of them. Threads past the end leave every array that they touch: where
the same thread does, as often, and the same test mends it, that is one mistake too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from metalloid.findings import Finding

_RACES = ("M201", "M202", "M203", "M206")
_LOCAL = ("M201", "M206")
_SAME_MEND = re.compile(r"return before this line where .*|pass grid=\d+ .*")


def joined(findings: Iterable[Finding]) -> list[Finding]:
    """Findings with those that one barrier mends as one; the first speaks for them."""
    found: list[Finding] = []
    for finding in findings:
        at = next(
            (n for n, had in enumerate(found) if _one_barrier(had, finding) or _one_guard(had, finding)), -1
        )
        if at < 0:
            found.append(finding)
        else:
            found[at] = _with(found[at], finding)
    return found


def _one_guard(first: Finding, second: Finding) -> bool:
    """Whether one early return keeps both inside."""
    if not {first.rule, second.rule} <= {"M101", "M102"} or first.kernel != second.kernel:
        return False
    mends = [_SAME_MEND.search(f.hint) for f in (first, second)]
    same = (first.thread, first.count) == (second.thread, second.count)
    return same and None not in mends and len({found[0] for found in mends if found}) == 1


def _one_barrier(first: Finding, second: Finding) -> bool:
    if first.rule != second.rule or first.kernel != second.kernel:
        return False
    if first.rule == "M205":  # the barrier is there: it is the same one
        return first.location == second.location
    if first.rule not in _RACES or (first.rule not in _LOCAL and first.buffer != second.buffer):
        return False
    one, two = _between(first), _between(second)
    if one is None or two is None:
        return False
    # Trusting lanes is one mistake along all lines it touches; which of them show depends on who runs them.
    touch = first.rule == "M206" and bool({*one} & {*two})
    return touch or one == two or max(one[0], two[0]) < min(one[1], two[1])


def _between(finding: Finding) -> tuple[int, int] | None:
    """The lines that a barrier has to stand between."""
    if "between" in finding.detail:
        low, high = finding.detail["between"]
        return low, high
    here, there = finding.location, finding.other.location if finding.other else None
    if here is None or there is None or here.file != there.file:
        return None
    low, high = sorted((here.line, there.line))
    return low, high


def _with(first: Finding, second: Finding) -> Finding:
    others = tuple(first.detail.get("also", ()))
    if second.buffer not in (first.buffer, *others):
        others = (*others, second.buffer)
    detail, hint = {**first.detail, "also": others}, first.hint
    one, two = _between(first), _between(second)
    if one is not None and two is not None and max(one[0], two[0]) < min(one[1], two[1]):
        low, high = detail["between"] = max(one[0], two[0]), min(one[1], two[1])
        hint = hint.replace(f"between line {one[0]} and line {one[1]}", f"between line {low} and line {high}")
    count = first.count if first.rule in ("M101", "M102") else first.count + second.count
    return replace(first, count=count, hint=hint, detail=detail)
