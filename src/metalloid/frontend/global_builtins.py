"""Built-in variables at namespace level: `const uint3 position [[thread_position_in_grid]];`, for every function.

No variable of C++ is another one in each thread, so it becomes a function of that name, and where the name is used the
function is called. A parameter, a local variable or a member of the same name hides it as far as it reaches.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from metalloid.frontend.attributes import BUILTINS
from metalloid.frontend.declarations import GlobalBuiltin, Span
from metalloid.frontend.methods import SPACES
from metalloid.frontend.unit import Unit

# Words in front of a name that do not declare it.
_USES = frozenset("return else case do sizeof alignof and or not xor goto throw co_return".split())


def builtin_edits(unit: Unit) -> Iterator[tuple[int, int, str]]:
    """(start, end, text) of what changes."""
    openings = sorted(unit.pairs)
    for builtin in unit.declarations.builtins:
        yield from _as_function(unit, builtin)
        inside = range(builtin.span.first, builtin.span.last)
        named = [n for n, t in enumerate(unit.tokens) if t.text == builtin.name and n not in inside]
        hidden = [_reach(unit, openings, n) for n in named if _declares(unit, n)]
        for index in named:
            if _member(unit, index) or any(s.first <= index < s.last for s in hidden):
                continue
            token = unit.tokens[index]
            yield token.start, token.end, f"{token.text}()"


def _as_function(unit: Unit, builtin: GlobalBuiltin) -> Iterator[tuple[int, int, str]]:
    """The attributes are blanked with all others."""
    semicolon = unit.tokens[builtin.span.last - 1]
    value = f"__mt::{BUILTINS[builtin.attribute]}::get<{builtin.type}>()"
    yield semicolon.start, semicolon.end, f"() {{ return {value}; }}"
    for token in unit.tokens[builtin.span.first : builtin.span.last]:
        if token.text in SPACES:
            yield token.start, token.end, " " * len(token.text)


def _member(unit: Unit, index: int) -> bool:
    return index > 0 and unit.tokens[index - 1].text in (".", "->")


def _declares(unit: Unit, index: int) -> bool:
    """A type's name stands in front of it."""
    before = unit.tokens[index - 1] if index else None
    return before is not None and before.kind == "name" and before.text not in _USES


def _reach(unit: Unit, openings: list[int], index: int) -> Span:
    """What a declaration is seen in: the rest of its block; of a parameter, or in a loop's head, the body as well."""
    at = bisect_right(openings, index) - 1
    while at >= 0 and unit.pairs[openings[at]] < index:
        at -= 1
    if at < 0:
        return Span(index, index + 1)
    opening, close = openings[at], unit.pairs[openings[at]]
    if unit.tokens[opening].text != "(":
        return Span(index, close)
    here = close + 1
    while here < len(unit.tokens) and unit.tokens[here].text not in ("{", ";"):
        here += 1
    return Span(index, unit.pairs.get(here, here) + 1)
