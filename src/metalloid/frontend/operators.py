"""Find the shifts and divisions whose right side clang may take for something it is not.

What Metal defines and C++ does not (operators.h) is put in at the operator itself: `a << b` becomes
`a << __mt::by() << b`, which binds as before, so that nothing has to be known of either side. Sides that are numbers
within range stay as they are; they are most of them.

`>>` also closes template arguments. It is a shift where fewer than two `<` are open that may be template brackets; a
wrong guess does not compile, and the source is then compiled without any of these (build.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from metalloid.frontend.bit_fields import begins_with, ends_in
from metalloid.frontend.tokens import CLOSERS, OPENERS, Token
from metalloid.patterns import pattern

BY = "__mt::by()"
_ENDS = frozenset((";", "{", "}"))
_BINDS_TIGHTER = frozenset("+ - * / % . -> [ (".split())  # than a shift
_DIGITS = pattern(r"^(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9']+)(?:[uUlL]*)$")
SIGNS = frozenset(("/", "%", "/=", "%=", "<<=", "<", ">"))
WATCHED = _ENDS | OPENERS.keys() | CLOSERS | SIGNS
_CLOSES = frozenset((";", ")", ",", "]", "}"))
_WIDTH = 32  # of the narrowest thing that is shifted: scalars are promoted, vectors mask their own


class Operator(NamedTuple):
    """One operator: its sign, `=` included, and where it stands; `first` is its first token."""

    text: str
    start: int
    first: int
    tokens: int


def operator_edits(
    tokens: Sequence[Token], watched: Iterable[int], fields: Collection[str] = ()
) -> Iterator[tuple[int, int, str]]:
    """(start, end, text) for each operator that needs its right side guarded. `watched`: which tokens are WATCHED, or
    SIGNS where that is enough; `fields`: names of bit-fields."""
    for operator in _operators(tokens, watched):
        if _needs(tokens, operator):
            sign = operator.text
            text = f"{sign} {BY} +=" if sign.endswith("=") else f"{sign} {BY} {sign}"
            if not sign.endswith("=") and ends_in(tokens, operator.first - 1, fields):
                text = f"* 1 {text}"
            if begins_with(tokens, operator.first + operator.tokens, fields):
                text = f"{text} + "
            yield operator.start, operator.start + len(sign), text


def may_nest(tokens: Sequence[Token], less: Iterable[int]) -> bool:
    """Whether two of these `<` may be template brackets that are open at once. C has none, and all its `>>` shift."""
    own = (n for n in less if _may_be_template(tokens, n))
    return sum(not _sign(tokens, n) or tokens[n - 1].text == "operator" for n in own) > 1


def _operators(tokens: Sequence[Token], watched: Iterable[int]) -> Iterator[Operator]:
    """Shifts, divisions and remainders, with their assignments."""
    angles: list[list[int]] = [[]]  # for each bracket that is open, the `<` that are
    after = 0
    for here in watched:
        if here < after:  # the second half of a shift
            continue
        text = tokens[here][1]
        sign = _sign(tokens, here) if text in SIGNS else ""
        closes_two = sign == ">>" and len(angles[-1]) > 1  # each `>` is met on its own
        if sign and not closes_two and (not here or tokens[here - 1].text != "operator"):
            count = 1 if sign == text else 2
            yield Operator(sign, tokens[here].start, here, count)
            after = here + count
            continue
        if text in OPENERS:
            angles.append([])
        elif text in CLOSERS and len(angles) > 1:
            angles.pop()
        if text in _ENDS:
            angles[-1] = []
        elif text == "<" and _may_be_template(tokens, here):
            angles[-1].append(here)
        elif text == ">" and angles[-1]:
            angles[-1].pop()


def _sign(tokens: Sequence[Token], here: int) -> str:
    """The operator at a token, "" where there is none; the tokenizer cuts most shifts in two."""
    token = tokens[here]
    if token.text in ("/", "%", "/=", "%=", "<<="):
        return token.text
    if token.text in ("<", ">") and here + 1 < len(tokens) and tokens[here + 1].start == token.end:
        both = token.text + tokens[here + 1].text
        return both if both in ("<<", ">>", ">>=") else ""
    return ""


def _may_be_template(tokens: Sequence[Token], here: int) -> bool:
    """A `<` behind a name, not set apart from both sides as comparisons are."""
    before = tokens[here - 1] if here else None
    if before is None or before.kind != "name":
        return False
    after = tokens[here + 1].start if here + 1 < len(tokens) else 0
    apart = before.end < tokens[here].start and tokens[here].end < after
    return not apart or before.text == "template"


def _needs(tokens: Sequence[Token], operator: Operator) -> bool:
    """Whether the right side may be out of range; a number that is all of it tells."""
    first = operator.first + operator.tokens
    if first + 1 >= len(tokens) or tokens[first].text in (")", ",", "..."):
        return False  # broken text, or a fold
    right, after = tokens[first], tokens[first + 1].text
    assigns, shifts = operator.text.endswith("="), operator.text[0] in "<>"
    if right.kind == "number":
        value = _integer(right.text)
        if (assigns and after not in _CLOSES) or (shifts and after in _BINDS_TIGHTER):
            return value is not None
        return value is not None and (value >= _WIDTH if shifts else value == 0)
    left = tokens[operator.first - 1] if operator.first else right
    return not (left.kind == "number" and "." in left.text)


def _integer(text: str) -> int | None:
    digits = _DIGITS.match(text)
    if digits is None:
        return None
    written = digits[1].replace("'", "").lower()
    base = 10 if written[0] != "0" else {"x": 16, "b": 2}.get(written[1:2], 8)
    return int(written, base) if base != 8 or set(written) <= set("01234567") else None
