"""Bit-fields at shifts and divisions: C++ takes a narrow one for an int, whatever it was declared as.

`s.low / -2` is a division of ints where `low` is a `uint` of five bits. A function that takes it gets a uint, so what
stands between the sides (operators.py) says it first: `s.low * 1 / ...`, and `x / +s.low`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from metalloid.frontend.tokens import Token

_ENDS = frozenset((";", "{", "}", "(", ")", "?", "="))
_NO_TYPES = frozenset("case struct class enum union return goto default public private protected".split())
_LINKS = frozenset((".", "->", "::"))
_CLOSES = {")": "(", "]": "["}
_OPENS = {opening: close for close, opening in _CLOSES.items()}


def bit_fields(tokens: Sequence[Token], colons: Iterable[int]) -> frozenset[str]:
    """The names of members such as `uint low : 5;`, from where a `:` stands."""
    found: set[str] = set()
    for colon in colons:
        if colon < 2 or tokens[colon - 1].kind != "name":
            continue
        before = tokens[colon - 2]
        declared = (before.kind == "name" and before.text not in _NO_TYPES) or before.text == ","
        if declared and _text(tokens, _until(tokens, colon + 1)) == ";" and _begins(tokens, colon - 2):
            found.add(tokens[colon - 1].text)
    return frozenset(found)


def ends_in(tokens: Sequence[Token], last: int, fields: Collection[str]) -> bool:
    """Whether what ends at a token may be a bit-field."""
    if not fields or last < 0:
        return False
    if tokens[last].text != ")":
        return tokens[last].text in fields
    first = _other(tokens, last, -1, _CLOSES)
    before = tokens[first - 1] if first > 0 else None
    called = before is not None and (before.text in (">", "]") or before.kind == "name")
    if called and before is not None and before.text != "return":
        return False
    return any(token.text in fields for token in tokens[first:last])


def begins_with(tokens: Sequence[Token], first: int, fields: Collection[str]) -> bool:
    """Whether what begins at a token may be a bit-field."""
    if not fields:
        return False
    here = first + (_text(tokens, first) in ("++", "--"))
    last = -1
    while here < len(tokens):
        text = tokens[here].text
        if text in _OPENS:
            here = _other(tokens, here, 1, _OPENS)
        elif tokens[here].kind != "name" and text not in _LINKS:
            break
        last, here = here, here + 1
    return ends_in(tokens, last, fields)


def _begins(tokens: Sequence[Token], here: int) -> bool:
    """Whether a declaration of a class stands before a place."""
    while here >= 0 and tokens[here].text not in _ENDS:
        if tokens[here].text in _NO_TYPES:
            return False
        here -= 1
    return _text(tokens, here) in (";", "{", "}", "")


def _until(tokens: Sequence[Token], here: int) -> int:
    """The end of a width; those of its neighbours, as in `uint a : 3, b : 4;`, are passed by."""
    while here < len(tokens) and tokens[here].text not in (";", "{", "}", "?", "="):
        here = _other(tokens, here, 1, _OPENS) + 1 if tokens[here].text == "(" else here + 1
        if _text(tokens, here) == ")":
            return here
    return here


def _other(tokens: Sequence[Token], here: int, step: int, pairs: dict[str, str]) -> int:
    """The bracket that belongs to one."""
    own, other, depth = tokens[here].text, pairs[tokens[here].text], 0
    while 0 <= here < len(tokens):
        depth += (tokens[here].text == own) - (tokens[here].text == other)
        if depth == 0:
            return here
        here += step
    return max(0, min(here, len(tokens) - 1))


def _text(tokens: Sequence[Token], index: int) -> str:
    return tokens[index].text if 0 <= index < len(tokens) else ""
