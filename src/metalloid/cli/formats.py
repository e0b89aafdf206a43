"""Findings in the forms that other programs read, beside text, JSON and SARIF."""

from __future__ import annotations

from collections.abc import Iterable

from metalloid.errors import Diagnostic
from metalloid.findings import Finding
from metalloid.findings.places import nearby
from metalloid.location import Location

FORMATS = ("text", "json", "sarif", "github")
_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def github(findings: Iterable[Finding]) -> str:
    """Workflow commands: GitHub shows each as an annotation at its line."""
    return "\n".join(map(_annotation, findings))


def _annotation(finding: Finding) -> str:
    place = finding.location
    where = {"title": f"metalloid {finding.rule}"}
    if place is not None:
        file, called, line = nearby(place.file), "", place.line
        if place.file.endswith(")") and " (" in place.file:  # a text that was put together, named by its call
            file, _, called = place.file.partition(" (")[0].rpartition(":")
            line = int(called)
        where = {"file": file, "line": str(line), **where}
        if place.column and not called:
            where["col"] = str(place.column)
    properties = ",".join(f"{name}={_escaped(value, True)}" for name, value in where.items())
    message = finding.message + (f"\n{finding.hint}" if finding.hint else "")
    return f"::{_LEVELS[finding.severity]} {properties}::{_escaped(message, False)}"


def _escaped(text: str, property: bool) -> str:
    made = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return made.replace(":", "%3A").replace(",", "%2C") if property else made


def as_finding(said: Diagnostic) -> Finding:
    """A compiler's message as a finding."""
    return Finding(
        said.rule or "M601",
        said.message,
        location=Location(said.file, said.line, said.column),
        hint=said.hint,
        excerpt=said.excerpt,
        severity=said.severity,
    )
