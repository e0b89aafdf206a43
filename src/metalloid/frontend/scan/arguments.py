"""The parameters of a function and the attributes in `[[...]]`, as they are written."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from metalloid.frontend.declarations import Argument, Span
from metalloid.frontend.scan.brackets import Brackets
from metalloid.frontend.tokens import OPENERS, Token


def attributes_of(code: Brackets, first: int, last: int) -> Mapping[str, str]:
    """All `[[name(argument)]]` between two tokens, strings evaluated."""
    found: dict[str, str] = {}
    here = first
    for opening in code.between("[[", first, last):
        if opening >= here:
            here = code.pairs.get(opening, opening)
            found.update(_attribute_list(code, opening + 1, here))
    return found


def _attribute_list(code: Brackets, first: int, last: int) -> Mapping[str, str]:
    found: dict[str, str] = {}
    here = first
    while here < last:
        if code.tokens[here].kind == "name":
            name, argument = code.text(here), ""
            if code.text(here + 1) == "(":
                close = code.pairs.get(here + 1, here + 1)
                argument = _join(code.tokens[here + 2 : close])
                here = close
            found[name] = argument
        here += 1
    return found


def in_attribute(code: Brackets, index: int, start: int) -> bool:
    """Inside `[[...]]` or `__attribute__((...))`."""
    here = start
    while here <= index:
        opening = here + 1 if code.text(here) == "__attribute__" else here
        if code.text(here) in ("[[", "__attribute__"):
            close = code.pairs.get(opening, opening)
            if here <= index <= close:
                return True
            here = close
        here += 1
    return False


def arguments_of(code: Brackets, opening: int) -> tuple[Argument, ...]:
    """The parameters behind a `(`."""
    close = code.pairs.get(opening, opening)
    found: list[Argument] = []
    here = start = opening + 1
    while here <= close:
        text = code.text(here)
        if here == close or text == ",":
            if here > start and [code.text(i) for i in range(start, here)] != ["void"]:
                found.append(_argument(code, start, here))
            start = here + 1
        elif text == "<":
            here = max(code.after_angles(here) - 1, here)
        elif text in OPENERS:
            here = code.pairs.get(here, here)
        here += 1
    return tuple(found)


def _argument(code: Brackets, first: int, last: int) -> Argument:
    words: list[str] = []
    name_index, here = first, first
    while here < last:
        text = code.text(here)
        if text == "[[":
            here = code.pairs.get(here, here)
        elif text == "=":
            break
        else:
            if code.tokens[here].kind == "name" and "[" not in words:
                name_index = here
            words.append(text)
        here += 1
    return Argument(
        code.text(name_index), Span(first, last), attributes_of(code, first, last), tuple(words), name_index
    )


def _join(tokens: Sequence[Token]) -> str:
    """The text of an attribute's argument; neighbouring string literals become one string."""
    if tokens and all(t.kind == "string" for t in tokens):
        return "".join(str(ast.literal_eval(t.text)) for t in tokens)
    return " ".join(t.text for t in tokens)
