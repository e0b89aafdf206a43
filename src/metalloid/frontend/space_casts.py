"""Casts between address spaces, and `thread` pointers to other memory, which Metal refuses.

clang knows most of them by the types. What a thread has of its own is generic to it, and generic may be cast to any
space: the value would then be read where nothing was ever written. Tokens tell the plain cases: an array or the address
of a variable of the function itself, and pointers that the function declares with a space, cast to another one; the
type may be written out, or have a name. A pointer that says `thread`, or no space at all, and is set to one of another
space is refused where its declaration shows both; without a space only to types of Metal's own, since a name may have
one in it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import takewhile

from metalloid.frontend.declarations import Span
from metalloid.frontend.refuse import Problem
from metalloid.frontend.tokens import Token
from metalloid.frontend.unit import Unit
from metalloid.frontend.words import between
from metalloid.patterns import pattern

_SPACES = frozenset(("device", "constant", "threadgroup"))
_ALL = _SPACES | {"thread"}
_BEFORE, _AFTER = frozenset("(,;{}=)"), frozenset((",", ")", ";", "=", "[["))  # a declaration's neighbours
_ENDS = frozenset((";", "{", "}", "(", ")"))
_NO_TYPE = frozenset(("=", ";", "(", ")", "{", "}", ",", "["))
_POINTS = frozenset((";", ",", "+", "-"))  # behind a pointer that is one still
_PLAIN = pattern(r"(?:u?(?:char|short|int|long)|float|half|bfloat|bool|u?int(?:8|16|32|64)_t|size_t)[234]?")
_BESIDE = frozenset(("const", "volatile", "unsigned", "signed"))  # a type, or without one
_NO_TYPES = frozenset(("return", "else", "case", "goto", "using", "typedef", "struct", "class"))


def refused_casts(unit: Unit, spans: Sequence[Span]) -> Iterator[Problem]:
    """In the given spans, which are whole items of the source."""
    tokens, named = unit.tokens, _Aliases(unit)
    opened = _around_types(unit, named)
    for span in spans:
        own: frozenset[str] | None = None
        for index in between(opened, span.first, span.last):
            space, end = _cast_to(tokens, index, span.last, named)
            if not space:
                continue
            name, taken = _operand(tokens, end + 1, span.last)
            if name is None:
                continue
            own = own if own is not None else frozenset(_own(tokens, span, True))
            mine = own if not taken else own | frozenset(_own(tokens, span, False))
            bound = "" if taken else _declared(unit, span, tokens[name].text)
            if tokens[name].text in mine and space != "thread":
                yield _problem(tokens, index + 1, name, "the thread's own memory", space)
            elif bound and bound != space:
                yield _problem(tokens, index + 1, name, f"{bound} memory", space)
        yield from _misdeclared(unit, span)
        yield from _without_space(unit, span)


def _misdeclared(unit: Unit, span: Span) -> Iterator[Problem]:
    """`thread int* p = y`, where `y` is declared `device int*`."""
    tokens = unit.tokens
    for index in between(unit.words.places("thread"), span.first, span.last):
        words = list(takewhile(lambda t: t.text not in _NO_TYPE, tokens[index : min(index + 12, span.last)]))
        equals = index + len(words)
        if len(words) < 3 or tokens[equals].text != "=" or words[-1].kind != "name" or words[-2].text != "*":
            continue
        taken = tokens[equals + 1].text == "&"
        name = equals + 1 + taken
        after = _behind_brackets(tokens, name + 1, span.last) if taken else name + 1
        if tokens[name].kind != "name" or (taken and after == name + 1) or tokens[after].text not in _POINTS:
            continue
        bound = _declared(unit, span, tokens[name].text)
        if bound and bound != "thread":
            text, own = tokens[name].text, words[-1].text
            type = "".join(w.text if w.kind != "name" else f" {w.text}" for w in words[1:-1]).strip()
            yield Problem(
                "M615",
                f"'{text}' lies in {bound} memory and `{own}` is declared to point at the thread's own",
                f"declare it `{bound} {type} {own}`, or copy the value into a variable",
                index,
            )


def _without_space(unit: Unit, span: Span) -> Iterator[Problem]:
    """`int* p = y`, where `y` is declared `device int*`."""
    tokens = unit.tokens
    for equals in between(unit.words.places("="), span.first + 3, span.last - 2):
        own, name = tokens[equals - 1], tokens[equals + 1]
        if own.kind != "name" or tokens[equals - 2].text != "*" or name.kind != "name":
            continue
        before = reversed(tokens[max(span.first, equals - 8) : equals - 2])
        words = [t.text for t in takewhile(lambda t: t.text not in _BEFORE, before)][::-1]
        types = [word for word in words if word not in _BESIDE]
        if not words or len(types) > 1 or not all(map(_PLAIN.fullmatch, types)):
            continue
        bound = _declared(unit, span, name.text) if tokens[equals + 2].text in _POINTS else ""
        if bound and bound != "thread":
            yield Problem(
                "M615",
                f"`{own.text}` does not say which memory it points into, and '{name.text}' lies in {bound} memory",
                f"declare it `{bound} {' '.join(words)}* {own.text}`",
                equals - 1,
            )


def _behind_brackets(tokens: Sequence[Token], at: int, last: int) -> int:
    """The token behind `[...]` that begins here; the same where none does."""
    depth = 0
    for index in range(at, last - 1):
        depth += (tokens[index].text == "[") - (tokens[index].text == "]")
        if depth <= 0:
            return index + (index > at)
    return at


class _Aliases:
    """Names of pointer types and their spaces, read from the source when one is asked for."""

    def __init__(self, unit: Unit) -> None:
        self.tokens, self.unit = unit.tokens, unit

    @cached_property
    def spaces(self) -> dict[str, str]:
        """`typedef device float* P;` and `using P = device float*;`"""
        found: dict[str, str] = {}
        for index in self.unit.words.of(("typedef", "using")):
            token = self.tokens[index]
            words = [t.text for t in takewhile(lambda t: t.text != ";", self.tokens[index + 1 : index + 16])]
            name, star = (words[-1:], words[-2:-1]) if token.text == "typedef" else (words[:1], words[-1:])
            space = next((word for word in words if word in _ALL), "")
            if star == ["*"] and space:
                found[name[0]] = space
        return found


def _around_types(unit: Unit, named: _Aliases) -> list[int]:
    """The brackets that may be around the type of a cast: behind them stands `*)`, or an alias."""
    tokens, opened, found = unit.tokens, unit.words.places("("), set[int]()
    for star in unit.words.places("*"):
        before = bisect_left(opened, star)
        if before and tokens[star + 1 : star + 2] and tokens[star + 1].text == ")":
            found.add(opened[before - 1])
    places = (at - 1 for name in named.spaces for at in unit.words.places(name) if at)
    return sorted(found.union(at for at in places if tokens[at].text == "("))


def _cast_to(tokens: Sequence[Token], opened: int, last: int, named: _Aliases) -> tuple[str, int]:
    """The space of the pointer type in these brackets, and where they close; "" where this is something else."""
    end = _pointer_type(tokens, opened, last)
    if end is not None:
        words = {t.text for t in tokens[opened + 1 : end]}
        return next(iter(words & _ALL), ""), end
    alone = opened + 2 < last and tokens[opened + 2].text == ")" and tokens[opened + 1].kind == "name"
    before = tokens[opened - 1] if opened else None
    if not alone or (
        before and (before.kind == "name" or before.text in (")", "]")) and before.text != "return"
    ):
        return "", opened
    return named.spaces.get(tokens[opened + 1].text, ""), opened + 2


def _operand(tokens: Sequence[Token], at: int, last: int) -> tuple[int | None, bool]:
    """The variable that is cast, and whether its address is: `p`, `(p)` or `&v`; None for other expressions."""
    bracketed = at < last and tokens[at].text == "("
    at += bracketed
    taken = at < last and tokens[at].text == "&"
    name = at + taken
    if name >= last or tokens[name].kind != "name":
        return None, taken
    if bracketed and (name + 1 >= last or tokens[name + 1].text != ")"):
        return None, taken
    return (name if bracketed or _whole(tokens, name) else None), taken


def _problem(tokens: Sequence[Token], where: int, name: int, have: str, wanted: str) -> Problem:
    text = tokens[name].text
    hint = f"declare the pointer in the space of '{text}', or copy the values into {wanted} memory"
    return Problem("M615", f"'{text}' lies in {have} and is cast to `{wanted}`", hint, where)


def _pointer_type(tokens: Sequence[Token], opened: int, last: int) -> int | None:
    """The `)` of `(device float*)`; None where this is something else."""
    for index in range(opened + 1, min(opened + 10, last)):
        text = tokens[index].text
        if text == ")":
            return index if tokens[index - 1].text == "*" else None
        if tokens[index].kind != "name" and text not in ("*", "::", "<", ">", ","):
            return None
    return None


def _whole(tokens: Sequence[Token], name: int) -> bool:
    """Whether the variable itself is meant, not an element, a member or a call."""
    return name + 1 >= len(tokens) or tokens[name + 1].text not in ("[", ".", "->", "(", "::", "<")


def _own(tokens: Sequence[Token], span: Span, arrays: bool) -> Iterator[str]:
    """Names of arrays, or of other variables, that the function declares without a space."""
    start = span.first
    for index in range(span.first, span.last - 1):
        token = tokens[index]
        if token.text in _ENDS:
            start = index + 1
            continue
        follows = tokens[index + 1].text
        wanted = follows == "[" if arrays else follows in (";", "=", "{")
        if not wanted or token.kind != "name" or index <= start:
            continue
        before = tokens[start:index]
        words = [t.text for t in before]
        if (
            all(t.kind == "name" or t.text in ("::", "<", ">", ",") for t in before)
            and words.count("<") == words.count(">")  # else it is compared: `f(x) > y[i]`
            and not (_SPACES | _NO_TYPES | {"auto"}).intersection(words)
            and (before[-1].kind == "name" or before[-1].text == ">")
        ):
            yield token.text


def _declared(unit: Unit, span: Span, name: str) -> str:
    """The space of the pointer of that name, where the function declares one and no other of that name."""
    tokens, found = unit.tokens, set[str]()
    for index in between(unit.words.places(name), span.first + 2, span.last - 1):
        if tokens[index + 1].text not in _AFTER:
            continue
        if tokens[index - 1].text != "*":
            if tokens[index - 1].kind == "name" and tokens[index - 1].text not in _NO_TYPES:
                found.add("")  # something else has the name
            continue
        words = takewhile(lambda t: t.text not in _BEFORE, reversed(tokens[max(0, index - 12) : index - 1]))
        found.update(word for word in (t.text for t in words) if word in _ALL)
    return found.pop() if len(found) == 1 else ""
