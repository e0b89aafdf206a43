"""What a source includes, as tokens and declarations: made once for all kernels behind the same headers.

Cutting 100 KB of MLX's headers into tokens and walking over their items took longer than all else that is done to a
kernel's text. Items of a namespace end where they end, so those of the headers are noted, and the walk goes on behind.
"""

from __future__ import annotations

from functools import lru_cache

from metalloid.frontend import included
from metalloid.frontend.operators import operator_edits
from metalloid.frontend.scan import Found, scan
from metalloid.frontend.tokens import CLOSERS, OPENERS, Token, pair_brackets, tokenize
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


def unit_of(text: str) -> Unit:
    """A preprocessed text with its tokens and declarations."""
    cut = included.end(text)
    front = _front(text[:cut]) if cut else None
    if front is None:
        tokens = tokenize(text)
        pairs = pair_brackets(tokens)
        words = Words(tokens)
        return Unit(text, tokens, scan(tokens, pairs, words, Found()).declarations(), pairs, words)
    count = len(front.tokens)
    rest = tokenize(text[cut:])
    tokens = front.tokens + [Token(kind, word, start + cut) for kind, word, start in rest]
    pairs = front.pairs | {first + count: last + count for first, last in pair_brackets(rest).items()}
    words = Words(tokens, count, front.words)
    found = scan(tokens, pairs, words, front.found.copy(), count)
    return Unit(text, tokens, found.declarations(), pairs, words, count)


@lru_cache(maxsize=_MOST)
def _front(text: str) -> _Front | None:
    """None where an item goes on behind it."""
    tokens = tokenize(text)
    pairs = pair_brackets(tokens)
    words = Words(tokens)
    brackets = len(words.of(OPENERS.keys() | CLOSERS))
    last = next((token.text for token in reversed(tokens) if token.kind != "directive"), "")
    if brackets != 2 * len(pairs) or last not in (";", "}"):
        return None
    return _Front(tokens, pairs, words, scan(tokens, pairs, words, Found()))


def guarded_operators(unit: Unit) -> list[tuple[int, int, str]]:
    """`operator_edits` of all its tokens."""
    if not unit.front:
        return list(operator_edits(unit.tokens))
    return [*_guarded(unit.text[: included.end(unit.text)]), *operator_edits(unit.tokens[unit.front :])]


@lru_cache(maxsize=_MOST)
def _guarded(text: str) -> tuple[tuple[int, int, str], ...]:
    front = _front(text)
    return tuple(operator_edits(front.tokens if front else tokenize(text)))
