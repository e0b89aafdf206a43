"""The lines of the front end's texts: Metal is itself, C++ has line markers, scalar IR has `!dbg`."""

from __future__ import annotations

import re

from metalloid.ir.lines import Lined, lined
from metalloid.location import Location

_MARKER = re.compile(r'^\s*#(?:line)?\s*([0-9]+)(?:\s+"([^"]*)")?')


def front(stage: str, text: str, name: str) -> Lined:
    """A text with the place of each of its lines; `name` is the source's."""
    if stage == "metal":
        return Lined(text, tuple(Location(name, n) for n in range(1, text.count("\n") + 2)))
    return Lined(text, _marked(text)) if stage == "rewritten" else lined(text)


def _marked(text: str) -> tuple[Location | None, ...]:
    made: list[Location | None] = []
    file, number = "", 0
    for line in text.split("\n"):
        marker = _MARKER.match(line)
        if marker:
            number, file = int(marker[1]), marker[2] or file
            made.append(None)
        else:
            made.append(Location(file, number) if file else None)
            number += 1
    return tuple(made)
