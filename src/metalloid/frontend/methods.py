"""Methods qualified by the address space of `this`: `int get() const device;`

To clang `this` may point anywhere, so the qualifiers go. Overloads that say the same for several spaces
become one, and one whose result is a place in a space says so by a cast. Overloads that do different
things stay, and clang refuses them as repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metalloid.frontend.declarations import Span
from metalloid.frontend.tokens import Token
from metalloid.records import dataclass

SPACES = frozenset(("device", "threadgroup", "constant", "thread", "threadgroup_imageblock", "object_data"))
_SPECIFIERS = frozenset(("inline", "static", "constexpr", "friend", "explicit", "__attribute__"))


@dataclass(frozen=True)
class Method:
    """Where the parts of a method are, as token indices."""

    span: Span
    returns: Span  # its specifiers and result type
    parameters: Span  # from the name to the `)`
    tail: Span  # what follows, up to the body or the initialisers
    body: Span  # initialisers and body, or nothing


@dataclass(frozen=True)
class Changes:
    drops: tuple[Span, ...]
    casts: tuple[tuple[Span, str], ...]  # an expression and the type it is cast to


def merge(tokens: Sequence[Token], pairs: Mapping[int, int], methods: Sequence[Method]) -> Changes:
    """What to change in the methods of one class."""
    groups: dict[str, list[Method]] = {}
    for method in methods:
        groups.setdefault(_key(tokens, method), []).append(method)
    drops: list[Span] = []
    casts: list[tuple[Span, str]] = []
    for first, *others in groups.values():
        alike = [o for o in others if _code(tokens, o.body) == _code(tokens, first.body)]
        drops += [other.span for other in alike]
        kept = [first, *(o for o in others if o not in alike)]
        drops += [Span(i, i + 1) for m in kept for i in _spaces(tokens, m.tail)]
        words = {_words(tokens, m.returns) for m in (first, *alike)}
        if len(words) > 1:
            drops += [Span(i, i + 1) for i in _spaces(tokens, first.returns)]
        elif _spaces(tokens, first.tail) and _spaces(tokens, first.returns):
            casts += _casts(tokens, pairs, first)
    return Changes(tuple(drops), tuple(casts))


def _key(tokens: Sequence[Token], method: Method) -> str:
    """The same for two overloads that differ in spaces only."""
    head = _code(tokens, Span(method.span.first, method.parameters.first))
    words = [w for w in _words(tokens, method.parameters) if w != "thread"]
    const = "const" if "const" in _words(tokens, method.tail) else ""
    return " ".join([head.replace("constexpr ", "").replace("inline ", ""), *words, const])


def _casts(tokens: Sequence[Token], pairs: Mapping[int, int], method: Method) -> list[tuple[Span, str]]:
    first = method.returns.first
    while first < method.returns.last and tokens[first].text in _SPECIFIERS:
        first = pairs.get(first + 1, first) + 1
    result = _words(tokens, Span(first, method.returns.last))
    if not result or result[-1] not in ("*", "&"):
        return []
    found = []
    for here in range(method.body.first, method.body.last):
        if tokens[here].text == "return" and tokens[here + 1].text != ";":
            end = here + 1
            while end < method.body.last and tokens[end].text != ";":
                end = pairs.get(end, end) + 1
            found.append((Span(here + 1, end), " ".join(result)))
    return found


def _spaces(tokens: Sequence[Token], span: Span) -> list[int]:
    return [i for i in range(span.first, span.last) if tokens[i].text in SPACES]


def _words(tokens: Sequence[Token], span: Span) -> tuple[str, ...]:
    return tuple(t.text for t in tokens[span.first : span.last])


def _code(tokens: Sequence[Token], span: Span) -> str:
    return " ".join(w for w in _words(tokens, span) if w not in SPACES)
