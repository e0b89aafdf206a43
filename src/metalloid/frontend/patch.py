"""Mend what Metal allows and clang refuses, from the places clang names.

- A cast between half and bfloat goes through float.
- `c ? device_value : value` copies both sides, since they lie in different address spaces.
- `v.xy * s` in a template calls the swizzle's function: clang forgets there that a property has a value.
- `v.xyz.xy = w` and `v.yz[i] = s` store to the vector, not to the swizzle (swizzle_parts.py).
- A text lies in constant memory: `constant char* s = "abc"`.
- A bit-field has no address: what is assigned to it by an operator stays as it was written (operators.py).
- A threadgroup variable of a class with a constructor is not constructed; it starts as whatever it is.

The error names the operands, so they can be wrapped and the source compiled again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from metalloid.frontend import swizzle_parts
from metalloid.frontend.rewritten import Edit, Rewritten
from metalloid.frontend.tokens import OPENERS, Token, pair_brackets, tokenize
from metalloid.patterns import pattern

_RANGE = r"\{(\d+):(\d+)-(\d+):(\d+)\}"
_CAST = pattern(
    rf"^.*?:\d+:\d+:(?:\{{[^}}]*\}})*{_RANGE}: error: "
    r"(?:static_cast|C-style cast|functional-style cast) from (?P<types>.*) is not allowed$",
    re.MULTILINE,
)
_CONDITIONAL = pattern(rf"^.*?:\d+:\d+:{_RANGE}{_RANGE}: error: incompatible operand types", re.MULTILINE)
_OPERATOR = pattern(
    rf"^.*?:\d+:\d+:({_RANGE})+: error: invalid (?:operands to binary|argument type .* to unary) expression",
    re.MULTILINE,
)
# The second half may stand in the note that says why no function fits.
_TEXT = pattern(
    rf"^.*?:\d+:\d+:({_RANGE})+: error: (?:cannot init|assigning|no matching)(?:(?!: error: )[\s\S])*?"
    r"(?:'const __global_device char \*.*'const char[ \[]|'const char[ \[].*'const __global_device char \*)",
    re.MULTILINE,
)
_CONSTRUCTED = pattern(r"^.*?: error: variable with 'loader_uninitialized' attribute must", re.MULTILINE)
_BIT_FIELD = pattern(
    rf"^.*?:\d+:\d+:{_RANGE}: error: non-const reference cannot bind to bit-field", re.MULTILINE
)
_SWIZZLE = pattern(r"^(?:[xyzw]{1,4}|[rgba]{1,4})$")
_COLOURS = str.maketrans("rgba", "xyzw")
_ASSIGNMENTS = frozenset(
    ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", "++", "--", ".", "->", "(", "[")
)

Position = tuple[int, int]  # line and column, from 1, of what clang was given


def mend(messages: str, rewritten: Rewritten, lines_before: int) -> Rewritten | None:
    """The source with every known refusal mended; None where there is none.

    Ranges count lines of what clang was given, which has `lines_before` in front of the source.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", rewritten.text))]
    edits: set[Edit] = set()
    for wrapper, first, last in _operands(messages):
        lines = (first[0] - lines_before - 1, last[0] - lines_before - 1)
        if all(0 <= line < len(starts) for line in lines):
            opening = rewritten.original_offset(starts[lines[0]] + first[1] - 1)
            closing = rewritten.original_offset(starts[lines[1]] + last[1] - 1)
            edits |= {Edit(opening, opening, f"{wrapper}("), Edit(closing, closing, ")")}
    edits |= set(_called_swizzles(messages, rewritten, starts, lines_before))
    edits |= set(swizzle_parts.stores(messages, rewritten))
    edits |= set(_constant_texts(messages, rewritten, starts, lines_before))
    fresh = edits - set(rewritten.edits)
    if unguarded := _bit_fields(messages, rewritten, starts, lines_before):
        return rewritten.unguarded(unguarded)
    if _CONSTRUCTED.search(messages):
        return rewritten.replacing(", loader_uninitialized", "")
    return rewritten.with_edits(sorted(fresh, key=lambda e: e.start)) if fresh else None


def _bit_fields(messages: str, rewritten: Rewritten, starts: list[int], lines_before: int) -> set[Edit]:
    """The guards behind bit-fields."""
    found: set[Edit] = set()
    for match in _BIT_FIELD.finditer(messages):
        line = int(match[3]) - lines_before - 1
        if 0 <= line < len(starts):
            end = rewritten.original_offset(starts[line] + int(match[4]) - 1)
            found |= set([edit for edit in rewritten.guards if edit.start >= end][:1])
    return found


