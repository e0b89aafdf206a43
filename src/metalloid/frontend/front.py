"""What a source includes, as tokens and declarations: made once for all kernels behind the same headers.

Cutting 100 KB of MLX's headers into tokens and walking over their items took longer than all else that is done to a
kernel's text. Items of a namespace end where they end, so those of the headers are noted, and the walk goes on behind;
so it does from one piece of what is included to the next, which other sources may begin with, too. Tokens are known by
their numbers, which do not depend on the source's name; where they stand does, and is put right at the end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, lru_cache

from metalloid.frontend import included
from metalloid.frontend.bit_fields import bit_fields
from metalloid.frontend.included import NAMELESS
from metalloid.frontend.operators import SIGNS, WATCHED, may_nest, operator_edits
from metalloid.frontend.scan import Found, scan
from metalloid.frontend.tokens import BRACKETS, Token, made, pair_brackets, tokenize
from metalloid.frontend.unit import Unit
from metalloid.frontend.words import Words
from metalloid.records import dataclass

_MOST = 32  # headers, of two megabytes each: MLX has so many, and a suite goes from one to the other


@dataclass(frozen=True)
class _Front:
    tokens: list[Token]
    pairs: dict[int, int]
    words: Words
    found: Found
    length: int  # of the text
    before: _Front | None = None

    def extended(self, text: str) -> _Front:
        """This and a text behind it."""
        count, fresh = len(self.tokens), tokenize(text, self.length)
        tokens = self.tokens + fresh
        words = Words(tokens, count, self.words)
        pairs = self.pairs | pair_brackets(tokens, words.own(BRACKETS))
        found = scan(tokens, pairs, words, self.found.copy(), count)
        return _Front(tokens, pairs, words, found, self.length + len(text), self)

    @cached_property
    def operators(self) -> tuple[tuple[int, int, str], ...]:
        """`operator_edits`."""
        if self.before is None:
            return ()
        fields = bit_fields(self.tokens, self.words.places(":"))
        return (*self.before.operators, *_edits(self.tokens, self.words, len(self.before.tokens), fields))

    def unit(self, text: str, front: int) -> Unit:
        return Unit(text, self.tokens, self.found.declarations(), self.pairs, self.words, front)


def _moved(tokens: Sequence[Token], by: int) -> list[Token]:
    if not by or not tokens:
        return list(tokens)
    kinds, words, starts = zip(*tokens, strict=True)
    return made(kinds, words, map(by.__add__, starts))


_NOTHING = _Front([], {}, Words([]), Found(), 0)


def unit_of(text: str) -> Unit:
    """A preprocessed text with its tokens and declarations."""
    front, rest = _parted(text)
    return front.extended(rest).unit(text, len(front.tokens))


def guarded_operators(unit: Unit) -> list[tuple[int, int, str]]:
    """`operator_edits` of all its tokens."""
    parts = included.parted(unit.text) if unit.front else None
    known = _named_operators(parts.pieces, parts.name) if parts else ()
    fields = bit_fields(unit.tokens, unit.words.places(":"))
    return [*known, *_edits(unit.tokens, unit.words, unit.front, fields)]


def _edits(
    tokens: Sequence[Token], words: Words, first: int, fields: Collection[str]
) -> Iterator[tuple[int, int, str]]:
    """`operator_edits` of the tokens from `first` on, which are the words' own."""
    wanted = WATCHED if may_nest(tokens, words.own(("<",))) else SIGNS
    watched = (index - first for index in words.own(wanted))
    return operator_edits(tokens[first:], watched, fields)


def _parted(text: str) -> tuple[_Front, str]:
    """What a text includes, and the rest; all of the text is the rest where an item goes on behind what is included."""
    parts = included.parted(text)
    front = _named(parts.pieces, parts.name) if parts else None
    return (front, parts.rest) if parts and front else (_NOTHING, text)


@lru_cache(maxsize=_MOST)
def _named(pieces: tuple[str, ...], name: str) -> _Front | None:
    """What is included by a source of this name; None where an item goes on behind it."""
    front = _front(pieces)
    if front is None:
        return None
    own, tokens, here = _own(front), list[Token](), 0
    by = len(name) - len(NAMELESS)
    for count, index in enumerate(own):
        kind, word, start = front.tokens[index]
        tokens += _moved(front.tokens[here:index], count * by)
        tokens.append(Token(kind, word.replace(NAMELESS, name), start + count * by))
        here = index + 1
    tokens += _moved(front.tokens[here:], len(own) * by)
    return _Front(tokens, front.pairs, front.words, front.found, front.length + len(own) * by)


@lru_cache(maxsize=_MOST)
def _named_operators(pieces: tuple[str, ...], name: str) -> tuple[tuple[int, int, str], ...]:
    """The operators of what is included by a source of this name."""
    front = _front(pieces)
    if front is None:
        return ()
    places = [front.tokens[index].start for index in _own(front)]
    by = len(name) - len(NAMELESS)
    shifts = (bisect_right(places, first) * by for first, _, _ in front.operators)
    return tuple(
        (a + shift, b + shift, put) for shift, (a, b, put) in zip(shifts, front.operators, strict=True)
    )


def _own(front: _Front) -> list[int]:
    """The line markers of the source without a name."""
    return [index for index in front.words.kind("directive") if NAMELESS in front.tokens[index].text]


@lru_cache(maxsize=_MOST)
def _front(pieces: tuple[str, ...]) -> _Front | None:
    """None where an item goes on behind it."""
    if not pieces:
        return _NOTHING
    before = _front(pieces[:-1])
    front = before.extended(pieces[-1]) if before else _NOTHING.extended("".join(pieces))
    brackets = front.words.count(BRACKETS)
    last = next((token.text for token in reversed(front.tokens) if token.kind != "directive"), "")
    return front if brackets == 2 * len(front.pairs) and last in (";", "}") else None
