"""Variables that Metal does not allow: at file scope, threadgroup with a value or in a helper, swizzles set twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from metalloid.frontend.declarations import Declarations, Span
from metalloid.frontend.refuse import Problem
from metalloid.frontend.tokens import OPENERS, Token
from metalloid.frontend.unit import Unit
from metalloid.frontend.words import between
from metalloid.patterns import pattern

_REPEATING = pattern(r"^(?=.*(.).*\1)(?:[xyzw]{2,4}|[rgba]{2,4})$")
_ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<="))
_NOT_VARIABLES = frozenset(
    """constant const constexpr struct class enum union using typedef template operator extern friend
    namespace static_assert return asm""".split()
)


def refused_variables(unit: Unit, spans: Sequence[Span]) -> Iterator[Problem]:
    """Problems in the given spans, which are whole items of the source."""
    tokens, declarations = unit.tokens, unit.declarations
    targets = _repeated_targets(unit)
    for span in spans:
        yield from _file_scope(tokens, span)
        yield from (_repeated(tokens, n) for n in between(targets, span.first + 1, span.last - 1))
        for start in declarations.statics:
            if span.first <= start < span.last:
                yield from _initialised(tokens, unit.pairs, start)
                if not _in_a_kernel(declarations, start):
                    yield _in_a_helper(tokens, start)
                elif _in_a_lambda(tokens, unit.pairs, span, start):
                    yield _in_a_helper(tokens, start, lambda_=True)


def _file_scope(tokens: Sequence[Token], span: Span) -> Iterator[Problem]:
    """`int counter = 0;` outside every function."""
    name = None
    for index in range(span.first, span.last):
        token = tokens[index]
        if token.text in _NOT_VARIABLES or token.text in ("(", "[["):
            return
        if token.text in ("=", ";", "[", "{"):
            break
        if token.kind == "name":
            name = index
    if name is None or name == span.first:
        return
    yield Problem(
        "M613",
        f"variable '{tokens[name].text}' at file scope must be in `constant` memory",
        f"write `constant` in front of it, or declare '{tokens[name].text}' inside the kernel",
        name,
    )


def _initialised(tokens: Sequence[Token], pairs: Mapping[int, int], start: int) -> Iterator[Problem]:
    """`threadgroup float x = 1;`"""
    here, name = start, start
    while here < len(tokens) and tokens[here].text != ";":
        if tokens[here].text in ("=", "{"):
            if name == start:  # `threadgroup {T} x`: not a declaration; clang says what it is
                return
            if empty_braces(tokens, pairs, here):
                return
            yield Problem(
                "M613",
                f"threadgroup variable '{tokens[name].text}' cannot have an initial value",
                "let one thread assign it, then call threadgroup_barrier(mem_flags::mem_threadgroup)",
                name,
            )
            return
        if tokens[here].kind == "name":
            name = here
        here = pairs.get(here, here) + 1 if tokens[here].text in OPENERS else here + 1


def empty_braces(tokens: Sequence[Token], pairs: Mapping[int, int], index: int) -> bool:
    """`{{}, {}}`, which gives no values: translators write it behind a threadgroup variable."""
    inside = tokens[index : pairs.get(index, index) + 1]
    return tokens[index].text == "{" and {token.text for token in inside} <= {"{", "}", ","}


def _in_a_kernel(declarations: Declarations, token: int) -> bool:
    """Kernels, and templates that an instantiation makes kernels."""
    spans = [kernel.span for kernel in declarations.kernels]
    for one in declarations.instantiations:
        spans += declarations.functions.get(one.name, ())
    return any(span.first <= token < span.last for span in spans)


def _in_a_lambda(tokens: Sequence[Token], pairs: Mapping[int, int], span: Span, start: int) -> bool:
    """Whether a brace around this token opens the body of a lambda: `[&](float x) -> float {`."""
    around = (n for n in range(span.first, start) if tokens[n].text == "{" and pairs.get(n, 0) > start)
    return any(_opens_lambda(tokens, pairs, brace) for brace in around)


def _opens_lambda(tokens: Sequence[Token], pairs: Mapping[int, int], brace: int) -> bool:
    at = brace - 1
    while at > 0 and (tokens[at].kind == "name" or tokens[at].text in ("->", "::", "<", ">", "*", "&")):
        at -= 1  # what it returns, and `mutable`
    if tokens[at].text == ")":
        opened = next((n for n in range(at, 0, -1) if pairs.get(n) == at), 0)
        at = opened - 1
    return at > 0 and tokens[at].text == "]"


def _in_a_helper(tokens: Sequence[Token], start: int, lambda_: bool = False) -> Problem:
    """`threadgroup float t[32];` in a function that is no kernel."""
    end = next((n for n in range(start, len(tokens)) if tokens[n].text in ("[", ";", "=")), start)
    name = tokens[end - 1].text
    if lambda_:
        return Problem(
            "M613",
            f"threadgroup variable '{name}' is declared in a lambda, which is not a kernel",
            "declare it in the kernel, in front of the lambda",
            end - 1,
        )
    return Problem(
        "M613",
        f"threadgroup variable '{name}' is declared in a function that is not a kernel",
        f"declare it in the kernel and pass it on: `threadgroup float* {name}` as a parameter of the function",
        end - 1,
    )


def _repeated_targets(unit: Unit) -> list[int]:
    """`v.xx = ...`: the tokens `xx`."""
    tokens, last = unit.tokens, len(unit.tokens) - 2
    dots = unit.words.of((".", "->"))  # fewer than assignments
    assigned = (n + 1 for n in dots if n < last and tokens[n + 2].text in _ASSIGNMENTS)
    return [index for index in assigned if _REPEATING.match(tokens[index].text)]


def _repeated(tokens: Sequence[Token], index: int) -> Problem:
    message = f"'.{tokens[index].text}' names a component twice and cannot be assigned to"
    return Problem("M618", message, "name each component once on the left side", index)
