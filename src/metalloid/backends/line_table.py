"""Where lines of vector code come from, and machine code behind them; for people who read it, not for code that runs.

While a function is written, each instruction ends with a comment, `;@7`, or with metadata: the number of a place.
`comments` takes comments off again. For machine code `debug_info` makes debug information of them, whose line numbers
are the numbers of places, and `machine_code` reads LLVM's `.loc` lines back. Code that is to run has none of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.ir.lines import Lined
from metalloid.location import Location
from metalloid.patterns import pattern
from metalloid.records import dataclass, field

_MARK = pattern(r" ;@([0-9]+)$|, !mt\.place !([0-9]+)$")
_LOC = pattern(r"\s*\.loc\s+[0-9]+ ([0-9]+)")
# What debug information adds to assembly, beside `.loc`: notes about frames, files, labels.
_ADDED = pattern(r"\s*\.(cfi_|file\s+[0-9])|(\.L|\$L__)(tmp|func_begin)[0-9]+:|\$L__func_end[0-9]+:")
_DEBUG = pattern(r"\s*\.section\s+[\".]*(__DWARF|debug_)")
FIRST = 1000  # of the numbers of nodes: behind those that vector code has of its own


@dataclass
class LineTable:
    places: list[Location] = field(default_factory=list)
    _numbers: dict[Location, int] = field(default_factory=dict)

    def mark(self, place: Location | None) -> str:
        """The comment for instructions from a place."""
        if place is None or not place.line:
            return ""
        known = Location(place.file, place.line)
        if known not in self._numbers:
            self.places.append(known)
            self._numbers[known] = len(self.places)
        return f" ;@{self._numbers[known]}"

    def attached(self, place: Location | None) -> tuple[tuple[str, str], ...]:
        """The same as metadata of an instruction, the last of it."""
        mark = self.mark(place)
        return (("mt.place", f"!{mark.removeprefix(' ;@')}"),) if mark else ()

    def place(self, number: int) -> Location | None:
        return self.places[number - 1] if 0 < number <= len(self.places) else None

    def comments(self, text: str) -> Lined:
        """The text without its comments, and the place of each line."""
        lines, places = list[str](), list[Location | None]()
        for line in text.split("\n"):
            mark = _MARK.search(line)
            lines.append(line[: mark.start()] if mark else line)
            places.append(self.place(int(mark[1])) if mark else None)
        return Lined("\n".join(lines), tuple(places))

    def machine_code(self, text: str) -> Lined:
        """Assembly without what debug information added, and the place of each line."""
        lines, places = list[str](), list[Location | None]()
        now: Location | None = None
        for line in text.split("\n"):
            if _DEBUG.match(line):
                break
            if found := _LOC.match(line):
                now = self.place(int(found[1]))
            elif ".cfi_endproc" in line:
                now = None
            elif not _ADDED.match(line):
                instruction = line.startswith("\t") and not line.lstrip().startswith(".")
                lines.append(line)
                places.append(now if instruction else None)
        return Lined("\n".join(lines), tuple(places))


def debug_info(text: str) -> str:
    """Comments as debug information. A call in a function that has some needs a place, if only an unknown one."""
    nodes = list(_unit())
    scope = ""
    lines = list[str]()
    for line in text.split("\n"):
        mark = _MARK.search(line)
        if line.startswith("define ") and line.endswith(" {"):
            scope = f"!{FIRST + len(nodes)}"
            nodes.append(_subprogram(len(lines)))
            line = f"{line[:-2]} !dbg {scope} {{"
        elif scope and (mark or " call " in line):
            node = f"!{FIRST + len(nodes)}"
            number = (mark[1] or mark[2]) if mark else 0
            nodes.append(f"!DILocation(line: {number}, column: 1, scope: {scope})")
            line = f"{line[: mark.start()] if mark else line}, !dbg {node}"
        elif line == "}":
            scope = ""
        lines.append(line)
    made = (f"!{FIRST + n} = {node}" for n, node in enumerate(nodes))
    named = (f"!llvm.dbg.cu = !{{!{FIRST + 1}}}", f"!llvm.module.flags = !{{!{FIRST + 2}}}")
    return "\n".join([*lines, *named, *made]) + "\n"


def _unit() -> Iterator[str]:
    yield '!DIFile(filename: "places", directory: "")'
    kind = "emissionKind: DebugDirectivesOnly"
    yield f"distinct !DICompileUnit(language: DW_LANG_C11, file: !{FIRST}, isOptimized: true, {kind})"
    yield '!{i32 2, !"Debug Info Version", i32 3}'
    yield "!DISubroutineType(types: !{})"


def _subprogram(number: int) -> str:
    return (
        f'distinct !DISubprogram(name: "f{number}", scope: !{FIRST}, file: !{FIRST}, line: 1, type: !{FIRST + 3}, '
        f"spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !{FIRST + 1})"
    )
