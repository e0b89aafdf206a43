"""A hint, followed to the letter, mends the kernel: the hints are applied here by a program that only reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import metalloid as mt
from metalloid.checker import Finding, Report
from metalloid.rules import rule
from tests.checker import synchronisation_triplets
from tests.checker.test_pages import LAUNCHES
from tests.checker.triplet import HEADER, compiled

BETWEEN = (
    r"put (\w+_barrier\(\S+\)) between line (\d+) and line (\d+), outside any `if`, and at the end of a loop"
)
AT_THE_END = r"put (\w+_barrier\(\S+\)) at the end of the loop around line (\d+), outside any `if`"


def checked(text: str, arguments: Callable[[], list[Any]], sizes: dict[str, Any]) -> Report:
    return mt.check(compiled(text), *arguments(), **sizes)


def depth(lines: list[str], before: int) -> int:
    return "".join(lines[:before]).count("{") - "".join(lines[:before]).count("}")


def loop_around(lines: list[str], line: int) -> int:
    """The line (from 0) with the brace that closes the loop around a line (from 1)."""
    opened = next(n for n in range(line - 1, -1, -1) if re.search(r"\bfor\b.*\{", lines[n]))
    inside = depth(lines, opened)
    return next(n for n in range(opened + 1, len(lines)) if depth(lines, n + 1) == inside)


def apply(text: str, finding: Finding, sizes: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kernel and the sizes as the hint wants them."""
    lines, hint = text.split("\n"), finding.hint
    assert finding.location is not None
    here = finding.location.line
    if found := re.match(r"write (threadgroup_barrier\([\w: |]+\))$", hint):
        lines[here - 1] = found[1] + ";"
    elif found := re.match(BETWEEN, hint):
        barrier, low, high = found[1] + ";", int(found[2]), int(found[3])
        shallow = min(range(low, high), key=lambda n: (depth(lines, n), n))
        places = {shallow, loop_around(lines, low)} if in_one_loop(lines, low, high) else {shallow}
        for at in sorted(places, reverse=True):
            lines.insert(at, barrier)
    elif found := re.match(AT_THE_END, hint):
        lines.insert(loop_around(lines, int(found[2])), found[1] + ";")
    elif found := re.search(r"return before this line where the index is not below (\d+)", hint):
        body = next(n for n, line in enumerate(lines) if line.rstrip().endswith(") {"))
        lines.insert(body + 1, f"if (i >= {found[1]}) return;")
    elif found := re.match(r"launch grid=(\d+)", hint):
        sizes = {**sizes, "grid": int(found[1])}
    elif found := re.match(r"(?i)pass threadgroup_memory=\{(\d+): bytes\}", hint):
        sizes = {**sizes, "threadgroup_memory": {int(found[1]): 1024}}
    else:
        raise AssertionError(f"nobody could follow this: {hint}")
    return "\n".join(lines), sizes


def in_one_loop(lines: list[str], low: int, high: int) -> bool:
    try:
        return loop_around(lines, low) >= high
    except StopIteration:
        return False


@pytest.mark.parametrize("number", ["M102", "M108", "M201", "M205", "M206", "M305"])
def test_the_example_of_a_page_is_mended_by_its_hint(number: str):
    text, (arguments, sizes) = rule(number).wrong, LAUNCHES[number][0]
    (finding,) = [f for f in checked(text, arguments, sizes).findings if f.severity != "note"]
    assert finding.rule == number
    mended, better = apply(text, finding, sizes)
    report = checked(mended, arguments, better)
    assert report.ok, report.text() + mended


@pytest.mark.parametrize(
    "triplet",
    [t for t in synchronisation_triplets.TRIPLETS if t.find and t.find[0][0] in ("M201", "M205", "M206")],
    ids=lambda t: t.name,
)
def test_a_missing_barrier_goes_where_the_hint_says(triplet: Any):
    text, sizes = HEADER + triplet.text, dict(triplet.sizes)
    report = checked(text, triplet.arguments, sizes)
    (finding,) = [f for f in report.findings if f.severity != "note"]
    for _ in range(3):  # a scan needs a barrier in each of three places
        text, sizes = apply(text, finding, sizes)
        report = checked(text, triplet.arguments, sizes)
        left = [f for f in report.findings if f.severity != "note"]
        if not left:
            return
        finding = left[0]
    raise AssertionError(report.text() + text)
