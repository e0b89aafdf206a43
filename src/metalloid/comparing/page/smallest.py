"""The smallest failing case: its first wrong element, who wrote it, what it looks like, and the values side by side."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np

from metalloid.comparing.compared import Example
from metalloid.comparing.judge import RAISED, SCHEDULE, shown

MOST, BEFORE = 12, 4  # elements that are listed, and how many of them come before the first wrong one


def smallest(example: Example) -> str:
    """A card about it."""
    outcome = example.outcome
    lines = (line.strip() for words in _facts(example) for line in words.split("\n"))
    facts = "".join(f"<li>{escape(line)}</li>" for line in lines if line)
    arrays = _values(example)
    findings = example.witness.findings if example.witness else ()
    said = "".join(f"<pre>{escape(text)}</pre>" for text in findings)
    checked = f"<h3>What the checker says about that run</h3>{said}" if findings else ""
    title = {SCHEDULE: "The result depends on the schedule", RAISED: "It raises"}.get(outcome.kind, "")
    head = f"<p><b>{title}</b></p>" if title else ""
    again = "<p>The same arrays again: <code>result.smallest.arguments()</code></p>"
    return (
        f"<section><h2>Smallest failing case: <code>{escape(str(example.case))}</code></h2>"
        f'<div class="card">{head}{_first(example)}<ul class="facts">{facts}</ul>{arrays}{checked}{again}</div>'
        "</section>"
    )


def _first(example: Example) -> str:
    first = example.outcome.first
    if first is None:
        return ""
    return (
        f'<dl class="first"><div><dt>element</dt><dd>{escape(first.place)}</dd></div>'
        f'<div class="got"><dt>is</dt><dd>{escape(shown(first.got))}</dd></div>'
        f"<div><dt>expected</dt><dd>{escape(shown(first.expected))}</dd></div>"
        f"<div><dt>allowed error</dt><dd>{escape(shown(first.allowed))}</dd></div>"
        f"<div><dt>wrong</dt><dd>{first.count:,} of {first.total:,}</dd></div></dl>"
    )


def _facts(example: Example) -> Iterator[str]:
    if example.outcome.message:
        yield example.outcome.message
    if example.witness and example.witness.text:
        yield example.witness.text
    if example.influence:
        case, about, found = example.influence
        yield f"{'it' if case is example.case else f'in {case}, {about.place}'} {found.text}"
    yield from example.looks


def _values(example: Example) -> str:
    """Elements around the first wrong one, in the order of memory: what came out beside what should have."""
    first = example.outcome.first
    if first is None or example.wrong is None or first.output not in example.got:
        return ""
    got, expected = example.got[first.output], example.expected[first.output]
    rows = []
    start = max(0, int(np.flatnonzero(example.wrong)[0]) - BEFORE)
    for flat in range(start, min(start + MOST, got.size)):
        index = np.unravel_index(flat, got.shape)
        wrong = bool(example.wrong[index])
        place = ", ".join(str(int(n)) for n in index)
        rows.append(
            f"<tr{' class=wrong' if wrong else ''}><td>[{place}]</td><td>{escape(shown(got[index].item()))}</td>"
            f"<td>{escape(shown(expected[index].item()))}</td><td>{'wrong' if wrong else 'right'}</td></tr>"
        )
    more = f"<p>and {got.size - len(rows):,} more</p>" if got.size > len(rows) else ""
    head = f"<tr><th>{escape(first.output)}</th><th>is</th><th>expected</th><th></th></tr>"
    table = f'<table class="values"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>'
    return f'<div class="wide">{table}</div>{more}'