def _called_swizzles(
    messages: str, rewritten: Rewritten, starts: list[int], lines_before: int
) -> Iterator[Edit]:
    """`v.xy` becomes `v.__get_xy()` on the lines of the errors, but where it is assigned to."""
    for match in _OPERATOR.finditer(messages):
        offset, tokens = _tokens_at(match[0], rewritten, starts, lines_before)
        for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
            if before.text in (".", "->") and _SWIZZLE.match(token.text) and after.text not in _ASSIGNMENTS:
                start = rewritten.original_offset(offset + token.start)
                name = token.text.translate(_COLOURS)
                yield Edit(start, start + len(token.text), name if len(name) == 1 else f"__get_{name}()")


def _constant_texts(
    messages: str, rewritten: Rewritten, starts: list[int], lines_before: int
) -> Iterator[Edit]:
    """`"abc"` becomes `((constant char*)"abc")` on the lines of the errors."""
    for match in _TEXT.finditer(messages):
        offset, tokens = _tokens_at(match[0].partition(": error: ")[0], rewritten, starts, lines_before)
        texts = [False, *(token.text.startswith('"') for token in tokens), False]  # "de" "f" are one
        for before, token, is_text, after in zip(texts, tokens, texts[1:], texts[2:], strict=False):
            if is_text and not before:
                start = rewritten.original_offset(offset + token.start)
                yield Edit(start, start, "((constant char*)")
            if is_text and not after:
                end = rewritten.original_offset(offset + token.end)
                yield Edit(end, end, ")")


def _tokens_at(
    message: str, rewritten: Rewritten, starts: list[int], lines_before: int
) -> tuple[int, list[Token]]:
    """The tokens of the lines that a message is about, and where the first of these lines starts."""
    numbers = [int(line) - lines_before - 1 for line in re.findall(r"[{-](\d+):", message)]
    first, last = min(numbers), max(numbers)
    if not 0 <= first <= last < len(starts):
        return 0, []
    end = starts[last + 1] if last + 1 < len(starts) else len(rewritten.text)
    return starts[first], tokenize(rewritten.text[starts[first] : end])


def _operands(messages: str) -> Iterator[tuple[str, Position, Position]]:
    """What to wrap with which function."""
    for match in _CAST.finditer(messages):
        if "_Float16" in match["types"] and "__bf16" in match["types"]:
            numbers = [int(n) for n in match.groups()[:4]]
            yield "__mt::widened", (numbers[0], numbers[1]), (numbers[2], numbers[3])
    for match in _CONDITIONAL.finditer(messages):
        numbers = [int(n) for n in match.groups()[:8]]
        for i in (0, 4):
            yield "__mt::copied", (numbers[i], numbers[i + 1]), (numbers[i + 2], numbers[i + 3])


def copy_conditionals(rewritten: Rewritten, place: tuple[str, int]) -> Rewritten | None:
    """Copy both sides of every `?:` on a line whose pointer could not be resolved to one space."""
    from metalloid.frontend.diagnose import Preimage

    edits: list[Edit] = []
    for offset, line in Preimage(rewritten).lines(*place):
        tokens = tokenize(line)
        for first, last in _conditional_sides(tokens):
            opening = rewritten.original_offset(offset + tokens[first].start)
            closing = rewritten.original_offset(offset + tokens[last - 1].end)
            edits += [Edit(opening, opening, "__mt::copied("), Edit(closing, closing, ")")]
    fresh = [e for e in edits if e not in rewritten.edits]
    return rewritten.with_edits(fresh) if fresh else None


def _conditional_sides(tokens: list[Token]) -> Iterator[tuple[int, int]]:
    """Token ranges of the two sides of each `?:` that ends on the line."""
    pairs = pair_brackets(tokens)
    for question in (i for i, t in enumerate(tokens) if t.text == "?"):
        here, colon = question + 1, 0
        while here < len(tokens) and tokens[here].text not in (";", ",", ")", "]", "}"):
            if tokens[here].text == ":" and not colon:
                colon = here
            here = pairs.get(here, here) + 1 if tokens[here].text in OPENERS else here + 1
        if colon and here < len(tokens):
            yield question + 1, colon
            yield colon + 1, here
