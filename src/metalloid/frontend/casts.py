"""Casts of pointers into threadgroup and private memory, in checked compiles: what they lead to keeps its alignment.

In `*(threadgroup float4*)(tile + t)` clang sees that `tile` is an array of floats, and reads four of those: nobody
could tell any more that a float4 was asked for, which has to lie at a multiple of 16. Behind `__mt::at(...)` it
no longer sees the array, and takes the word of the cast, as it does for buffers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from metalloid.frontend.tokens import CLOSERS, OPENERS, Token, tokenize

_CAST = re.compile(
    r"(?:reinterpret_cast\s*<|\()\s*(?:const\s+|volatile\s+)*thread(?:group)?\s+[\w:<>, ]+?\*\s*(?:const\s*)?[)>]"
)
BEGIN, _END = "__mt::at(", ")"


def edits(text: str) -> Iterator[tuple[int, str]]:
    """(position, text to put in) for the operand of each such cast, in a text that has been preprocessed."""
    if not _CAST.search(text):
        return
    tokens = tokenize(text)
    starts = {token.start: number for number, token in enumerate(tokens)}
    for cast in _CAST.finditer(text):
        after = _next(tokens, starts, cast.end() - 1)
        if after is None:
            continue
        last = _operand(tokens, after)
        if last is not None:
            yield tokens[after].start, BEGIN
            yield tokens[last].end, _END


def _next(tokens: Sequence[Token], starts: dict[int, int], closing: int) -> int | None:
    """The first token of what is cast; of `reinterpret_cast<T>(x)` the one behind its bracket."""
    here = starts.get(closing)
    if here is None or here + 2 >= len(tokens):
        return None
    return here + (2 if tokens[here].text == ">" else 1)


def _operand(tokens: Sequence[Token], first: int) -> int | None:
    """The last token of the operand of a cast that begins at `first`: `&a[i]`, `(a + i)`, `s.a`, `f(x)`."""
    inside = (
        tokens[first - 1].text == "(" and tokens[first - 2].text == ">"
    )  # reinterpret_cast: all up to its end
    if inside:
        end = _closing(tokens, first - 1)
        return None if end is None else end - 1
    at = first
    while at < len(tokens) and tokens[at].text in ("&", "*"):
        at += 1
    if at >= len(tokens) or not (tokens[at].kind == "name" or tokens[at].text == "("):
        return None
    last = _closing(tokens, at) if tokens[at].text == "(" else at
    while last is not None and last + 1 < len(tokens):
        follows = tokens[last + 1].text
        if follows in ("[", "("):
            last = _closing(tokens, last + 1)
        elif follows in (".", "->", "::"):
            last += 2
        else:
            break
    return last


def _closing(tokens: Sequence[Token], opening: int) -> int | None:
    depth = 0
    for at in range(opening, len(tokens)):
        depth += (tokens[at].text in OPENERS) - (tokens[at].text in CLOSERS)
        if depth == 0:
            return at
    return None
