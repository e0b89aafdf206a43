"""A message about a kernel's text, told about the Python line that wrote it.

The compiler saw `float a = x;`; the user wrote `{T} a = x;`. The message then shows the user's own line, with
the caret under the same words, or under the field whose value is meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from metalloid.errors import Diagnostic
from metalloid.forms.reading.traced import lines_of, places_of
from metalloid.forms.reading.written import COLUMNS, field_end


def as_written(message: Diagnostic, python: str, texts: Iterable[str]) -> Diagnostic:
    """`message`, whose line is one of `python` and whose excerpt one of `texts`, in the words of `python`."""
    written = python.split("\n")
    if not 0 < message.line <= len(written):
        return message
    rows = {row for text in texts for row in _rows(text) if row[0] == message.line}
    seen = {row[1] for row in rows}
    first = max(message.column - 1, 0)
    line, column, length = message.line, 0, message.length
    if message.column and len(seen) == 1:
        (places,) = list({row[2] for row in rows})[:1]
        span = [p for p in places[first : first + max(1, length)] if p % COLUMNS]
        if span:
            line, column, length = _range(span, written)
        elif first >= len(places) > 0 and places[-1] % COLUMNS:
            line, column, length = places[-1] // COLUMNS, places[-1] % COLUMNS + 1, 1
    if message.column and not column:
        # Only the line is known: the words are found in it where they occur once.
        words = message.excerpt[first : first + length]
        column = written[line - 1].find(words) + 1 if words and written[line - 1].count(words) == 1 else 0
    return replace(message, line=line, column=column, length=max(1, length), excerpt=written[line - 1])


def _range(span: list[int], written: list[str]) -> tuple[int, int, int]:
    """Line, column and length of what was written at the first place of `span` up to its last on that line."""
    line, column = divmod(span[0], COLUMNS)
    last = max(place for place in span if place // COLUMNS == line) % COLUMNS
    text = written[line - 1]
    if text[last - 1 : last] == "{":
        last = field_end(text, last - 1)
    return line, column, max(1, last - column + 1)


def _rows(text: str) -> Iterable[tuple[int, str, tuple[int, ...]]]:
    """(line of the file, text, places) of each line of a kernel's text that is not blank."""
    at, places, known = 0, places_of(text), 0
    for number, row in zip(lines_of(text), str(text).split("\n"), strict=True):
        known = number or known
        if row.strip():
            yield known, row, places[at : at + len(row)]
        at += len(row) + 1
