"""The texts of a report: every source that a finding or a launch comes from, under the name that findings use."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from metalloid.checker.checked_launches import Checked, CheckedLaunches
from metalloid.findings.homes import homes_of, written
from metalloid.findings.places import nearby


@dataclass(frozen=True)
class Text:
    """Lines, and which of them are a kernel's own: all of a Metal file, a part of a Python file."""

    name: str
    lines: Sequence[str]
    kernel: frozenset[int]
    start: int = 1  # where the first kernel that was launched begins


def texts(report: CheckedLaunches) -> dict[str, Text]:
    """By name, in the order of the report: files of findings, then those of launches without any."""
    launched: dict[str, Text] = {}
    for checked in report.launches:
        for text in _of(checked):
            old = launched.get(text.name)
            if old is not None:
                text = replace(text, kernel=old.kernel | text.kernel, start=min(old.start, text.start))
            launched[text.name] = text
    named = dict.fromkeys(f.location.file for f in report.findings if f.location)
    found = {name: launched.get(name) or Text(name, text_of(report, name), frozenset()) for name in named}
    return found | {name: text for name, text in launched.items() if name not in found}


def _of(checked: Checked) -> Iterator[Text]:
    source, signature = checked.case.kernel.source, checked.case.kernel.signature
    homes = homes_of(source)
    if not homes and source.text:
        lines = source.text.split("\n")
        yield Text(source.name, lines, _all(lines), max(1, signature.line))
    for name, home in homes.items():
        if not home.text.strip():
            continue
        file, at = written(home)
        known = [number for number in at if number]
        if known:
            own = frozenset(range(min(known), max(known) + 1))
            yield Text(nearby(file), _read(file), own, min(known))
        else:
            lines = home.text.split("\n")
            yield Text(f"{nearby(home.file)}:{home.line} ({name})", lines, _all(lines))


def text_of(report: CheckedLaunches, file: str) -> list[str]:
    """The lines of a file: what was compiled, else what is on disk."""
    for checked in report.launches:
        if lines := checked.case.texts.lines(file):
            return list(lines)
    return _read(file)


def _read(file: str) -> list[str]:
    return [line.rstrip("\n") for line in linecache.getlines(file)]


def _all(lines: Sequence[str]) -> frozenset[int]:
    return frozenset(range(1, len(lines) + 1))
