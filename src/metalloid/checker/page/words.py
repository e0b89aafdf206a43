"""Small words of the page: counts, places, positions."""

from __future__ import annotations

import re
from html import escape
from pathlib import PurePath

from metalloid.backends.base import Launch, Triple
from metalloid.findings import Finding
from metalloid.ir.debug import Location


def counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def coded(text: str) -> str:
    """A text for the page, with what stands between backquotes as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(text))


def triple(position: Triple | None) -> str:
    return f"({', '.join(map(str, position))})" if position else ""


def where(location: Location | None) -> str:
    """The last part of a path is enough here: the source stands below, under its whole name."""
    if location is None:
        return ""
    column = f":{location.column}" if location.column else ""
    return f"{PurePath(location.file).name}:{location.line}{column}"


def place(finding: Finding) -> str:
    parts = [where(finding.location), finding.kernel]
    return ", ".join(part for part in parts if part)


def who(thread: Triple | None, threadgroup: Triple | None) -> str:
    parts = [f"thread {triple(thread)}"] if thread else []
    parts += [f"threadgroup {triple(threadgroup)}"] if threadgroup else []
    return ", ".join(parts)


def position(number: int, launch: Launch) -> tuple[Triple, Triple]:
    """The thread of this number, x fastest, and its threadgroup."""
    x, y, _ = launch.grid
    thread = number % x, number // x % y, number // (x * y)
    a, b, c = (p // t for p, t in zip(thread, launch.threadgroup, strict=True))
    return thread, (a, b, c)
