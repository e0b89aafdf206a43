"""Tokens of a text: what is a word, a directive, a bracket, and that long functions are looked at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from metalloid.frontend.declarations import Span
from metalloid.frontend.front import unit_of
from metalloid.frontend.space_casts import refused_casts
from metalloid.frontend.tokens import BRACKETS, Token, pair_brackets, tokenize
from metalloid.records import replace


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a # b", "name punctuation name"),
        ("#\n# 1\n x # y", "directive directive name punctuation name"),
        ('R"(a "#" b)" u8R"x(])"\n)x" L"s" U\'c\' LR', "string string string char name"),
        ("R'c' u8 uint u\"", "name char name name name punctuation"),
        ("1'000u .5e+3f 0x1p-3 a.b ...", "number number number name punctuation name punctuation"),
        ("\"open\n'", "punctuation name punctuation"),
        ("\u00e9 $x _y", "punctuation name name"),
    ],
)
def test_kinds(text: str, expected: str) -> None:
    assert [token.kind for token in tokenize(text)] == expected.split()


@pytest.mark.parametrize("raw", ["", ' R"()"'])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a[b[i]]", "a [ b [ i ] ]"),
        ("[[x(a[b[0]])]] ]", "[[ x ( a [ b [ 0 ] ] ) ]] ]"),
        ("]] a", "] ] a"),
        ("[[a]][b]", "[[ a ]] [ b ]"),
    ],
)
def test_closing_brackets(text: str, expected: str, raw: str) -> None:
    assert [token.text for token in tokenize(text + raw)] == [*expected.split(), *raw.split()]


def test_a_text_behind_another() -> None:
    first, second = "int a[b[0]];\n# 1\n", "void f() { # }\n#\nx[[y]]"
    before = tokenize(first)
    behind = tokenize(second, len(first))
    assert before + behind == tokenize(first + second)
    both = before + behind
    found = [n for n, token in enumerate(both) if token.text in BRACKETS and n >= len(before)]
    assert pair_brackets(before) | pair_brackets(both, found) == pair_brackets(both)


class Counted(list[Token]):
    """Tokens that count how often they are looked at."""

    looks = 0

    def __getitem__(self, index: Any) -> Any:
        self.looks += 1
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[Token]:
        self.looks += len(self)
        return super().__iter__()


def looks(statements: int) -> int:
    lines = "".join(f"  int* p{n} = q{n};\n" for n in range(statements))
    unit = unit_of(f"void f(thread int* y) {{\n{lines}}}\n")
    tokens = Counted(unit.tokens)
    assert list(refused_casts(replace(unit, tokens=tokens), [Span(0, len(tokens))])) == []
    return tokens.looks


def test_a_function_twice_as_long_takes_twice_as_long() -> None:
    assert looks(400) < 3 * looks(200)
