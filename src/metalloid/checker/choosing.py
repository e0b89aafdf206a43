"""A report with only the findings that count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from metalloid.checker.choice import Choice, spoken_of
from metalloid.checker.page.texts import text_of
from metalloid.checker.report import Report
from metalloid.findings import Finding


def chosen(report: Report, choice: Choice) -> tuple[Report, list[str]]:
    """The report without what does not count, and the reason of each finding that was left out."""
    reasons: list[str] = []
    texts: dict[str, list[str]] = {}

    def comments(finding: Finding) -> list[str]:
        places = [finding.location, finding.other.location if finding.other else None]
        found: list[str] = []
        for place in places:
            if place is not None:
                if place.file not in texts:
                    texts[place.file] = text_of(report, place.file)
                found += spoken_of(texts[place.file], place.line)
        return found

    def kept(findings: Iterable[Finding]) -> list[Finding]:
        return [f for f in findings if not choice.why_not(f, comments(f))]

    reasons = [why for f in report.findings if (why := choice.why_not(f, comments(f)))]
    launches = [replace(c, findings=tuple(kept(c.findings))) for c in report.launches]
    return Report(launches, kept(report.more)), reasons
