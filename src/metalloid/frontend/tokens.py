"""Cut MSL text into tokens and pair its brackets.

The text has been through the preprocessor: no comments, and the only `#` lines left are
line markers and pragmas.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from operator import itemgetter
from sys import intern
from typing import NamedTuple

from metalloid.patterns import pattern

_DOUBLE = r"\[\[|\]\]|"
_KINDS = {
    "space": r"[ \t\r\n\f\v\\]+",
    "directive": r"^[ \t]*\#[^\n]*",
    "raw": r'(?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16})\(.*?\)(?P=mark)"',
    "string": r'(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"',
    "char": r"(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+'",
    "name": r"[A-Za-z_$][A-Za-z0-9_$]*",
    "number": r"\.?[0-9](?:[eEpP][+-]|'?[A-Za-z0-9_.])*",
    "punctuation": _DOUBLE + r"::|->|\+\+|--|<<=|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|.",
}
# Most tokens are names that begin no string, and brackets: tried first, the rest is left for few.
_COMMON = r"[A-KM-QSTV-Za-tv-z_$][A-Za-z0-9_$]*|[ \t\r\n\f\v\\]+|[(),;{}]"
_FLAGS = re.MULTILINE | re.DOTALL
_RULES = "|".join((_COMMON, *(rule for kind, rule in _KINDS.items() if kind != "raw")))
_PLAIN = pattern(_RULES, _FLAGS)
_SINGLE = pattern(_RULES.replace(_DOUBLE, ""), _FLAGS)  # without `[[` there is no `]]`
_TOKEN = pattern("|".join(f"(?P<{kind}>{rule})" for kind, rule in _KINDS.items()), _FLAGS)

NAME = pattern(_KINDS["name"])

OPENERS = {"(": ")", "{": "}", "[": "]", "[[": "]]"}
CLOSERS = frozenset(OPENERS.values())
BRACKETS = CLOSERS | OPENERS.keys()


class Token(NamedTuple):
    kind: str  # name, number, string, char, punctuation or directive
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


_SQUARE = frozenset(("[", "[[", "]", "]]"))
_token = partial(tuple.__new__, Token)  # without the call that a NamedTuple adds
_WRITTEN = itemgetter(0)  # the kind, which white space has not


class _Kinds(dict[str, str]):
    """The kind of each word; "" of white space. A text has few words, many times each."""

    def __missing__(self, word: str) -> str:
        match = _TOKEN.match(word)
        kind = match.lastgroup if match else None
        self[word] = known = {"space": "", "raw": "string", "mark": "string", None: ""}.get(kind, kind) or ""
        return known


def made(kinds: Iterable[str], words: Iterable[str], starts: Iterable[int]) -> list[Token]:
    """Tokens of these, but white space."""
    return list(map(_token, filter(_WRITTEN, zip(kinds, words, starts, strict=False))))


def tokenize(text: str, offset: int = 0) -> list[Token]:
    """All tokens but white space. `]]` stays one token only where it closes `[[`. `offset`: where the text begins.

    Nothing here is a loop of Python's, which took five times as long: hashcat's kernels have 300,000 tokens."""
    words = list(map(intern, _cut(text)))
    starts, kinds = accumulate(map(len, words), initial=offset), _Kinds()
    tokens = made(map(kinds.__getitem__, words), words, starts)
    if "#" in kinds:  # alone: a directive where a line begins
        for index, (_, word, start) in enumerate(tokens):
            if word == "#" and text[: start - offset][-1:] not in ("", "\n"):
                tokens[index] = Token("punctuation", word, start)
    return tokens


def _cut(text: str) -> Sequence[str]:
    """All words of a text, and its white space."""
    if 'R"' not in text and "[[" not in text:
        return _SINGLE.findall(text)
    found = [m[0] for m in _TOKEN.finditer(text)] if 'R"' in text else _PLAIN.findall(text)
    return _with_closers(found) if "]]" in text else found


def _with_closers(words: Sequence[str]) -> list[str]:
    """With `]]` cut in two where it closes two brackets: a[b[i]]."""
    made, here, open_ = list[str](), 0, list[str]()
    for index in [index for index, word in enumerate(words) if word in _SQUARE]:
        word = words[index]
        if word in ("[", "[["):
            open_.append(word)
        elif word == "]" or (open_ and open_[-1] == "[["):
            del open_[-1:]
        else:
            del open_[-2:]
            made += (*words[here:index], "]", "]")
            here = index + 1
    return made + list(words[here:])


def pair_brackets(tokens: Sequence[Token], brackets: Iterable[int] | None = None) -> dict[int, int]:
    """Index of each opening bracket -> index of its closing one. Unmatched ones are left out. `brackets`: which tokens
    are to be paired, where somebody knows; else all."""
    pairs: dict[int, int] = {}
    open_: list[int] = []
    if brackets is None:
        brackets = [index for index, token in enumerate(tokens) if token[1] in BRACKETS]
    for index in brackets:
        text = tokens[index][1]
        if text in OPENERS:
            open_.append(index)
        else:
            while open_ and OPENERS[tokens[open_[-1]][1]] != text:
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
