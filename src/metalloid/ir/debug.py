"""Where in the user's text an instruction comes from.

Metadata stays text in the model; this file reads the few nodes that hold
places, and follows `inlinedAt` outwards until it is in a file of the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

from metalloid.ir.module import GlobalVariable, Instruction, Module
from metalloid.location import Location, plain_name
from metalloid.patterns import pattern

__all__ = [
    "Location",
    "location",
    "locations",
    "plain_name",
    "unquoted",
    "variable_name",
    "written_by_user",
]

_FIELD = pattern(r'(\w+): (![0-9]+|"[^"]*"|-?\w+)')
_HEX = pattern(rb"\\([0-9A-Fa-f]{2}|\\)")
_INCLUDE = str(Path(__file__).parents[1] / "frontend" / "include")


@lru_cache(maxsize=65536)
def _fields(node: str) -> dict[str, str]:
    return {name: unquoted(value) for name, value in _FIELD.findall(node)}


def unquoted(value: str) -> str:
    """A field's value without its quotes; LLVM writes the bytes of what is not ASCII in hexadecimal."""
    text = value.strip('"')
    if "\\" not in text:
        return text
    raw = _HEX.sub(
        lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1], 16)]), text.encode(errors="surrogateescape")
    )
    return raw.decode(errors="surrogateescape")


def written_by_user(file: str) -> bool:
    """True unless the text is metalloid's: the Metal headers, and the entry that calls a kernel."""
    return not file.startswith((_INCLUDE, "<metalloid>"))


def locations(module: Module, instruction: Instruction) -> Iterator[Location]:
    """The places an instruction comes from: innermost first, then each caller it was inlined into."""
    node = instruction.debug
    while node:
        yield node_place(module, node)
        node = _fields(module.metadata[node]).get("inlinedAt", "")


def node_place(module: Module, node: str) -> Location:
    """The place that a DILocation names."""
    place = _fields(module.metadata[node])
    file, function = _scope(module, place.get("scope", ""))
    return Location(file, int(place.get("line", 0)), int(place.get("column", 0)), function)


def location(
    module: Module, instruction: Instruction, is_user: Callable[[str], bool] = written_by_user
) -> Location | None:
    """The innermost place in a file of the user's; a line that says something where there is one."""
    fallback = None
    for place in locations(module, instruction):
        if is_user(place.file):
            if place.line:
                return place
            fallback = fallback or place
    return fallback


def _scope(module: Module, node: str) -> tuple[str, str]:
    """The file of a scope, and the name of the function around it."""
    file = ""
    while node in module.metadata:
        text = module.metadata[node]
        fields = _fields(text)
        if not file and "file" in fields:
            file = _file(module, fields["file"])
        if "DISubprogram(" in text:
            return file, fields.get("name", "")
        node = fields.get("scope", "")
    return file, ""


def _file(module: Module, node: str) -> str:
    fields = _fields(module.metadata[node])
    name, directory = fields.get("filename", ""), fields.get("directory", "")
    return str(PurePosixPath(directory) / name) if directory else name


def variable_name(module: Module, variable: GlobalVariable) -> str:
    """What the user called a global; its own name where nothing says."""
    for kind, node in variable.metadata:
        if kind == "dbg" and node in module.metadata:
            described = _fields(module.metadata[node]).get("var", node)
            return _fields(module.metadata.get(described, "")).get("name", variable.name)
    return plain_name(variable.name)
