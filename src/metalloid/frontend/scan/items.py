"""Where one declaration ends, and what it is: read off its brackets and the words in front of them."""

from __future__ import annotations

from metalloid.frontend.scan.brackets import Brackets
from metalloid.frontend.tokens import OPENERS

_NOT_PARAMETERS = frozenset(
    ("alignas", "__attribute__", "decltype", "__declspec", "sizeof", "noexcept", "__asm__")
)


def head_words(code: Brackets, first: int, last: int) -> list[str]:
    """The words in front of the first bracket, `;` or `=`."""
    words: list[str] = []
    here = code.after_template(first)
    if here != first:
        words.append("template<>")
    while here < last and code.text(here) not in (";", "{", "(", "="):
        if code.text(here) == "[[":
            here = code.pairs.get(here, here)
        else:
            words.append(code.text(here))
        here += 1
    return words


def extent(code: Brackets, first: int, last: int) -> tuple[int, int | None]:
    """(index after the item, index of its body's `{` or None)."""
    here = code.after_template(first)
    initialised = constructor = False
    while here < last:
        text = code.text(here)
        if text == ";":
            return here + 1, None
        if text == "}":
            return here, None
        if text == "=" and code.text(here - 1) != "operator":
            initialised = True
        if text == ":" and code.text(here - 1) == ")":
            constructor = True
        if text == "{":
            close = code.pairs.get(here, last - 1)
            previous = code.tokens[here - 1]
            member = constructor and (previous.kind == "name" or previous.text == ">")
            if not initialised and not member:
                after = close + 1
                if _is_type(code, first, here):  # struct { ... } name;
                    while after < last and code.text(after) not in (";", "{", "}"):
                        after += 1
                    return min(after + 1, last), here
                return after, here
            here = close
        elif text in OPENERS:
            here = code.pairs.get(here, here)
        here += 1
    return last, None


def _is_type(code: Brackets, first: int, brace: int) -> bool:
    """Whether the body at `brace` is that of a type."""
    start = code.after_template(first)
    keywords = {code.text(i) for i in range(start, brace)}
    return (
        bool(keywords & {"struct", "class", "union", "enum"}) and parameter_list(code, start, brace) is None
    )


def parameter_list(code: Brackets, first: int, last: int) -> int | None:
    """Index of the `(` that opens a function's parameters, or None."""
    here = first
    while here < last:
        text = code.text(here)
        if text in ("=", ";") and code.text(here - 1) != "operator":
            return None
        if text == "(":
            if code.text(here - 1) not in _NOT_PARAMETERS:
                if code.text(here - 1) == "operator":  # operator()(...)
                    return code.pairs.get(here, here) + 1
                return here
            here = code.pairs.get(here, here)
        elif text in ("[", "[["):
            here = code.pairs.get(here, here)
        elif text == "<" and code.tokens[here - 1].kind == "name":
            after = code.after_angles(here)
            here = max(after - 1, here)
        here += 1
    return None


def type_name(code: Brackets, start: int, brace: int) -> str:
    """The name of the struct, class, union or enum whose body opens at `brace`."""
    names = [i for i in range(start, brace) if code.tokens[i].kind == "name"]
    for i in names:
        if code.text(i) in ("struct", "class", "union", "enum"):
            following = [j for j in names if j > i and code.text(j) not in ("class", "alignas", "packed")]
            return code.text(following[0]) if following else ""
    return ""


def starts_statement(code: Brackets, here: int) -> bool:
    """Whether nothing but specifiers stands between a token and the end of the statement before it."""
    previous = here - 1
    while True:
        text = code.text(previous)
        if text == "]]":
            previous = code.opener(previous) - 1
        elif text == ")" and code.text(code.opener(previous) - 1) == "alignas":
            previous = code.opener(previous) - 2
        elif text in ("const", "constexpr", "volatile"):
            previous -= 1
        else:
            return text in ("{", "}", ";", ":") or code.tokens[previous].kind == "directive"


def declares_variable(code: Brackets, here: int, last: int) -> bool:
    """`threadgroup T x[n];`, not `threadgroup T* p = ...;`"""
    here += 1
    while here < last:
        text = code.text(here)
        if text in ("*", "&"):
            return False
        if text in ("alignas", "__attribute__"):
            here = code.pairs.get(here + 1, here) + 1
            continue
        if text in (";", "=", "[", ",", "(", "{"):
            return text != "("
        if text == "<":
            here = max(code.after_angles(here) - 1, here)
        here += 1
    return False
