"""The Metal in a file: all of a `.metal` file, and the strings of a Python file that become kernels.

While Python is being typed it often cannot be read. Then the places of the last text that could be are used.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from metalloid.forms.inline import find
from metalloid.forms.reading.traced import lines_of

PYTHON = (".py", ".pyi")


@dataclass(frozen=True)
class Region:
    """Lines of a file that are one Metal text; 1-based, both ends included."""

    first: int
    last: int
    site: int = 0  # the line of the Python call that takes it

    def __contains__(self, line: object) -> bool:
        return isinstance(line, int) and self.first <= line <= self.last


@dataclass
class Regions:
    """Where the Metal of each open file is."""

    known: dict[str, tuple[Region, ...]] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)

    def of(self, path: str, text: str) -> tuple[Region, ...]:
        if not path.endswith(PYTHON):
            return (Region(1, text.count("\n") + 1),)
        if self._texts.get(path) != text:
            self._texts[path] = text
            try:
                self.known[path] = inline_regions(text)
            except (SyntaxError, ValueError, RecursionError):
                self.known.setdefault(path, ())
        return self.known[path]

    def at(self, path: str, text: str, line: int) -> Region | None:
        """The one that a line is in."""
        return next((region for region in self.of(path, text) if line in region), None)

    def forget(self, path: str) -> None:
        for table in (self.known, self._texts):
            if isinstance(table, dict):
                table.pop(path, None)


def inline_regions(text: str) -> tuple[Region, ...]:
    """Of a Python text; raises SyntaxError where it is none."""
    found: dict[tuple[int, int], Region] = {}
    for kernel in find(text).kernels:
        for written in kernel.written:
            lines = [line for line in lines_of(written) if line]
            if lines:
                region = Region(min(lines), max(lines), kernel.site)
                found.setdefault((region.first, region.last), region)
    return tuple(sorted(found.values(), key=lambda region: region.last - region.first))


def part(text: str, region: Region) -> str:
    """The text with everything outside a region blank, so that places in it stay as they are."""
    lines = text.split("\n")
    return "\n".join(line if n in region else "" for n, line in enumerate(lines, 1))
