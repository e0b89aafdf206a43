"""Where a finding points.

The compiler puts a store at its `=`, readers look for what is written to: the caret goes there. What is wrong with
a launch is in the caller's own code, which is read for its excerpt.
"""

from __future__ import annotations

import linecache
from dataclasses import replace
from pathlib import Path

from metalloid.location import Location
from metalloid.patterns import pattern

_ASSIGNS = pattern(r"(<<|>>|[-+*/%&|^])?=(?!=)|\+\+|--")
_OPENS = {"]": "[", ")": "("}


def pointed(location: Location | None, excerpt: str) -> Location | None:
    """The place with its column at the start of what is assigned to."""
    if location is None or not 0 < location.column <= len(excerpt):
        return location
    if not _ASSIGNS.match(excerpt, location.column - 1):
        return location
    start = target(excerpt, location.column - 1)
    return replace(location, column=start + 1) if start >= 0 else location


def target(text: str, end: int) -> int:
    """Where the expression that ends before `end` begins: `a.b[i][j]`, `p->x`, `*p`; -1 where it is not clear."""
    at = len(text[:end].rstrip())
    first = -1
    while at > 0:
        mark = text[at - 1]
        if mark in _OPENS:
            at = _matching(text, at - 1)
            if at < 0:
                return -1
        elif mark.isalnum() or mark in "_.":
            at -= 1
        elif text[at - 2 : at] == "->":
            at -= 2
        else:
            break
        first = at
    if first > 0 and text[first - 1] == "*" and text[: first - 1].strip(" \t{;") == "":
        first -= 1
    return first


def _matching(text: str, close: int) -> int:
    depth = 0
    for at in range(close, -1, -1):
        depth += (text[at] in "])") - (text[at] in "[(")
        if depth == 0:
            return at if text[at] == _OPENS[text[close]] else -1
    return -1


def python_line(place: str) -> tuple[Location | None, str]:
    """The place of a `file:line` in the caller's own code, and what stands there."""
    file, _, line = place.rpartition(":")
    if not file or not line.isdigit():
        return None, ""
    return Location(nearby(file), int(line)), linecache.getline(file, int(line)).rstrip("\n")


def nearby(file: str) -> str:
    """A file below the working folder by its path from there, as compilers print it."""
    path = Path(file)
    return (
        str(path.relative_to(Path.cwd())) if path.is_absolute() and path.is_relative_to(Path.cwd()) else file
    )
