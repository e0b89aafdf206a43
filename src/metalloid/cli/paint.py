"""A report on a terminal: the same text, with colours where there is one to see them."""

from __future__ import annotations

import re

from rich.console import Console
from rich.text import Text

from metalloid.checker import Report
from metalloid.findings import Finding

COLOURS = {"error": "bold red", "warning": "bold yellow", "note": "bold blue"}
_FIRST = re.compile(r"^(?P<place>.*?:\d+(?::\d+)?: |\[[^]]*\] )?(?P<rule>M\d{3}) (?P<message>.*)$")


def paint(report: Report, console: Console | None = None) -> None:
    """Print a report; plain text where the output is no terminal."""
    out = console or Console()
    if not out.is_terminal:
        print(report.text(), file=out.file)
        return
    *_, summary = report.text().split("\n\n")
    for finding in report.findings:
        out.print(painted(finding), soft_wrap=True)
        out.print()
    out.print(summary, style="bold green" if report.ok else "bold red", markup=False, highlight=False)


def painted(finding: Finding) -> Text:
    first, *rest = finding.text().split("\n")
    made = Text()
    parts = _FIRST.match(first)
    if parts is None:
        made.append(first)
    else:
        made.append(parts["place"] or "", "bold")
        made.append(parts["rule"], COLOURS.get(finding.severity, "bold"))
        made.append(f" {parts['message']}", "bold")
    for line in rest:
        made.append("\n")
        bare = line.strip()
        if bare.startswith("^"):
            caret, _, who = line.partition("^")
            made.append(f"{caret}^", "bold green")
            made.append(who, "dim")
        elif bare.startswith("hint: "):
            made.append("    hint:", "bold cyan")
            made.append(line.removeprefix("    hint:"))
        else:
            made.append(line)
    return made
