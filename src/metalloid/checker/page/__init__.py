"""A report as one HTML page that needs nothing else: no script, no network, light and dark.

From top to bottom: the verdict, the findings as a list, each source text with its findings under their lines (a
race with a timeline), which thread wrote which element and why a result is as it is, and the pages of the rules
that were broken.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from importlib import resources

from metalloid.checker.checked_launches import CheckedLaunches
from metalloid.checker.explain.link import Explanation
from metalloid.checker.page.cards import card
from metalloid.checker.page.launches import launches
from metalloid.checker.page.rules import rule_pages
from metalloid.checker.page.source import sources
from metalloid.checker.page.why import chain
from metalloid.checker.page.words import counted, place
from metalloid.findings import ERROR, NOTE, WARNING, Finding
from metalloid.web import chips, document, embedded, made_by

IN_NOTEBOOK = 8  # findings


def html(report: CheckedLaunches, why: Explanation | None = None) -> str:
    """The page of a report; `why` explains a result that is odd."""
    findings = report.findings
    body = "\n".join(
        [
            _head(report, made_by()),
            _contents(findings),
            _why(why, findings),
            sources(report, findings),
            launches(report),
            rule_pages(findings),
        ]
    )
    return document(f"metalloid: {_verdict(report)}", body, _style())


def notebook(report: CheckedLaunches, why: Explanation | None = None) -> str:
    """The verdict and the findings, each with its line: what a notebook shows below a cell."""
    found = report.findings
    cards = "\n".join(_excerpt(f) + card(n, f, linked=False) for n, f in enumerate(found[:IN_NOTEBOOK], 1))
    more = f"<p>and {len(found) - IN_NOTEBOOK} more</p>" if len(found) > IN_NOTEBOOK else ""
    return embedded("\n".join([_head(report), cards, more, _why(why, found)]), _style())


def _style() -> str:
    return (resources.files(__name__) / "style.css").read_text(encoding="utf-8")


def _verdict(report: CheckedLaunches) -> str:
    problems = sum(f.severity != NOTE for f in report.findings)
    notes = len(report.findings) - problems
    said = counted(problems, "finding") if problems else "no findings"
    cost = " about cost" if all(f.rule >= "M5" for f in report.findings if f.severity == NOTE) else ""
    return said + (f", {counted(notes, 'note')}{cost}" if notes else "")


def _head(report: CheckedLaunches, made: str = "") -> str:
    threads = sum(c.observation.threads for c in report.launches)
    ran = f"{counted(len(report.launches), 'launch', 'launches')}, {counted(threads, 'thread')} checked"
    stopped = f'<p class="stopped">Stopped early: {escape(report.stopped)}</p>' if report.stopped else ""
    part = "".join(f"<p>In part: {escape(words)}</p>" for words in report.left)
    kinds = Counter(f.severity for f in report.findings)
    serious = kinds[ERROR] or report.stopped
    mood = "bad" if serious else "worth" if kinds[WARNING] else "good"
    labels = [(kind, counted(kinds[kind], kind)) for kind in (ERROR, WARNING, NOTE) if kinds[kind]]
    return (
        f'<header class="{mood}"><p class="name">metalloid check</p><h1>{_verdict(report)}</h1>'
        f"{chips(labels)}<p>{ran}</p>{part}{stopped}{made}</header>"
    )


def _contents(findings: tuple[Finding, ...]) -> str:
    if not findings:
        return ""
    rows = "\n".join(
        f'<li class="{f.severity}"><a href="#finding-{n}"><b>{f.rule}</b> <span>{escape(f.message)}</span>'
        f"<small>{escape(place(f))}</small></a></li>"
        for n, f in enumerate(findings, 1)
    )
    return f"<nav><ol>\n{rows}\n</ol></nav>"


def _why(why: Explanation | None, findings: tuple[Finding, ...]) -> str:
    """Where findings say what is wrong, each launch has its chain further down."""
    if why is None or findings:
        return ""
    subject = why.subject[0].upper() + why.subject[1:]
    return f'<section class="why"><h2>{escape(subject)}</h2><div class="card">{chain(why)}</div></section>'


def _excerpt(finding: Finding) -> str:
    if not finding.excerpt.strip() or finding.location is None:
        return ""
    where = f'<span class="number">{finding.location.line}</span>'
    line = f"{where}<code>{escape(finding.excerpt.strip())}</code>"
    return f'<div class="text alone"><div class="line marked {finding.severity}">{line}</div></div>'
