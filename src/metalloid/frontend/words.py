"""Where each word of a text stands: rules ask for a few words among tens of thousands of tokens.

Made once for what a source includes, and gone on with for the text behind it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence

from metalloid.frontend.tokens import Token


class Words:
    """Tokens by their text. Those from `start` on; the ones before are `before`'s."""

    def __init__(self, tokens: Sequence[Token], start: int = 0, before: Words | None = None) -> None:
        self._before, self._places = before, dict[str, list[int]]()
        self._kinds: dict[str, list[int]] = {"number": [], "directive": []}
        for index in range(start, len(tokens)):
            kind, text, _ = tokens[index]
            if text in self._places:
                self._places[text].append(index)
            else:
                self._places[text] = [index]
            if kind in self._kinds:
                self._kinds[kind].append(index)

    def places(self, word: str) -> list[int]:
        """The tokens that are this word."""
        here = self._places.get(word, [])
        return self._before.places(word) + here if self._before else here

    def of(self, words: Collection[str]) -> list[int]:
        """The tokens that are one of these words, in their order."""
        here = sorted(index for word in words for index in self._places.get(word, ()))
        return self._before.of(words) + here if self._before else here

    def kind(self, kind: str) -> list[int]:
        """The numbers, or the directives."""
        return (self._before.kind(kind) if self._before else []) + self._kinds[kind]


def between(places: Sequence[int], first: int, last: int) -> Sequence[int]:
    """Those of some places, in their order, from `first` up to `last`."""
    return places[bisect_left(places, first) : bisect_left(places, last)]
