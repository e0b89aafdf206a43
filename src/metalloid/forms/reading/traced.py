"""Strings that remember where they were written.

A kernel's text is put together in Python from literals, f-strings, `replace`, `format`, `join`. `Traced` is a
`str` that knows, for each of its lines, the line of the Python file it came from (0: unknown), and keeps it
through those operations, so that a compiler's message can name the user's own line.
"""

from __future__ import annotations

import ast
import string
import textwrap
from collections.abc import Iterable, Mapping, Sequence


class Traced(str):
    """A string with one origin line per line."""

    __slots__ = ("lines",)
    lines: tuple[int, ...]

    def __new__(cls, text: str, lines: tuple[int, ...] = ()) -> Traced:
        self = super().__new__(cls, text)
        self.lines = lines or (0,) * (text.count("\n") + 1)
        return self


def lines_of(text: str) -> tuple[int, ...]:
    return text.lines if isinstance(text, Traced) else (0,) * (text.count("\n") + 1)


def literal(node: ast.expr, text: str, first: int, whole: str) -> Traced:
    """`text`, a part of the literal `node` whose constant parts are `whole`, starting at its line `first`."""
    end = node.end_lineno or node.lineno
    newlines = text.count("\n")
    if whole.count("\n") == 0 or end == node.lineno:
        return Traced(text, (node.lineno,) * (newlines + 1))
    # Either the newlines are real ones inside triple quotes, or each piece sits on a line of its own.
    return Traced(text, tuple(min(node.lineno + first + i, end) for i in range(newlines + 1)))


def concat(parts: Iterable[str]) -> Traced:
    """Joined end to end; where two parts share a line, the first with an origin names it."""
    texts: list[str] = []
    lines: list[int] = [0]
    shared = True  # nothing but blanks on the last line yet
    for part in parts:
        if not part:
            continue
        own = lines_of(part)
        if (shared and own[0]) or not lines[-1]:
            lines[-1] = own[0]
        lines.extend(own[1:])
        last = part.rsplit("\n", 1)[-1]
        shared = not last.strip() and (shared or "\n" in part)
        texts.append(part)
    return Traced("".join(texts), tuple(lines))


def join(separator: str, parts: Sequence[str]) -> Traced:
    """The separator takes no part in naming lines: it is written once and used everywhere."""
    return _interleave(str(separator), parts)


def _interleave(separator: str, parts: Sequence[str]) -> Traced:
    pieces = [piece for part in parts for piece in (separator, part)]
    return concat(pieces[1:])


def replace(text: str, old: str, new: str) -> Traced:
    if not old:
        return Traced(str(text).replace(old, new))
    return _interleave(new, _split(text, old))


def _split(text: str, old: str) -> list[Traced]:
    """`text.split(old)`, each piece with its lines."""
    lines, pieces, at = lines_of(text), [], 0
    for piece in str(text).split(old):
        pieces.append(Traced(piece, lines[at : at + piece.count("\n") + 1]))
        at += piece.count("\n") + old.count("\n")
    return pieces


def format_text(text: str, args: Sequence[object], kwargs: Mapping[str, object]) -> Traced:
    """`text.format(*args, **kwargs)`."""
    lines, at, automatic = lines_of(text), 0, 0
    pieces: list[str] = []
    formatter = string.Formatter()
    for before, field, spec, conversion in formatter.parse(str(text)):
        pieces.append(Traced(before, lines[at : at + before.count("\n") + 1]))
        at += before.count("\n")
        if field is None:
            continue
        if field == "":
            field, automatic = str(automatic), automatic + 1
        value, _ = formatter.get_field(field, list(args), dict(kwargs))
        if conversion:
            value = formatter.convert_field(value, conversion)
        pieces.append(value if isinstance(value, str) and not spec else format(value, spec or ""))
    return concat(pieces)


def dedent(text: str) -> Traced:
    return Traced(textwrap.dedent(str(text)), lines_of(text))


def strip(text: str, left: bool = True, right: bool = True) -> Traced:
    plain, lines = str(text), list(lines_of(text))
    if left:
        kept = plain.lstrip()
        lines = lines[plain[: len(plain) - len(kept)].count("\n") :]
        plain = kept
    if right:
        kept = plain.rstrip()
        lines = lines[: kept.count("\n") + 1]
        plain = kept
    return Traced(plain, tuple(lines))
