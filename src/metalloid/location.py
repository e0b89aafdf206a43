"""A place in the user's text, and the names that are written there."""

from __future__ import annotations

import re

from metalloid.records import dataclass


@dataclass(frozen=True)
class Location:
    file: str
    line: int  # 0 where the compiler made the code up
    column: int = 0
    function: str = ""  # the function it was written in


def plain_name(symbol: str) -> str:
    """The last name in a C++ symbol: `s` of `_ZZL1kPfE1s`, `f` of `_ZN1a1fEv`; other symbols as they are."""
    if inner := re.search(r"^_ZZ.*E(\d+)([A-Za-z_]\w*)$", symbol):  # a variable inside a function
        return inner[2][: int(inner[1])]
    names: list[str] = []
    rest = re.sub(r"^_Z[LN]?", "", symbol) if symbol.startswith("_Z") else ""
    while match := re.match(r"L?(\d+)", rest):
        end = match.end() + int(match[1])
        names.append(rest[match.end() : end])
        rest = rest[end:]
    return names[-1] if names else symbol
