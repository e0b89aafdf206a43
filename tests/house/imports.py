"""Which file imports which, and the circles among them.

Every import counts, also one that only a type checker sees or that stands inside a function: it too says that one
file cannot be understood without the other.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

Circle = frozenset[str]


@dataclass(frozen=True)
class File:
    """One Python file, by its module's name."""

    name: str
    path: Path
    tree: ast.Module
    lines: int

    @property
    def package(self) -> str:
        """Where its relative imports start."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


def files(package: Path) -> dict[str, File]:
    """All files of a package, by name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text(encoding="utf-8")
        found[name] = File(name, path, ast.parse(text), len(text.splitlines()))
    return found


def imports(found: Mapping[str, File]) -> dict[str, dict[str, int]]:
    """For each file the files it imports, each with the line of the first import."""
    graph: dict[str, dict[str, int]] = {}
    for name, file in found.items():
        graph[name] = {}
        for other, line in sorted(_imported(file, found), key=lambda item: item[1]):
            if other != name:
                graph[name].setdefault(other, line)
    return graph


def _imported(file: File, found: Mapping[str, File]) -> Iterator[tuple[str, int]]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name in found)
        elif isinstance(node, ast.ImportFrom):
            start = file.package.split(".")[: 1 - node.level or None] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            for alias in node.names:  # a submodule, or a name that the file itself has
                inner = f"{base}.{alias.name}"
                if inner in found or base in found:
                    yield (inner if inner in found else base), node.lineno


def circles(graph: Mapping[str, Mapping[str, int]]) -> list[Circle]:
    """Sets of files of which each leads to every other, over however many imports."""
    reached = {name: _reached(graph, name) for name in graph}
    found = {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in graph
        if name in reached[name]
    }
    return sorted(found, key=sorted)


def _reached(graph: Mapping[str, Mapping[str, int]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += graph[name]
    return seen


def shortest(graph: Mapping[str, Mapping[str, int]], circle: Circle) -> list[str]:
    """The shortest way round: the first name is the last as well."""
    return min((_around(graph, circle, name) for name in sorted(circle)), key=len)


def _around(graph: Mapping[str, Mapping[str, int]], circle: Circle, start: str) -> list[str]:
    ways = deque([[start]])
    seen: set[str] = set()
    while ways:
        way = ways.popleft()
        for name in graph[way[-1]]:
            if name == start:
                return [*way, start]
            if name in circle and name not in seen:
                seen.add(name)
                ways.append([*way, name])
    raise AssertionError(f"{start} is in no circle")
