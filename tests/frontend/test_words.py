"""Words of a text, found once for what it includes: the same as a look at every token."""

from __future__ import annotations

import pytest

from metalloid.frontend.tokens import tokenize
from metalloid.frontend.words import Words, between

TEXT = 'kernel a = 1.5h;\n#pragma x\n[[buffer(0)]] kernel.xx = a[[0]]; "kernel" a'


@pytest.mark.parametrize("cut", [0, 1, 5, 9, 1000])
def test_words_and_kinds(cut: int) -> None:
    tokens = tokenize(TEXT)
    first = Words(tokens[:cut])
    words = Words(tokens, min(cut, len(tokens)), first)
    for word in {*(token.text for token in tokens), "none"}:
        assert words.places(word) == [n for n, token in enumerate(tokens) if token.text == word]
    some = ("kernel", "[[", "a", "none")
    assert words.of(some) == [n for n, token in enumerate(tokens) if token.text in some]
    assert words.count(some) == len(words.of(some))
    for kind in ("number", "directive"):
        assert words.kind(kind) == [n for n, token in enumerate(tokens) if token.kind == kind]
    assert first.places("a") == [n for n, token in enumerate(tokens[:cut]) if token.text == "a"]  # as it was


def test_places_of_a_span() -> None:
    assert list(between([1, 4, 6, 9], 4, 9)) == [4, 6]
    assert list(between([], 0, 3)) == []
