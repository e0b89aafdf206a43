"""Where each character of a string literal is written.

Python's tree gives a literal's value and its first and last line. A compiler's caret needs more: `{T} a = x;`
in an f-string, a `\\n` in the middle, two literals side by side. `scan` reads the literal as it is written and
gives a place to every character of its value, and to every `{field}` of an f-string.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass, field

COLUMNS = 1 << 16  # a place is line * COLUMNS + column, both from 1; column 0: only the line is known

_OPEN = re.compile(r"([rRbBuUfF]{0,2})(\"\"\"|'''|\"|')")
_ESCAPE = re.compile(
    r"\\(?:\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|.)", re.S
)
_SIMPLE = dict(
    zip("abfnrtv\\'\"\n", ["\a", "\b", "\f", "\n", "\r", "\t", "\v", "\\", "'", '"', ""], strict=True)
)


@dataclass(frozen=True)
class Written:
    """The constant text of a literal, a place for each character of it, and one for each field."""

    text: str
    places: tuple[int, ...]
    fields: tuple[int, ...]


@dataclass
class Literals:
    """The literals of one Python file, each scanned once."""

    text: str
    _known: dict[int, Written | None] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._starts = [0, *(m.end() for m in re.finditer("\n", self.text))]

    def written(self, node: ast.Constant | ast.JoinedStr) -> Written | None:
        """None where the file does not read as the tree says: the caller then knows lines only."""
        if id(node) not in self._known:
            found = self._scan(node)
            agrees = found is not None and _constant(node) == (found.text, len(found.fields))
            self._known[id(node)] = found if agrees else None
        return self._known[id(node)]

    def _offset(self, line: int, column: int) -> int:
        start = self._starts[line - 1]
        ahead = self.text[start : start + column]
        return start + (column if ahead.isascii() else len(ahead.encode()[:column].decode(errors="ignore")))

    def _place(self, offset: int) -> int:
        line = bisect_right(self._starts, offset)
        return line * COLUMNS + min(offset - self._starts[line - 1] + 1, COLUMNS - 1)

    def _scan(self, node: ast.Constant | ast.JoinedStr) -> Written | None:
        at = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
        chars: list[str] = []
        places: list[int] = []
        fields: list[int] = []
        while at < end:
            if self.text[at] == "#":
                at = self.text.find("\n", at) % (end + 1)
            elif self.text[at] in " \t\n\\()":
                at += 1
            elif opening := _OPEN.match(self.text, at):
                at = opening.end()
                for start, after, value in _pieces(self.text, at, end, opening[1].lower(), opening[2]):
                    at = after
                    if value is None:
                        fields.append(self._place(start))
                    elif value:
                        chars.append(value)
                        places.extend([self._place(start)] * len(value))
                if not self.text.startswith(opening[2], at):
                    return None
                at += len(opening[2])
            else:
                return None
        return Written("".join(chars), tuple(places), tuple(fields))


def _constant(node: ast.Constant | ast.JoinedStr) -> tuple[str, int]:
    if isinstance(node, ast.Constant):
        return str(node.value), 0
    constants = [str(p.value) for p in node.values if isinstance(p, ast.Constant)]
    return "".join(constants), len(node.values) - len(constants)


def _pieces(text: str, at: int, end: int, prefix: str, quote: str) -> list[tuple[int, int, str | None]]:
    """(start, after, value) of each piece between the quotes; no value: a field."""
    pieces: list[tuple[int, int, str | None]] = []
    while at < end and not text.startswith(quote, at):
        start, char = at, text[at]
        value: str | None = char
        if char == "\\" and "r" in prefix:
            at += 1
        elif char == "\\" and (escape := _ESCAPE.match(text, at)):
            value, at = _unescaped(escape[0]), escape.end()
        elif char in "{}" and "f" in prefix:
            if text.startswith(char * 2, at):
                at += 2
            else:
                value, at = None, field_end(text, at)
        else:
            at += 1
        if char == "\\" and "r" in prefix and text.startswith(quote[0], at):
            pieces.append((start, at, value))
            start, value, at = at, text[at], at + 1
        pieces.append((start, at, value))
    return pieces


def field_end(text: str, at: int) -> int:
    """Just behind the brace that closes the one at `at`."""
    depth = 0
    for offset in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[offset], 0)
        if depth == 0:
            return offset + 1
    return len(text)


def _unescaped(escape: str) -> str:
    kind, rest = escape[1], escape[2:]
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind in "xuU" and rest:
        return chr(int(rest, 16))
    if kind in "01234567":
        return chr(int(escape[1:], 8))
    if kind == "N" and rest:
        try:
            return unicodedata.lookup(rest[1:-1])
        except KeyError:
            return escape
    return escape
