"""Tokens and their brackets: enough to step over what is inside a bracket, a template head or a list of arguments."""

from __future__ import annotations

from collections.abc import Sequence

from metalloid.frontend.tokens import Token, pair_brackets, skip_angles


class Brackets:
    """A text as tokens; `pairs` leads from an opening bracket to its closing one, `openers` back."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.pairs = pair_brackets(tokens)
        self.openers = {close: opening for opening, close in self.pairs.items()}

    def text(self, index: int) -> str:
        """The text of a token; empty outside the text."""
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

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
