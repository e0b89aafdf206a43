"""Strings that remember where they were written.

A kernel's text is put together in Python from literals, f-strings, `replace`, `format`, `join`. `Traced` is a
`str` that knows the place of each of its characters in the Python file (0: unknown), and keeps it through those
operations, so that a compiler's message can name the user's own line and column. What fills a field of a line
has the place of the field: the user looks for `{T} a = x;`, not for the `T = "float"` far away. Only a value
that has lines to itself keeps its own.
"""

from __future__ import annotations

import ast
import string
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from metalloid.forms.reading.written import COLUMNS, Written


class Traced(str):
    """A string with a place per character; made with lines, it knows no columns."""

    __slots__ = ("places",)
    places: tuple[int, ...]

    def __new__(cls, text: str, lines: tuple[int, ...] = (), places: tuple[int, ...] = ()) -> Traced:
        self = super().__new__(cls, text)
        if lines:
            rows = zip(_rows(text), lines, strict=False)
            places = tuple(line * COLUMNS for row, line in rows for _ in row)
        self.places = places or (0,) * len(text)
        return self

    @property
    def lines(self) -> tuple[int, ...]:
        """Of each line, the line of the file where its first visible character is written."""
        found, at = list[int](), 0
        for row in _rows(str(self)):
            known = [
                (char.isspace(), place) for char, place in zip(row, self.places[at:], strict=False) if place
            ]
            found.append(min(known, key=lambda k: k[0])[1] // COLUMNS if known else 0)
            at += len(row)
        return tuple(found)


def _rows(text: str) -> list[str]:
    """The lines with their newlines; one more than there are newlines."""
    rows = [row + "\n" for row in text.split("\n")]
    return [*rows[:-1], rows[-1][:-1]]


def places_of(text: str) -> tuple[int, ...]:
    return text.places if isinstance(text, Traced) else (0,) * len(text)


def lines_of(text: str) -> tuple[int, ...]:
    return text.lines if isinstance(text, Traced) else (0,) * (text.count("\n") + 1)


def cut(text: str, start: int, end: int) -> Traced:
    return Traced(str(text)[start:end], places=places_of(text)[start:end])


def literal(node: ast.expr, text: str, first: int, whole: str) -> Traced:
    """`text`, a part of the literal `node` whose constant parts are `whole`, starting at its line `first`."""
    end = node.end_lineno or node.lineno
    newlines = text.count("\n")
    if whole.count("\n") == 0 or end == node.lineno:
        return Traced(text, (node.lineno,) * (newlines + 1))
    # Either the newlines are real ones inside triple quotes, or each piece sits on a line of its own.
    return Traced(text, tuple(min(node.lineno + first + i, end) for i in range(newlines + 1)))


def exactly(written: Written, start: int, text: str) -> Traced:
    """`text`, which begins at `start` of a literal that was scanned."""
    return Traced(text, places=written.places[start : start + len(text)])


def concat(parts: Iterable[str]) -> Traced:
    """Joined end to end."""
    texts = [part for part in parts if part]
    return Traced("".join(texts), places=tuple(place for text in texts for place in places_of(text)))


def fill(pieces: Sequence[tuple[str, int]]) -> Traced:
    """Text and the values of fields, each field with its place (text: -1), end to end."""
    made = []
    for i, (text, place) in enumerate(pieces):
        if place > 0 and text:
            before, after = (
                pieces[i - 1] if i else ("\n", -1),
                pieces[i + 1] if i + 1 < len(pieces) else ("\n", -1),
            )
            alone = _blank(before, -1) and _blank(after, 0)
            own = places_of(text) if alone or "\n" in text else ()
            text = Traced(text, places=tuple(p or place for p in own) or (place,) * len(text))
        made.append(text)
    return concat(made)


def _blank(piece: tuple[str, int], side: int) -> bool:
    """Whether a field next to this piece has the line to itself on that side."""
    text, place = piece
    return place < 0 and not text.split("\n")[side].strip() and "\n" in text


def join(separator: str, parts: Sequence[str]) -> Traced:
    """The separator takes no part in naming lines: it is written once and used everywhere."""
    pieces = [piece for part in parts for piece in (str(separator), part)]
    return concat(pieces[1:])


def replace(text: str, old: str, new: str) -> Traced:
    if not old:
        return Traced(str(text).replace(old, new))
    pieces: list[tuple[str, int]] = []
    at = 0
    while (found := str(text).find(old, at)) >= 0:
        pieces += [(cut(text, at, found), -1), (new, places_of(text)[found])]
        at = found + len(old)
    return fill([*pieces, (cut(text, at, len(text)), -1)])


def format_text(text: str, args: Sequence[object], kwargs: Mapping[str, object]) -> Traced:
    """`text.format(*args, **kwargs)`."""
    at, automatic, plain = 0, 0, str(text)
    pieces: list[tuple[str, int]] = []
    formatter = string.Formatter()
    for before, field, spec, conversion in formatter.parse(plain):
        pieces.append((cut(text, at, at + len(before)), -1))
        at += len(before)
        if field is None:
            at += plain.startswith(("{", "}"), at)  # the second of a doubled brace
            continue
        place = places_of(text)[at]
        at += 1 + len(field) + (len(conversion) + 1 if conversion else 0)
        at += (1 + len(spec or "") if plain.startswith(":", at) else 0) + 1
        if field == "":
            field, automatic = str(automatic), automatic + 1
        value, _ = formatter.get_field(field, list(args), dict(kwargs))
        if conversion:
            value = formatter.convert_field(value, conversion)
        made = value if isinstance(value, str) and not spec else format(value, spec or "")
        pieces.append((made, place))
    return fill(pieces)


def dedent(text: str) -> Traced:
    parts: list[str] = []
    at = 0
    for row, kept in zip(_rows(str(text)), _rows(textwrap.dedent(str(text))), strict=True):
        at += len(row)
        parts.append(cut(text, at - len(kept), at))
    return concat(parts)


def strip(text: str, left: bool = True, right: bool = True) -> Traced:
    plain = str(text)
    start = len(plain) - len(plain.lstrip()) if left else 0
    end = len(plain.rstrip()) if right else len(plain)
    return cut(text, start, max(start, end))
