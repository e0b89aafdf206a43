"""Lines as the reader has them: those of the Python file where a kernel is written in one."""

from __future__ import annotations

from metalloid.checker.case import Case
from metalloid.findings.homes import homes_of, written
from metalloid.location import Location


def line_of(case: Case, location: Location) -> int:
    """The line of a place in its file; in the kernel's own text where nobody knows another."""
    home = homes_of(case.kernel.source).get(location.file)
    if home is None:
        return location.line
    _, lines = written(home)
    return (lines[location.line - 1] if 0 < location.line <= len(lines) else 0) or location.line
