"""Where an inline kernel is written: the Python file and line behind a text that a program handed over as a string.

Compiled code knows lines of the text. A finding is told about the Python line they were written in, which is looked for
only when there is something to tell: in the literals of the file that made the kernel, and of the program's other
modules. A text that nobody wrote down (one that was put together) is told about by the line of the call.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from metalloid.errors import CompileError, Diagnostic
from metalloid.findings.finding import Finding
from metalloid.findings.places import nearby
from metalloid.location import Location
from metalloid.records import dataclass, replace
from metalloid.source import Source

_MOST_FILES = 400
_MOST, _ALL = (
    0.5,
    0.95,
)  # of a text's lines: in the file of the call, in another one, which may just have similar ones
Rows = Sequence[
    tuple[int, Callable[[str], bool], str]
]  # line, whether a text is what is written there, the text


@dataclass(frozen=True)
class Home:
    """The call that handed a text over, and the text."""

    file: str
    line: int
    text: str


Homes = Mapping[str, Home]  # by the name that the compiler knows a text by


def homes_of(source: Source) -> Homes:
    """The calls behind the texts of a source."""
    file, line = source.called
    return {name: Home(file, line, text) for name, text in source.written().items()}


def at_home(finding: Finding, homes: Homes) -> Finding:
    """A finding in the Python lines of its kernel; as it is where it has none."""
    if finding.location is None or finding.location.file not in homes:
        return finding
    location, excerpt = _moved(finding.location, finding.excerpt, homes)
    other = finding.other
    if other is not None and other.location is not None and other.location.file in homes:
        place, line = _moved(other.location, other.excerpt, homes)
        other = replace(other, location=place, excerpt=line)
    return replace(finding, location=location, excerpt=excerpt, other=other)


def home_of(location: Location, homes: Homes) -> Location:
    """A place in the Python lines of its kernel; as it is where it has none."""
    return _moved(location, "", homes)[0] if location.file in homes else location


def told_at_home(error: CompileError, source: Source) -> CompileError:
    """The same for a text that does not compile."""
    homes = homes_of(source)
    return CompileError([_told(d, homes) for d in error.diagnostics], error.note) if homes else error


def _told(said: Diagnostic, homes: Homes) -> Diagnostic:
    if said.file not in homes:
        return said
    place, excerpt = _moved(Location(said.file, said.line, said.column), said.excerpt, homes)
    return replace(said, file=place.file, line=place.line, column=place.column, excerpt=excerpt)


def _moved(location: Location, excerpt: str, homes: Homes) -> tuple[Location, str]:
    home = homes[location.file]
    file, lines = written(home)
    number = lines[location.line - 1] if 0 < location.line <= len(lines) else 0
    if not number:
        call = f"{nearby(home.file)}:{home.line} ({location.file})"
        return replace(location, file=call), excerpt
    line = linecache.getline(file, number).rstrip("\n")
    bare = excerpt.strip()
    if line.count(bare) != 1 or not bare:  # a field was filled in: what was compiled says more
        return replace(location, file=nearby(file), line=number), excerpt
    shift = line.find(bare) - (len(excerpt) - len(excerpt.lstrip()))
    column = location.column + shift if location.column else 0
    return replace(location, file=nearby(file), line=number, column=column), line


@lru_cache(maxsize=256)
def written(home: Home) -> tuple[str, tuple[int, ...]]:
    """The file that a text is written in, and the line of each of its lines; 0 where it is not known."""
    wanted = [line.strip() for line in home.text.split("\n")]
    for file in _files(home.file):
        own = file == home.file
        lines = _aligned(wanted, _rows(file), home.line if own else 0, _MOST if own else _ALL)
        if lines is not None:
            return file, lines
    return home.file, ()


def _files(first: str) -> list[str]:
    """The file of the call, and those of the program's modules beside it or below."""
    root = str(Path(first).parent)
    others = [getattr(module, "__file__", None) for module in tuple(sys.modules.values())]
    near = [f for f in others if f and f != first and f.startswith(root) and f.endswith(".py")]
    return [first, *near[:_MOST_FILES]]


def _rows(file: str) -> Rows:
    from metalloid.findings.literals import rows

    linecache.checkcache(file)  # it may have been edited since it was read
    return rows("".join(linecache.getlines(file)))


def _aligned(wanted: Sequence[str], rows: Rows, call: int, share: float) -> tuple[int, ...] | None:
    """The line of each line of a text, where this share of them is written in a file, one after the other."""
    visible = [n for n, text in enumerate(wanted) if len(text) > 1]  # a lone brace is anywhere
    if not visible:
        return None
    best: dict[int, int] = {}
    most = 0
    starts = [at for at, row in enumerate(rows) if row[1](wanted[visible[0]])]
    for start in sorted(starts, key=lambda at: abs(rows[at][0] - call)):
        found, at, score = dict[int, int](), start, 0
        for n in visible:
            match = next((k for k in range(at, len(rows)) if rows[k][1](wanted[n])), None)
            if match is not None:
                found[n], at = rows[match][0], match + 1
                score += 1 + (rows[match][2] == wanted[n])  # a field may stand for anything
        if score > most:
            best, most = found, score
    if len(best) < share * len(visible):
        return None
    return tuple(_between(n, best) for n in range(len(wanted)))


def _between(n: int, known: Mapping[int, int]) -> int:
    """The line of line `n`; of one that is not known itself, where the lines around it leave one place only."""
    if n in known:
        return known[n]
    before, after = [k for k in known if k < n], [k for k in known if k > n]
    if not before or not after:
        return 0
    first, last = max(before), min(after)
    return known[first] + n - first if known[last] - known[first] == last - first else 0
