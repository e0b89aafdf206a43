"""Hints in the words of whoever reads them: on the command line a launch has options, not keyword arguments."""

from __future__ import annotations

import re
from dataclasses import replace

import metalloid as mt
from metalloid.findings import Finding

_SIZE = r"(?:\(([\d, ]+)\)|(\d+))"
_OPTIONS = (
    (re.compile(r"\bthreadgroup_memory=\{(\d+): (\w+)\}"), r"--threadgroup-memory \1=\2"),
    (re.compile(rf"\b(grid|threadgroups|threadgroup)={_SIZE}"), ""),
    (re.compile(r"Pass it in the order of buffer indices, or as (\w+)=.*"), r"Pass --arg \1=VALUE."),
)


def as_options(report: mt.Report) -> mt.Report:
    """The report with hints that can be typed."""
    return mt.Report(
        (replace(c, findings=tuple(map(_typed, c.findings))) for c in report.launches),
        map(_typed, report.more),
    )


def _typed(finding: Finding) -> Finding:
    hint = finding.hint
    for pattern, option in _OPTIONS:
        hint = pattern.sub(option or _size, hint)
    return replace(finding, hint=hint)


def _size(match: re.Match[str]) -> str:
    axes = [part.strip() for part in (match[2] or match[3]).split(",") if part.strip()]
    while len(axes) > 1 and axes[-1] == "1":
        axes.pop()
    return f"--{match[1]} {','.join(axes)}"
