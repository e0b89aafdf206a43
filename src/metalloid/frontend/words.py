"""Where each word of a text stands: rules ask for a few words among tens of thousands of tokens.

Made once for what a source includes, and gone on with for the text behind it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from itertools import chain
from operator import itemgetter

from metalloid.frontend.tokens import Token

WORD = itemgetter(1)  # a token's text


class Words:
    """Tokens by their text. Those from `start` on; the ones before are `before`'s."""

    def __init__(self, tokens: Sequence[Token], start: int = 0, before: Words | None = None) -> None:
        self._tokens, self._before = tokens, before
        self._places = defaultdict[str, list[int]](list)
        places = self._places
        for index, word in enumerate(map(WORD, tokens[start:] if start else tokens), start):
            places[word].append(index)
        self._all: dict[str, list[int]] = {}  # what was asked for, of those before as well

    def places(self, word: str) -> list[int]:
        """The tokens that are this word."""
        if self._before is None:
            return self._places.get(word, [])
        if word not in self._all:
            self._all[word] = self._before.places(word) + self._places.get(word, [])
        return self._all[word]

    def of(self, words: Collection[str]) -> list[int]:
        """The tokens that are one of these words, in their order."""
        return self._before.of(words) + self.own(words) if self._before else self.own(words)

    def own(self, words: Collection[str]) -> list[int]:
        """Those of them from `start` on."""
        places = self._places.keys() & words
        return sorted(chain.from_iterable(map(self._places.__getitem__, places)))

    def count(self, words: Collection[str]) -> int:
        """How many tokens are one of these words."""
        here = sum(len(self._places.get(word, ())) for word in words)
        return self._before.count(words) + here if self._before else here

    def kind(self, kind: str, wanted: Callable[[str], object] = bool) -> list[int]:
        """The numbers, or the directives; those of them that are `wanted`."""
        tokens, here = self._tokens, list[int]()
        for word, places in self._places.items():
            if not wanted(word):
                continue
            if word == "#":  # the one word that is of two kinds
                here += [index for index in places if tokens[index].kind == kind]
            elif tokens[places[0]].kind == kind:
                here += places
        return (self._before.kind(kind, wanted) if self._before else []) + sorted(here)


def between(places: Sequence[int], first: int, last: int) -> Sequence[int]:
    """Those of some places, in their order, from `first` up to `last`."""
    return places[bisect_left(places, first) : bisect_left(places, last)]
