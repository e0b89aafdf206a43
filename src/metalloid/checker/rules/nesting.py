"""What stands around a place in the text: an `if`, a loop.

The compiled kernel does not tell: loops are unrolled, and conditions become choices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from metalloid.checker.case import Case
from metalloid.ir.debug import Location

_LOOP = re.compile(r"\b(?:for|while|do)\b")
_IF = re.compile(r"\b(?:if|else|switch)\b")
_LONGEST = 400  # lines that are looked at
_COMMENT = re.compile(r"//.*|/\*.*?\*/")


def in_loop(case: Case, place: Location) -> bool:
    return any(_LOOP.search(head) for head in _heads(case, place))


def under_if(case: Case, place: Location) -> bool:
    return any(_IF.search(head) for head in _heads(case, place))


def known(case: Case, place: Location) -> bool:
    """Whether the text is there to be looked at, and a function of its own stands around the place."""
    return bool(place.function) and any("(" in head for head in _heads(case, place))


def _heads(case: Case, place: Location) -> Iterator[str]:
    """The texts in front of the braces that are open at a place, and of the statement itself, nearest first."""
    lines = case.texts.lines(place.file)[: place.line]
    if not lines or len(lines) < place.line:
        return
    lines[-1] = lines[-1][: max(0, place.column - 1)]
    text = "\n".join(_COMMENT.sub("", line) for line in lines[-_LONGEST:])
    inside, depth, end = 0, 0, len(text)  # `end` of the text that is taken; 0 where none is
    for at in range(len(text) - 1, -1, -1):
        mark = text[at]
        inside = max(0, inside + (mark == ")") - (mark == "("))  # a `for` has semicolons of its own
        if mark not in "{};" or (inside and mark == ";"):
            continue
        if end and not depth:
            yield text[at + 1 : end]
            end = 0
        if mark == "{" and not depth:
            end = at
        depth += (mark == "}") - (mark == "{" and depth > 0)
