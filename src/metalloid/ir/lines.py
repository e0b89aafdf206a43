"""From the lines of a text of LLVM IR to places in the user's text, by `!dbg`.

Code that was inlined is followed outwards until it is in a file of the user's, as `ir.debug` does for instructions;
here the text is read as it stands, because people look at lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from metalloid.ir.debug import unquoted, written_by_user
from metalloid.location import Location
from metalloid.patterns import pattern
from metalloid.records import dataclass

_NODE = pattern(r"^(![0-9]+) = (?:distinct )?(!DI.*)$", re.MULTILINE)
_DEBUG = pattern(r"!dbg (![0-9]+)")
_FIELD = pattern(r'(\w+): (![0-9]+|"[^"]*"|-?\w+)')


@dataclass(frozen=True)
class Lined:
    """A text, and the place that each of its lines comes from."""

    text: str
    places: tuple[Location | None, ...]


def lined(text: str) -> Lined:
    """A text of LLVM IR; of another text no place is known."""
    nodes = {number: dict(_FIELD.findall(node)) for number, node in _NODE.findall(text)}
    place = _places(nodes)
    found = (_DEBUG.search(line) if line.startswith("  ") else None for line in text.split("\n"))
    return Lined(text, tuple(place(match[1]) if match else None for match in found))


def _places(nodes: Mapping[str, Mapping[str, str]]) -> Callable[[str], Location | None]:
    known: dict[str, Location | None] = {}

    def file_of(node: str) -> str:
        while node in nodes:
            fields = nodes[node]
            if "file" in fields:
                file = nodes.get(fields["file"], {})
                folder, name = (unquoted(file.get(part, "")) for part in ("directory", "filename"))
                return str(PurePosixPath(folder) / name) if folder else name
            node = fields.get("scope", "")
        return ""

    def place(node: str) -> Location | None:
        if node not in known:
            fields = nodes.get(node, {})
            line, file = int(fields.get("line", "0")), file_of(fields.get("scope", ""))
            own = Location(file, line) if line and file and written_by_user(file) else None
            known[node] = own or (place(fields["inlinedAt"]) if "inlinedAt" in fields else None)
        return known[node]

    return place
