"""Random damage to a valid text: one to eight changes of its tokens or characters."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

_PIECES = re.compile(r"\s+|\w+|\[\[|\]\]|.", re.DOTALL)
_BRACKETS = ("(", ")", "{", "}", "[", "]", "[[", "]]", "<", ">")
_NUMBERS = ("-1", "99999999999999999999", "0", "1 << 31", "2147483648", "1e999")
_ODD = "\0\x01\x7f\x80é…\ufeff\u2028\U0001f600\udc80\udcff"
_JUNK = "{}()[]<>;:,.#\"'\\/*&|^%$@!?~`=+-0123456789abcXYZ_ \t\n\r" + _ODD


def damage(rng: random.Random, text: str, words: Sequence[str]) -> tuple[str, str]:
    """(what was done, the damaged text)"""
    pieces = _PIECES.findall(text)
    done = []
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        if pieces:
            change = rng.choice(_CHANGES)
            change(rng, pieces, words)
            done.append(change.__name__)
    return " and ".join(done), "".join(pieces)


def drop(rng: random.Random, pieces: list[str], words: Sequence[str]) -> None:
    del pieces[rng.randrange(len(pieces))]


def drop_run(rng: random.Random, pieces: list[str], words: Sequence[str]) -> None:
    at = rng.randrange(len(pieces))
    del pieces[at : at + rng.randrange(1, 40)]


def repeat(rng: random.Random, pieces: list[str], words: Sequence[str]) -> None:
    at = rng.randrange(len(pieces))
    pieces[at:at] = pieces[at : at + rng.randrange(1, 12)] * rng.choice((1, 1, 2, 50))


def swap(rng: random.Random, pieces: list[str], words: Sequence[str]) -> None:
    i, j = rng.randrange(len(pieces)), rng.randrange(len(pieces))
    pieces[i], pieces[j] = pieces[j], pieces[i]


def insert_word(rng: random.Random, pieces: list[str], words: Sequence[str]) -> None:
    pieces.insert(rng.randrange(len(pieces)), f" {rng.choice(words)} ")


def replace_by_word(rng: random.Random, pieces: list[str], words: Sequence[str]) -> None:
    pieces[rng.randrange(len(pieces))] = f" {rng.choice(words)} "


def insert_junk(rng: random.Random, pieces: list[str], words: Sequence[str]) -> None:
    pieces.insert(rng.randrange(len(pieces)), "".join(rng.choices(_JUNK, k=rng.randrange(1, 30))))


def change_bracket(rng: random.Random, pieces: list[str], words: Sequence[str]) -> None:
    places = [i for i, piece in enumerate(pieces) if piece in _BRACKETS]
    if places:
        pieces[rng.choice(places)] = rng.choice(("", *_BRACKETS))


def change_number(rng: random.Random, pieces: list[str], words: Sequence[str]) -> None:
    places = [i for i, piece in enumerate(pieces) if piece.isdigit()]
    if places:
        pieces[rng.choice(places)] = rng.choice(_NUMBERS)


def cut(rng: random.Random, pieces: list[str], words: Sequence[str]) -> None:
    del pieces[rng.randrange(len(pieces)) :]


_CHANGES: tuple[Callable[[random.Random, list[str], Sequence[str]], None], ...] = (
    *(
        drop,
        drop_run,
        repeat,
        swap,
        insert_word,
        replace_by_word,
        insert_junk,
        change_bracket,
        change_number,
        cut,
    ),
)
