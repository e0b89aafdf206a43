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
# Nearly all nodes are places; the rest is read field by field.
_PLACE = pattern(
    r"(?:distinct )?!DILocation\(line: (\d+)(?:, column: (\d+))?, scope: (![0-9]+)(?:, inlinedAt: (![0-9]+))?\)"
)
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
        line, column, scope, node = _place(module.metadata[node])
        yield Location(*_around(module, scope, line, column))


def node_place(module: Module, node: str) -> Location:
    """The place that a DILocation names."""
    line, column, scope, _ = _place(module.metadata[node])
    return Location(*_around(module, scope, line, column))


def _place(node: str) -> tuple[int, int, str, str]:
    """Line, column and scope of a DILocation, and where that was inlined."""
    if found := _PLACE.fullmatch(node):
        return int(found[1]), int(found[2] or 0), found[3], found[4] or ""
    fields = _fields(node)
    line, column = (int(fields.get(name, 0)) for name in ("line", "column"))
    return line, column, fields.get("scope", ""), fields.get("inlinedAt", "")


def _around(module: Module, scope: str, line: int, column: int) -> tuple[str, int, int, str]:
    """What makes a Location, with the file and the function of a scope, which are looked for once."""
    if scope not in module.scopes:
        module.scopes[scope] = _scope(module, scope)
    file, function = module.scopes[scope]
    return file, line, column, function


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
