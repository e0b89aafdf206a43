"""Cut MSL text into tokens and pair its brackets.

The text has been through the preprocessor: no comments, and the only `#` lines left are
line markers and pragmas.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from sys import intern
from typing import NamedTuple

from metalloid.patterns import pattern

_TOKEN = pattern(
    r"""(?P<space>[ \t\r\n\f\v\\]+)
    |(?P<directive>^[ \t]*\#[^\n]*)
    |(?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16})\(.*?\)(?P=mark)")
    |(?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
    |(?P<char>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
    |(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)
    |(?P<number>\.?[0-9](?:[eEpP][+-]|'?[A-Za-z0-9_.])*)
    |(?P<punctuation>\[\[|\]\]|::|->|\+\+|--|<<=|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|.)
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)

OPENERS = {"(": ")", "{": "}", "[": "]", "[[": "]]"}
CLOSERS = frozenset(OPENERS.values())
_BRACKETS = CLOSERS | OPENERS.keys()


class Token(NamedTuple):
    kind: str  # name, number, string, char, punctuation or directive
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


_SQUARE = frozenset(("[", "[[", "]", "]]"))
_token = partial(tuple.__new__, Token)  # without the call that a NamedTuple adds


def tokenize(text: str) -> list[Token]:
    """All tokens but white space. `]]` stays one token only where it closes `[[`."""
    tokens: list[Token] = []
    attribute_depth: list[str] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "space":
            continue
        piece, start = intern(match[0]), match.start()
        if kind == "name":  # half of all; the rest is for what is not
            tokens.append(_token((kind, piece, start)))
            continue
        if kind == "punctuation" and piece in _SQUARE:
            if piece in ("[", "[["):
                attribute_depth.append(piece)
            elif piece == "]":
                attribute_depth and attribute_depth.pop()
            elif piece == "]]":
                if attribute_depth and attribute_depth[-1] == "[[":
                    attribute_depth.pop()
                else:  # a[b[i]]: two closers
                    del attribute_depth[-2:]
                    tokens.append(Token("punctuation", "]", start))
                    piece, start = "]", start + 1
        elif kind in ("raw", "mark"):
            kind = "string"
        tokens.append(_token((kind or "punctuation", piece, start)))
    return tokens


def pair_brackets(tokens: Sequence[Token]) -> dict[int, int]:
    """Index of each opening bracket -> index of its closing one. Unmatched ones are left out."""
    pairs: dict[int, int] = {}
    open_: list[int] = []
    for index, (_, text, _) in enumerate(tokens):
        if text not in _BRACKETS:
            continue
        if text in OPENERS:
            open_.append(index)
        else:
            while open_ and OPENERS[tokens[open_[-1]].text] != text:
                open_.pop()
            if open_:
                pairs[open_.pop()] = index
    return pairs


def skip_angles(tokens: Sequence[Token], pairs: Mapping[int, int], index: int) -> int:
    """`index` is at a `<`; the index after its `>`, or `index` itself when it is a comparison."""
    depth, here = 0, index
    while here < len(tokens):
        text = tokens[here].text
        if text == "<":
            depth += 1
        elif text == ">":
            depth -= 1
            if depth == 0:
                return here + 1
        elif text in (";", "{", "}"):
            return index
        elif text in OPENERS:
            here = pairs.get(here, here)
        here += 1
    return index
