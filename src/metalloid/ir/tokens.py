"""Cut a line of LLVM IR into tokens, and walk over them.

One regular expression does the cutting. A token is the text itself; its first
character says what it is.
"""

from __future__ import annotations

import re
from typing import NoReturn

from metalloid.errors import DeviceError
from metalloid.patterns import pattern

_TOKEN = pattern(
    r"""
      [%@](?:"[^"]*"|[-\w$.]+)            # a local or global name
    | ![-\w$.]+ | !"[^"]*" | !            # metadata
    | \#\d+                               # attributes
    | c"[^"]*" | "[^"]*"                  # text
    | -?\d+\.\d*(?:[eE][-+]?\d+)?         # a decimal fraction
    | 0x[HRKLM]?[0-9A-Fa-f]+              # bits
    | -?\d+
    | \.\.\.
    | [A-Za-z_][\w.]*                     # a word
    | [\[\]{}<>(),=|*:]
    | ;.*
    """,
    re.VERBOSE,
)

_NAME = pattern(r"[-A-Za-z$._][-\w$.]*|\d+")


def tokenize(text: str) -> list[str]:
    """The tokens of one line, comments left out."""
    found = _TOKEN.findall(text)
    while found and found[-1][0] == ";":
        found.pop()
    return found


def unquote(name: str) -> str:
    """A name without its sigil and quotes."""
    return name[2:-1] if name[1] == '"' else name[1:]


def quote(sigil: str, name: str) -> str:
    """A name as it is written: quoted where LLVM asks for it."""
    return sigil + name if _NAME.fullmatch(name) else f'{sigil}"{name}"'


class Cursor:
    """A place in a list of tokens."""

    __slots__ = ("at", "line", "tokens")

    def __init__(self, line: str) -> None:
        self.line = line
        self.tokens = [*tokenize(line), ""]  # "" marks the end
        self.at = 0

    @property
    def peek(self) -> str:
        return self.tokens[self.at]

    def next(self) -> str:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        """Step over `token` if it is next."""
        if self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if self.tokens[self.at] != token:
            self.fail(f"expected '{token}'")
        self.at += 1

    def number(self) -> int:
        token = self.next()
        if not token.lstrip("-").isdigit():
            self.at -= 1
            self.fail("expected a number")
        return int(token)

    def balanced(self) -> str:
        """The text of a parenthesised group, from '(' to its ')'."""
        self.expect("(")
        depth, parts = 1, ["("]
        while depth:
            token = self.next()
            if not token:
                self.fail("a parenthesis is not closed")
            depth += (token == "(") - (token == ")")
            parts.append(token)
        return re.sub(r"(?<=[(]) | (?=[),(])", "", " ".join(parts))

    def fail(self, message: str) -> NoReturn:
        found = self.peek or "the end of the line"
        raise DeviceError(f"[ir] {message}, found '{found}' in: {self.line.strip()}")
