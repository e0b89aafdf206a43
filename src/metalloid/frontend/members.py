"""What the compiler does not tell about the members of a struct: their address space and their `[[id(n)]]`.

Device and constant memory are one space to it, and the attribute is gone before it looks. Both stand in the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from metalloid.frontend.unit import Unit
from metalloid.patterns import pattern
from metalloid.records import dataclass, replace
from metalloid.types import Array, Pointer, Type

_SPACES = frozenset(("device", "constant", "threadgroup", "thread"))
_MARKER = pattern(r'^#\s*(?:line\s+)?(\d+)\s+"')
_AFTER_A_NAME = frozenset((";", ",", "[", "[[", "="))

Members = Mapping[tuple[str, int], "Member"]  # by name and line


@dataclass(frozen=True)
class Member:
    space: str = "device"
    id: int | None = None

    def pointer(self, type: Type) -> Type:
        """The type with the space in its pointers."""
        match type:
            case Pointer():
                return replace(type, space=self.space)
            case Array():
                return replace(type, element=self.pointer(type.element))
        return type


def members(unit: Unit) -> Members:
    """Everything that is declared like a member and says more than the compiler keeps."""
    found: dict[tuple[str, int], Member] = {}
    tokens = unit.tokens
    line, here, start = 1, 0, 0
    for index, token in enumerate(tokens):
        line += unit.text.count("\n", here, token.start)
        here = token.start
        if token.kind == "directive" and (marker := _MARKER.match(token.text)):
            line = int(marker[1]) - 1  # the marker's own line end is still to come
        elif token.text in (";", "{", "}"):
            start = index + 1
        elif token.kind == "name" and index + 1 < len(tokens) and tokens[index + 1].text in _AFTER_A_NAME:
            space = next((t.text for t in tokens[start:index] if t.text in _SPACES), "device")
            end = next((i for i in range(index + 1, len(tokens)) if tokens[i].text in (";", "{")), index)
            written = "".join(t.text for t in tokens[index + 1 : end])
            number = re.search(r"\[\[[^\]]*\bid\((\d+)\)", written)
            if space != "device" or number:
                found[token.text, line] = Member(space, int(number[1]) if number else None)
    return found
