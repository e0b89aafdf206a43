"""Tokens and their brackets: enough to step over what is inside a bracket, a template head or a list of arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from metalloid.frontend.tokens import Token, skip_angles
from metalloid.frontend.words import Words, between


class Brackets:
    """A text as tokens; `pairs` leads from an opening bracket to its closing one, `openers` back."""

    def __init__(self, tokens: Sequence[Token], pairs: Mapping[int, int], words: Words) -> None:
        self.tokens, self._all = tokens, words
        self.pairs = pairs

    @cached_property
    def openers(self) -> Mapping[int, int]:
        return {close: opening for opening, close in self.pairs.items()}

    def text(self, index: int) -> str:
        """The text of a token; empty outside the text."""
        try:
            return self.tokens[index][1] if index >= 0 else ""
        except IndexError:
            return ""

    def places(self, word: str) -> list[int]:
        """The tokens that are this word."""
        return self._all.places(word)

    def between(self, word: str, first: int, last: int) -> list[int]:
        """The tokens from `first` up to `last` that are this word."""
        return list(between(self.places(word), first, last))

    def opener(self, close: int) -> int:
        return self.openers.get(close, close)

    def after_angles(self, index: int) -> int:
        """The index after the `>` that belongs to a `<`; `index` itself where that is a comparison."""
        return skip_angles(self.tokens, self.pairs, index)

    def after_template(self, first: int) -> int:
        """The index after any `template <...>` heads."""
        while self.text(first) == "template" and self.text(first + 1) == "<":
            after = self.after_angles(first + 1)
            if after == first + 1:
                return first
            first = after
        return first
