"""Which items of a source can be left out where nothing mentions their name.

Not what C++ finds without its name (operators, specialisations, enumerators, what is added to the library's own
namespace), nor what declares more than one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metalloid.frontend.declarations import Span
from metalloid.frontend.scan.arguments import arguments_of
from metalloid.frontend.scan.brackets import Brackets
from metalloid.frontend.tokens import OPENERS

_LIBRARY = "metal"
_CLASSES = frozenset(("struct", "class", "union"))


# Words of parameters whose functions only a call that names them can find.
_SCALARS = frozenset(
    """bool char uchar short ushort int uint long ulong half float bfloat size_t int8_t uint8_t int16_t uint16_t int32_t
    uint32_t int64_t uint64_t const unsigned signed""".split()
)


def function_part(
    code: Brackets, head: Span, name: int, scope: tuple[str, ...], items: Mapping[str, Sequence[Span]]
) -> bool:
    """A function, neither an operator nor a method, which a class has declared; `head` ends at its parameters.

    In the library's namespace, where MLX adds functions for its bfloat, the header's own templates find a function
    without its name where a parameter is a class.
    """
    words = {code.text(index) for index in range(head.first, name)}
    if "operator" in words or code.text(name - 1) in ("::", "~"):
        return False
    return _LIBRARY not in scope or ("template" not in words and _takes_scalars(code, head.last, items))


def _takes_scalars(code: Brackets, parameters: int, items: Mapping[str, Sequence[Span]]) -> bool:
    def scalar(word: str) -> bool:
        spans = items.get(word, ())
        named = [{code.text(i) for i in range(span.first, span.last)} for span in spans]
        return word in _SCALARS or (
            bool(named) and all(words <= {*_SCALARS, "typedef", word, ";"} for words in named)
        )

    return all(scalar(word) for one in arguments_of(code, parameters) for word in one.words[:-1])


def class_part(code: Brackets, start: int, brace: int, end: int, scope: tuple[str, ...]) -> bool:
    """`struct name ... { ... };`, no specialisation and no variable behind it."""
    name = next((i for i in range(start, brace) if code.text(i) in _CLASSES), brace) + 1
    words = [code.text(index) for index in range(start, brace)]
    return (
        _LIBRARY not in scope
        and code.text(start) in _CLASSES
        and code.tokens[name].kind == "name"
        and code.text(name + 1) in ("{", ":", "final")
        and "enum" not in words
        and code.pairs.get(brace, end) + 2 == end
    )


def variable_part(code: Brackets, first: int, name: int, end: int, scope: tuple[str, ...]) -> bool:
    """`typedef T name;`, `using name = T;`, `constant T name = ...;`: one name each, no specialisation."""
    here = code.after_template(first)
    words = [code.text(index) for index in range(here, min(here + 4, end))]
    alias = words[0] == "using" and words[2:3] == ["="]
    known = alias or words[0] == "typedef" or "constant" in words
    alone = code.text(name + 1) in ("=", ";", "[", "{") and not _declares_several(code, here, end)
    return known and alone and _LIBRARY not in scope


def _declares_several(code: Brackets, first: int, end: int) -> bool:
    here = first
    while here < end:
        text = code.text(here)
        if text == ",":
            return True
        if text in OPENERS:
            here = code.pairs.get(here, here)
        elif text == "<":
            here = max(code.after_angles(here) - 1, here)
        here += 1
    return False
