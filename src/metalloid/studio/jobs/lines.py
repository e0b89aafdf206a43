"""From a line of a generated text to the line of the source: by `!dbg` in LLVM IR, by `#line` in rewritten C++.

Code that was inlined is followed outwards until it is in the user's own text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_NODE = re.compile(r"^(![0-9]+) = (?:distinct )?(!.*)$", re.MULTILINE)
_DEBUG = re.compile(r"!dbg (![0-9]+)")
_FIELD = re.compile(r'(\w+): (![0-9]+|"[^"]*"|-?\w+)')
_MARKER = re.compile(r'^\s*#(?:line)?\s*([0-9]+)(?:\s+"([^"]*)")?')


def lines_of(stage: str, text: str, name: str) -> list[int]:
    """For each line of the text, the line of the source called `name`; 0 where there is none."""
    if stage == "metal":
        return list(range(1, text.count("\n") + 2))
    if stage == "rewritten":
        return _marked(text, name)
    return _debug(text, name) if stage.endswith("ll") else [0] * (text.count("\n") + 1)


def _marked(text: str, name: str) -> list[int]:
    made: list[int] = []
    file, number = "", 0
    for line in text.split("\n"):
        marker = _MARKER.match(line)
        if marker:
            number, file = int(marker[1]), marker[2] or file
            made.append(0)
        else:
            made.append(number if file == name else 0)
            number += 1
    return made


def _debug(text: str, name: str) -> list[int]:
    nodes = {number: dict(_FIELD.findall(node)) for number, node in _NODE.findall(text)}
    place = _places(nodes, name)
    made: list[int] = []
    for line in text.split("\n"):
        found = _DEBUG.search(line) if line.startswith((" ", "define")) else None
        made.append(place(found[1]) if found else 0)
    return made


def _places(nodes: Mapping[str, Mapping[str, str]], name: str) -> Callable[[str], int]:
    known: dict[str, int] = {}

    def file_of(node: str) -> str:
        while node in nodes:
            fields = nodes[node]
            if "file" in fields:
                return nodes.get(fields["file"], {}).get("filename", "").strip('"')
            node = fields.get("scope", "")
        return ""

    def place(node: str) -> int:
        if node not in known:
            fields = nodes.get(node, {})
            if "column" not in fields or "file" in fields:  # a function, not a place
                return 0
            line, file = int(fields.get("line", "0")), file_of(fields.get("scope", ""))
            inside = file == name or file.endswith(f"/{name}")
            outer = fields.get("inlinedAt", "")
            known[node] = line if inside and line else place(outer) if outer else 0
        return known[node]

    return place
