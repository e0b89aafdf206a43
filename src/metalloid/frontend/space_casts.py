"""Casts between address spaces, which Metal refuses.

clang knows most of them by the types. What a thread has of its own is generic to it, and generic may be cast to any
space: the value would then be read where nothing was ever written. Tokens tell the plain cases: an array or the address
of a variable of the function itself, and a kernel's own pointers, cast to another space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metalloid.frontend.declarations import Declarations, Span
from metalloid.frontend.refuse import Problem
from metalloid.frontend.tokens import Token

_SPACES = frozenset(("device", "constant", "threadgroup"))
_ENDS = frozenset((";", "{", "}", "(", ")"))
_NO_TYPES = frozenset(("return", "else", "case", "goto", "using", "typedef", "struct", "class"))


def refused_casts(
    tokens: Sequence[Token], declarations: Declarations, spans: Sequence[Span]
) -> Iterator[Problem]:
    """In the given spans, which are whole items of the source."""
    for span in spans:
        own: frozenset[str] | None = None
        for index in range(span.first, span.last):
            if tokens[index].text != "(" or (end := _pointer_type(tokens, index, span.last)) is None:
                continue
            words = {t.text for t in tokens[index + 1 : end]}
            operand = end + 1
            taken = operand < span.last and tokens[operand].text == "&"
            name = operand + taken
            if name >= span.last or tokens[name].kind != "name":
                continue
            space = next(iter(words & {*_SPACES, "thread"}), "")
            if not space or not _whole(tokens, name):
                continue
            own = own if own is not None else frozenset(_own(tokens, span, True))
            mine = own if not taken else own | frozenset(_own(tokens, span, False))
            bound = "" if taken else _argument(tokens, declarations, name)
            if tokens[name].text in mine and space != "thread":
                yield _problem(tokens, index + 1, name, "the thread's own memory", space)
            elif bound and bound != space:
                yield _problem(tokens, index + 1, name, f"{bound} memory", space)


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
        words = {t.text for t in before}
        if (
            all(t.kind == "name" or t.text in ("::", "<", ">", ",") for t in before)
            and not words & (_SPACES | _NO_TYPES | {"auto"})
            and (before[-1].kind == "name" or before[-1].text == ">")
        ):
            yield token.text


def _argument(tokens: Sequence[Token], declarations: Declarations, name: int) -> str:
    """The space of a kernel's pointer of that name, where the kernel is around it."""
    for kernel in declarations.kernels:
        if kernel.span.first <= name < kernel.span.last:
            for argument in kernel.arguments:
                if argument.name == tokens[name].text and "*" in argument.words:
                    return next((word for word in argument.words if word in _SPACES), "")
    return ""
