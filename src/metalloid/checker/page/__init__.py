"""A report as one HTML page that needs nothing else: no script, no network, light and dark.

From top to bottom: the verdict, the findings as a list, each source text with its findings under their lines (a
race with a timeline), which thread wrote which element, and the pages of the rules that were broken.
"""

from __future__ import annotations

from html import escape
from importlib import resources

from metalloid.checker.checked_launches import CheckedLaunches
from metalloid.checker.page.launches import launches
from metalloid.checker.page.rules import rule_pages
from metalloid.checker.page.source import sources
from metalloid.checker.page.words import counted, place
from metalloid.findings import Finding


def html(report: CheckedLaunches, explanation: str = "") -> str:
    """The page of a report; `explanation` says why an output is what it is."""
    findings = report.findings
    style = (resources.files(__name__) / "style.css").read_text(encoding="utf-8")
    body = "\n".join(
        [
            _head(report),
            _contents(findings),
            f'<section class="why"><h2>Why</h2><pre>{escape(explanation)}</pre></section>'
            if explanation
            else "",
            sources(report, findings),
            launches(report),
            rule_pages(findings),
        ]
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>metalloid: {escape(_verdict(report))}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _verdict(report: CheckedLaunches) -> str:
    problems = sum(f.severity != "note" for f in report.findings)
    notes = len(report.findings) - problems
    said = counted(problems, "finding") if problems else "no findings"
    cost = " about cost" if all(f.rule >= "M5" for f in report.findings if f.severity == "note") else ""
    return said + (f", {counted(notes, 'note')}{cost}" if notes else "")


def _head(report: CheckedLaunches) -> str:
    threads = sum(c.observation.threads for c in report.launches)
    ran = f"{counted(len(report.launches), 'launch', 'launches')}, {counted(threads, 'thread')} checked"
    stopped = f'<p class="stopped">Stopped early: {escape(report.stopped)}</p>' if report.stopped else ""
    part = "".join(f"<p>In part: {escape(words)}</p>" for words in report.left)
    mood = "bad" if not report.ok else "good"
    return (
        f'<header class="{mood}"><p class="name">metalloid check</p><h1>{_verdict(report)}</h1>'
        f"<p>{ran}</p>{part}{stopped}</header>"
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
