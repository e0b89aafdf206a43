"""A preprocessed source, its tokens and what was found in them: where text came from, and what mentions what."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from metalloid.frontend.declarations import Declarations, Entry, Span
from metalloid.frontend.tokens import NAME, Token
from metalloid.frontend.words import WORD, Words
from metalloid.patterns import pattern
from metalloid.records import dataclass

_MARKER = pattern(r'^# (\d+) "((?:[^"\\]|\\.)*)".*\n', re.MULTILINE)
_NAME = pattern(r"[A-Za-z_]\w*")
KEPT = 8  # units, and what is worked out of each: sources take turns, and ggml's largest takes half a second


@dataclass(frozen=True, eq=False)
class Unit:
    """What is asked again for each kernel is worked out once."""

    text: str
    tokens: Sequence[Token]
    declarations: Declarations
    pairs: Mapping[int, int]  # index of each opening bracket -> index of its closing one
    words: Words
    front: int = 0  # how many tokens come from what is included, and are those of other kernels

    def place(self, token: int) -> tuple[str, int, int]:
        """File, line and column of a token, by the line markers in front of it."""
        return _placed(self.text, self.tokens[token].start, self._markers)

    @cached_property
    def _markers(self) -> list[tuple[int, str, int]]:
        return _markers(self.text)

    @cached_property
    def directives(self) -> list[int]:
        """Tokens that are line markers and pragmas."""
        return self.words.kind("directive")

    @cached_property
    def asked(self) -> list[int]:
        """The tokens `is_function_constant_defined`."""
        return self.words.places("is_function_constant_defined")

    def names(self, span: Span) -> set[str]:
        words = set(map(WORD, self.tokens[span.first : span.last]))  # few, many times each
        return {word for word in words if NAME.fullmatch(word)}

    @cached_property
    def _mentioned(self) -> Mapping[str, set[str]]:
        """What the items of a name mention."""
        found: dict[str, set[str]] = {}
        items = [(name, span) for name, spans in self.declarations.functions.items() for span in spans]
        items += [(kernel.name, kernel.span) for kernel in self.declarations.kernels]
        for name, span in items:
            found.setdefault(name, set()).update(self.names(span))
        return found

    @cached_property
    def parts(self) -> list[tuple[str, Span]]:
        """What can be left out where nothing mentions its name."""
        found = self.declarations
        return [*found.parts, *((kernel.name, kernel.span) for kernel in found.kernels)]

    @cached_property
    def mentioned_outside(self) -> set[str]:
        """The names in all that is no part, nor an instantiation."""
        left_out = [span for _, span in self.parts]
        left_out += [one.span for one in self.declarations.instantiations]
        found, here = set[str](), 0
        for span in sorted(left_out, key=lambda span: span.first):
            found |= self.names(Span(here, span.first))
            here = max(here, span.last)
        return found | self.names(Span(here, len(self.tokens)))

    def closure(self, names: Iterable[str]) -> frozenset[str]:
        """These names, and every name that is mentioned by what they name, and so on."""
        found: set[str] = set()
        todo = set(names)
        while todo:
            found |= todo
            todo = {more for name in todo for more in self._mentioned.get(name, ())} - found
        return frozenset(found)


def unescaped(name: str) -> str:
    """A file's name as a line marker writes it, as it is; clang writes the bytes of what is not ASCII in octal."""

    def meant(match: re.Match[bytes]) -> bytes:
        return bytes([int(match[1], 8)]) if len(match[1]) == 3 else match[1]

    written = name.encode(errors="surrogateescape")
    return re.sub(rb"\\([0-3][0-7]{2}|.)", meant, written).decode(errors="surrogateescape")


def place_of(text: str, offset: int) -> tuple[str, int, int]:
    """File, line and column by the line markers in a text."""
    return _placed(text, offset, _markers(text[:offset]))


def _markers(text: str) -> list[tuple[int, str, int]]:
    """(offset behind it, file, line) of each line marker."""
    return [(m.end(), unescaped(m[2]), int(m[1])) for m in _MARKER.finditer(text)]


def _placed(text: str, offset: int, markers: Sequence[tuple[int, str, int]]) -> tuple[str, int, int]:
    index = bisect_right(markers, offset, key=lambda marker: marker[0]) - 1
    here, file, line = markers[index] if index >= 0 else (0, "", 1)
    return file, line + text.count("\n", here, offset), offset - (text.rfind("\n", 0, offset) + 1) + 1


def entry_names(entry: Entry) -> list[str]:
    """What asking for a kernel mentions: its name, and those in its template arguments."""
    return [entry.kernel.name, *_NAME.findall(entry.expression)]


def reachable(unit: Unit, entry: Entry) -> frozenset[str]:
    """Every name that the kernel mentions, directly or through what it mentions."""
    return unit.closure(entry_names(entry))
