"""Parts of swizzles that are assigned to: `v.xyz.xy = w`, `v.yz[i] = s`.

A swizzle is a copy here (include/metalloid/vec.h), so clang refuses a store to a part of one. In Metal it is a store to
the vector itself, and these are written as one: `v.xy = w`, `v.operator[](1 + (i)) = s`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from metalloid.frontend.rewritten import Edit, Rewritten
from metalloid.frontend.tokens import Token, pair_brackets, tokenize
from metalloid.patterns import pattern

_REFUSED = pattern(
    r"^(?P<file>.*?):(?P<line>\d+):\d+:(?:\{[^}]*\})*:? ?error: "
    r"(?:expression is not assignable|'this' argument to member function '__put_)",
    re.MULTILINE,
)
_SWIZZLE = pattern(r"^(?:[xyzw]{1,4}|[rgba]{1,4})$")
_COLOURS = str.maketrans("rgba", "xyzw")
_LETTERS = "xyzw"
_STORES = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"))
_STEPS = frozenset(("++", "--"))


def stores(messages: str, rewritten: Rewritten) -> Iterator[Edit]:
    """On the lines of such errors, every store to a part of a swizzle as one to the vector."""
    from metalloid.frontend.diagnose import Preimage

    places = {(match["file"], int(match["line"])) for match in _REFUSED.finditer(messages)}
    preimage = Preimage(rewritten)
    for place in sorted(places):
        for offset, line in preimage.lines(*place):
            for start, end, text in _parts(tokenize(line)):
                first, last = (rewritten.original_offset(offset + at) for at in (start, end))
                if rewritten.before[first:last] == line[start:end]:
                    yield Edit(first, last, text)


def _parts(tokens: list[Token]) -> Iterator[tuple[int, int, str]]:
    """What to replace, and by what. A line without brackets that match has nothing."""
    pairs = pair_brackets(tokens)
    here = 0
    while here < len(tokens):
        chain = _chain(tokens, here)
        if not chain:
            here += 1
            continue
        names, after = chain
        chosen = _chosen(names)
        start = tokens[here + 1].start
        stepped = _stepped(tokens, here)
        here = after
        following = tokens[after].text if after < len(tokens) else ""
        if not chosen:
            continue
        if following == "[" and after in pairs and chosen in _LETTERS:  # neighbours only, as clang has it
            close = pairs[after]
            behind = tokens[close + 1].text if close + 1 < len(tokens) else ""
            if stepped or behind in _STORES:
                yield start, tokens[after].end, f"operator[]({_LETTERS.index(chosen)} + ("
                yield tokens[close].start, tokens[close].end, "))"
        elif len(names) > 1 and (stepped or following in _STORES):
            yield start, tokens[after - 1].end, chosen


def _chain(tokens: list[Token], here: int) -> tuple[list[str], int] | None:
    """The swizzles in `.xyz.xy` from this token on, and the token behind them."""
    names: list[str] = []
    while (
        here + 1 < len(tokens)
        and (tokens[here].text == "." or (not names and tokens[here].text == "->"))
        and _SWIZZLE.match(tokens[here + 1].text)
    ):
        names.append(tokens[here + 1].text.translate(_COLOURS))
        here += 2
    return (names, here) if names else None


def _chosen(names: list[str]) -> str:
    """`xyz`, `zx` -> `zx`; nothing where a swizzle names what the one before it has not."""
    chosen = names[0]
    for name in names[1:]:
        places = [_LETTERS.index(letter) for letter in name]
        if max(places) >= len(chosen):
            return ""
        chosen = "".join(chosen[place] for place in places)
    return chosen


def _stepped(tokens: list[Token], here: int) -> bool:
    """`++v.xy.x`: a step in front of a plain name."""
    return here >= 2 and tokens[here - 1].kind == "name" and tokens[here - 2].text in _STEPS
