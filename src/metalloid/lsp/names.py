"""Declarations of a Metal text: what a name is, where it was declared, and how far it can be seen.

The text is read by its tokens, not compiled: it has to work while a line is half written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from metalloid.frontend.tokens import Token, pair_brackets, tokenize

_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_NOT_TYPES = frozenset(
    "return else case goto delete new throw using namespace template typename operator if while for switch do "
    "break continue sizeof kernel device constant threadgroup thread const static constexpr inline".split()
)
_RECORDS = frozenset(("struct", "class", "union", "enum"))
_AFTER = frozenset(("=", ";", ",", ")", "[", "{", "[[", ":"))


@dataclass(frozen=True)
class Declared:
    """A name at its declaration; it can be seen from there to `end`."""

    name: str
    start: int  # offset of the name
    end: int
    kind: str  # kernel, function, struct, variable, parameter, macro, member

    def seen_from(self, offset: int) -> bool:
        return self.start <= offset <= self.end


def blanked(text: str) -> str:
    """The text with its comments as spaces; strings stay."""

    def blank(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0])

    return _COMMENT.sub(blank, text)


def declarations(text: str) -> tuple[Declared, ...]:
    """In the order they are written."""
    text = blanked(text)
    macros = [Declared(m[1], m.start(1), len(text), "macro") for m in _DEFINE.finditer(text)]
    tokens = tokenize(text)
    return tuple(sorted([*macros, *_walk(tokens, len(text))], key=lambda d: d.start))


def _walk(tokens: list[Token], end: int) -> Iterator[Declared]:
    pairs = pair_brackets(tokens)
    closers = {close: open_ for open_, close in pairs.items()}
    scopes: list[tuple[int, str]] = [(end, "file")]  # where each open scope ends, and what it is
    upcoming: dict[int, str] = {}  # bracket -> what the scope in it is
    for n, token in enumerate(tokens):
        if token.text in ("{", "(") and n in pairs:
            inner = upcoming.get(n, "block" if token.text == "{" else "expression")
            scopes.append((tokens[pairs[n]].end, inner))
        elif n in closers and token.text in ("}", ")"):
            if len(scopes) > 1:
                scopes.pop()
        elif token.kind == "name":
            yield from _declared(tokens, pairs, n, scopes, upcoming)


def _declared(
    tokens: list[Token],
    pairs: dict[int, int],
    n: int,
    scopes: list[tuple[int, str]],
    upcoming: dict[int, str],
) -> Iterator[Declared]:
    token, (end, inside) = tokens[n], scopes[-1]
    before = tokens[n - 1] if n else Token("", "", 0)
    after = tokens[n + 1] if n + 1 < len(tokens) else Token("", "", 0)
    if before.text in _RECORDS and token.text not in _RECORDS:
        if after.text in ("{", ":"):
            body = next((m for m in range(n + 1, len(tokens)) if tokens[m].text == "{"), -1)
            upcoming[body] = "record"
            yield Declared(token.text, token.start, end, "struct")
    elif before.text == "using" and after.text == "=":
        yield Declared(token.text, token.start, end, "struct")
    elif not _after_type(tokens, n):
        return
    elif after.text == "(" and inside in ("file", "record", "namespace"):
        yield from _function(tokens, pairs, n, end, upcoming)
    elif after.text in _AFTER or after.text == "":
        kind = {"parameters": "parameter", "record": "member"}.get(inside, "variable")
        if inside != "expression" or after.text in ("=", ":"):  # for (uint i = 0; ...)
            last = _body_end(tokens, pairs, n, end) if inside == "expression" else end
            yield Declared(token.text, token.start, last, kind)


def _function(
    tokens: list[Token], pairs: dict[int, int], n: int, end: int, upcoming: dict[int, str]
) -> Iterator[Declared]:
    close = pairs.get(n + 1)
    upcoming[n + 1] = "parameters"
    kernel = any(t.text in ("kernel", "[[") for t in tokens[max(0, n - 6) : n] if t.text == "kernel")
    yield Declared(tokens[n].text, tokens[n].start, end, "kernel" if kernel else "function")
    if close is None:
        return
    body = close + 1
    while body < len(tokens) and tokens[body].text == "[[":
        body = pairs.get(body, body) + 1
    last = (
        tokens[pairs[body]].end if body < len(tokens) and tokens[body].text == "{" and body in pairs else end
    )
    for parameter in _parameters(tokens, pairs, n + 1, close):
        yield Declared(tokens[parameter].text, tokens[parameter].start, last, "parameter")
    upcoming[n + 1] = "expression"  # its names are told


def _parameters(tokens: list[Token], pairs: dict[int, int], open_: int, close: int) -> Iterator[int]:
    m = open_ + 1
    while m < close:
        if tokens[m].text in ("[[", "(", "<"):
            m = pairs.get(m, m) + 1
            continue
        following = tokens[m + 1].text
        if tokens[m].kind == "name" and following in ("[[", ",", ")", "[", "=") and _after_type(tokens, m):
            yield m
        m += 1


def _body_end(tokens: list[Token], pairs: dict[int, int], n: int, end: int) -> int:
    """Of a `for (...)` around a token: the end of its body."""
    for open_, close in pairs.items():
        if tokens[open_].text == "(" and open_ < n < close:
            body = close + 1
            if body < len(tokens) and tokens[body].text == "{" and body in pairs:
                return tokens[pairs[body]].end
    return end


def _after_type(tokens: list[Token], n: int) -> bool:
    """Whether what stands before a name can be a type: `float x`, `device float* x`, `vec<T, 4> x`."""
    m = n - 1
    while m >= 0 and tokens[m].text in ("*", "&", "const"):
        m -= 1
    if m < 0:
        return False
    before = tokens[m]
    if before.text == ">":
        return True
    if before.text == "," and m >= 2 and n - 1 == m:  # float a = 1, b = 2: too rare to be worth a guess
        return False
    return before.kind == "name" and before.text not in _NOT_TYPES


def definition(text: str, name: str, offset: int) -> Declared | None:
    """The declaration that a name at an offset means: the innermost one that is seen there; behind a `.` a member."""
    found = [d for d in declarations(text) if d.name == name]
    if re.search(r"(?:\.|->)\s*\w*$", text[:offset]):
        return next((d for d in found if d.kind == "member"), None)
    seen = [d for d in found if d.kind != "member" and d.seen_from(offset)]
    if seen:
        return min(seen, key=lambda d: (d.end - d.start, -d.start))
    return next((d for d in found if d.kind != "member"), found[0] if found else None)
