"""Source texts with their findings in place, each under the line it speaks of."""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence
from html import escape

from metalloid.checker.checked_launches import CheckedLaunches
from metalloid.checker.page.timeline import timeline
from metalloid.checker.page.words import where, who
from metalloid.findings import Finding

ALL = 160  # texts of more lines are shown around their findings only
AROUND = 8
_TOKEN = re.compile(
    r"(?P<comment>//.*|/\*.*?\*/)|(?P<string>\"(?:\\.|[^\"\\])*\")|(?P<attribute>\[\[.*?\]\])"
    r"|(?P<word>\b(?:kernel|device|constant|threadgroup|thread|const|for|while|if|else|return|break|continue|struct"
    r"|using|namespace|template|typename|static|void|bool|char|uchar|short|ushort|int|uint|long|ulong|half|float|bfloat"
    r"|(?:u?(?:char|short|int)|half|float)[234])\b|^\s*#\w+)|(?P<number>\b\d[\w.]*)"
)


def sources(report: CheckedLaunches, findings: Sequence[Finding]) -> str:
    """A section per file that findings are in; at the end what has no line."""
    numbered = list(enumerate(findings, 1))
    files = dict.fromkeys(f.location.file for f in findings if f.location)
    sections = [
        _file(report, file, [(n, f) for n, f in numbered if f.location and f.location.file == file])
        for file in files
    ]
    rest = [(n, f) for n, f in numbered if f.location is None]
    if rest:
        cards = "\n".join(_card(n, f, "") for n, f in rest)
        sections.append(f'<section class="source"><h2>Without a line</h2>\n{cards}\n</section>')
    return "\n".join(sections)


def text_of(report: CheckedLaunches, file: str) -> list[str]:
    """The lines of a file: what was compiled, else what is on disk."""
    for checked in report.launches:
        lines = checked.case.texts.lines(file)
        if lines:
            return list(lines)
    return [line.rstrip("\n") for line in linecache.getlines(file)]


def _file(report: CheckedLaunches, file: str, findings: list[tuple[int, Finding]]) -> str:
    lines = text_of(report, file)
    marked = {f.location.line for _, f in findings if f.location}
    others = {
        f.other.location.line
        for _, f in findings
        if f.other and f.other.location and f.other.location.file == file
    }
    shown = _shown(len(lines), marked | others, 3 if file.endswith(".py") else AROUND)
    rows: list[str] = []
    last = 0
    for number in shown:
        if number != last + 1:
            rows.append(f'<div class="gap">lines {last + 1} to {number - 1}</div>')
        kind = "marked" if number in marked else "other" if number in others else ""
        text = f"<code>{_coloured(lines[number - 1])}</code>"
        rows.append(f'<div class="line {kind}"><span class="number">{number}</span>{text}</div>')
        here = [(n, f) for n, f in findings if f.location and f.location.line == number]
        rows += [_card(n, f, timeline(f)) for n, f in here]
        last = number
    if shown and last < len(lines):
        rows.append(f'<div class="gap">lines {last + 1} to {len(lines)}</div>')
    lost = [(n, f) for n, f in findings if f.location and f.location.line not in shown]
    rows += [_card(n, f, timeline(f)) for n, f in lost]
    inner = "\n".join(rows)
    return f'<section class="source"><h2>{escape(file)}</h2>\n<div class="text">\n{inner}\n</div></section>'


def _shown(count: int, wanted: set[int], around: int) -> list[int]:
    if count <= ALL and around == AROUND:
        return list(range(1, count + 1))
    near = {n for line in wanted for n in range(line - around, line + around + 1)}
    return sorted(n for n in near if 1 <= n <= count)


def _card(number: int, finding: Finding, drawing: str) -> str:
    facts = [who(finding.thread, finding.threadgroup)]
    facts += [f"{finding.count:,} times in all"] if finding.count > 1 else []
    facts += [where(finding.location)] if finding.location else []
    other = ""
    if finding.other is not None:
        side = finding.other
        line = f"<code>{escape(side.excerpt.strip())}</code>" if side.excerpt else ""
        said = " ".join(p for p in (where(side.location), side.what, who(side.thread, side.threadgroup)) if p)
        other = f'<p class="side">{escape(said)} {line}</p>'
    hint = f'<p class="hint"><b>hint</b> {escape(finding.hint)}</p>' if finding.hint else ""
    return (
        f'<article class="finding {finding.severity}" id="finding-{number}">'
        f'<h3><a href="#rule-{finding.rule}">{finding.rule}</a> {escape(finding.message)}</h3>'
        f'<p class="who">{escape(", ".join(f for f in facts if f))}</p>{other}{drawing}{hint}</article>'
    )


def _coloured(line: str) -> str:
    made, end = [], 0
    for token in _TOKEN.finditer(line):
        made += [
            escape(line[end : token.start()]),
            f'<span class="{token.lastgroup}">{escape(token[0])}</span>',
        ]
        end = token.end()
    return "".join([*made, escape(line[end:])]) or " "
