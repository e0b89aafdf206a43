"""Source texts with their findings in place, each under the line it speaks of; texts without any as well."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from textwrap import dedent

from metalloid.checker.checked_launches import CheckedLaunches
from metalloid.checker.page.cards import card
from metalloid.checker.page.texts import Text, texts
from metalloid.findings import Finding

ALL = 160  # texts of more lines are shown in part only
AROUND = 8
FEW = 3  # lines around a finding in Python
CLEAN = 40  # lines of a long text in which nothing was found
Numbered = list[tuple[int, Finding]]
_TOKEN = re.compile(
    r"(?P<comment>//.*|/\*.*?\*/)|(?P<string>\"{3}|\"(?:\\.|[^\"\\])*\")|(?P<attribute>\[\[.*?\]\])"
    r"|(?P<word>\b(?:kernel|device|constant|threadgroup|thread|const|for|while|if|else|return|break|continue|struct"
    r"|using|namespace|template|typename|static|void|bool|char|uchar|short|ushort|int|uint|long|ulong|half|float|bfloat"
    r"|(?:u?(?:char|short|int)|half|float)[234])\b|^\s*#\w+)|(?P<number>\b\d[\w.]*)"
)


def sources(report: CheckedLaunches, findings: Sequence[Finding]) -> str:
    """A section per text that findings are in, what has no line, and the texts of launches in order, folded."""
    numbered = list(enumerate(findings, 1))
    found = texts(report)
    sections, clean = [], []
    for name, text in found.items():
        here = [(n, f) for n, f in numbered if f.location and f.location.file == name]
        if here:
            body = _lines(text, here)
            sections.append(f'<section class="source"><h2>{escape(name)}</h2>\n{body}</section>')
        elif text.lines:
            clean.append(text)
    rest = [(n, f) for n, f in numbered if f.location is None]
    if rest:
        cards = "\n".join(card(n, f) for n, f in rest)
        sections.append(f'<section class="source"><h2>Without a line</h2>\n{cards}\n</section>')
    if clean:
        sections.append(_clean(clean))
    return "\n".join(sections)


def _clean(found: Sequence[Text]) -> str:
    """Texts in which nothing was found; a single one is open."""
    opened = " open" if len(found) == 1 else ""
    shown = "\n".join(
        f'<details class="clean"{opened}><summary><b>{escape(t.name)}</b> <span class="chip good">no findings'
        f"</span></summary>\n{_lines(t, [])}</details>"
        for t in found
    )
    return f'<section class="source"><h2>Sources in which nothing was found</h2>\n{shown}\n</section>'


def _lines(text: Text, findings: Numbered) -> str:
    places = [f.location for _, f in findings if f.location]
    marked = {f.location.line: f.severity for _, f in reversed(findings) if f.location}
    others = {
        f.other.location.line
        for _, f in findings
        if f.other and f.other.location and f.other.location.file == text.name
    }
    shown = _shown(text, {place.line for place in places} | others)
    bare = _dedented(text, shown)
    rows: list[str] = []
    last = 0
    for number in shown:
        if number != last + 1:
            rows.append(_gap(last + 1, number - 1))
        kind = f"marked {marked[number]}" if number in marked else "other" if number in others else ""
        code = f"<code>{_coloured(bare[number])}</code>"
        rows.append(f'<div class="line {kind}"><span class="number">{number}</span>{code}</div>')
        rows += [card(n, f) for n, f in findings if f.location and f.location.line == number]
        last = number
    if shown and any(line.strip() for line in text.lines[last:]):
        rows.append(_gap(last + 1, len(text.lines)))
    rows += [card(n, f) for n, f in findings if f.location and f.location.line not in shown]
    inner = "\n".join(rows)
    return f'<div class="text">\n{inner}\n</div>'


def _gap(first: int, last: int) -> str:
    said = f"line {first}" if first == last else f"lines {first} to {last}"
    return f'<div class="gap">{said}</div>'


def _shown(text: Text, wanted: set[int]) -> list[int]:
    """All of a short text; of a long one, and of a Python file, the kernel and what is around the findings."""
    count, whole = len("\n".join(text.lines).rstrip().split("\n")), len(text.kernel) == len(text.lines)
    if whole and count <= ALL:
        return list(range(1, count + 1))
    near = FEW if text.name.endswith(".py") else AROUND
    short = len(text.kernel) <= ALL
    outside = wanted - text.kernel if short else wanted  # a short kernel is shown whole
    lines = {n for line in outside for n in range(line - near, line + near + 1)}
    if short:
        lines |= text.kernel
    elif not wanted:
        lines |= set(range(text.start, text.start + CLEAN))
    return sorted(n for n in lines if 1 <= n <= count)


def _dedented(text: Text, shown: Sequence[int]) -> Mapping[int, str]:
    """The lines that are shown; each stretch of them, in or outside a kernel, without what all of it is indented by."""
    own = text.kernel
    starts = [b for a, b in pairwise([0, *shown]) if b != a + 1 or (a in own) != (b in own)]
    made: dict[int, str] = {}
    for start, end in pairwise([*dict.fromkeys([*shown[:1], *starts]), len(text.lines) + 2]):
        stretch = [n for n in shown if start <= n < end]
        bare = dedent("\n".join(text.lines[n - 1] for n in stretch)).split("\n")
        made |= dict(zip(stretch, bare, strict=True))
    return made


def _coloured(line: str) -> str:
    made, end = [], 0
    for token in _TOKEN.finditer(line):
        made += [
            escape(line[end : token.start()]),
            f'<span class="{token.lastgroup}">{escape(token[0])}</span>',
        ]
        end = token.end()
    return "".join([*made, escape(line[end:])]) or " "
