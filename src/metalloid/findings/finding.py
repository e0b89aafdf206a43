"""A finding, and how it is printed: as compilers print their diagnostics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metalloid.errors import WIDEST
from metalloid.location import Location
from metalloid.records import dataclass, field
from metalloid.rules.severities import ERROR, NOTE, WARNING, severity_of

Triple = tuple[int, int, int]
__all__ = ["ERROR", "NOTE", "WARNING", "Finding", "Side", "severity_of"]


@dataclass(frozen=True)
class Side:
    """Another place that has to do with it: the other access of a race, the `return` before a barrier."""

    what: str  # "write by", "read by": who follows
    location: Location | None = None
    thread: Triple | None = None
    threadgroup: Triple | None = None
    excerpt: str = ""

    def lines(self) -> list[str]:
        who = f" {_who(self.thread, self.threadgroup)}" if self.thread else ""
        place = f"{_place(self.location)} " if self.location else ""
        return [f"    {place}{self.what}{who}", *_shown(self.excerpt, self.location, "")]


@dataclass(frozen=True)
class Finding:
    """One mistake: which rule, where, by whom, and what to do about it."""

    rule: str  # "M201"
    message: str
    kernel: str = ""
    location: Location | None = None
    thread: Triple | None = None  # the first one, in the grid
    threadgroup: Triple | None = None
    buffer: str = ""  # the name of the memory
    hint: str = ""
    count: int = 1  # how often it happened, all threads together
    other: Side | None = None
    excerpt: str = ""  # the source line
    severity: str = ""  # what the rule says where nothing is given
    detail: Mapping[str, Any] = field(
        default_factory=dict, compare=False
    )  # for machines: offsets, sizes, values

    def __post_init__(self) -> None:
        if not self.severity:
            object.__setattr__(self, "severity", severity_of(self.rule))

    def text(self) -> str:
        """Place, rule, message; the line with a caret and who did it; the other place; the hint."""
        place = f"{_place(self.location)} " if self.location else f"[{self.kernel}] " if self.kernel else ""
        lines = [f"{place}{self.rule} {self.message}".strip()]
        who = _who(self.thread, self.threadgroup) if self.thread else ""
        if self.count > 1:
            who += f"{', ' if who else ''}{self.count} times in all"
        shown = _shown(self.excerpt, self.location, who)
        lines += shown if shown or not who else [f"    {who}"]
        if self.other is not None:
            lines += self.other.lines()
        if during := self.detail.get("during"):
            lines.append(f"    in {during}")
        if also := self.detail.get("also"):
            lines.append(f"    the same with {', '.join(map(repr, also))}")
        if self.hint:
            lines += [
                f"    {'hint: ' if n == 0 else ''}{part}" for n, part in enumerate(self.hint.split("\n"))
            ]
        return "\n".join(lines)

    def json(self) -> dict[str, Any]:
        """The same as plain data."""
        made: dict[str, Any] = {
            "rule": self.rule,
            "severity": self.severity,
            "message": self.message,
            "kernel": self.kernel,
            "location": _location(self.location),
            "thread": list(self.thread) if self.thread else None,
            "threadgroup": list(self.threadgroup) if self.threadgroup else None,
            "buffer": self.buffer,
            "hint": self.hint,
            "count": self.count,
            "excerpt": self.excerpt.strip(),
        }
        if during := self.detail.get("during"):
            made["during"] = during
        if self.other is not None:
            made["other"] = {
                "what": self.other.what,
                "location": _location(self.other.location),
                "thread": list(self.other.thread) if self.other.thread else None,
                "threadgroup": list(self.other.threadgroup) if self.other.threadgroup else None,
                "excerpt": self.other.excerpt.strip(),
            }
        return made

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        place = f" at {_place(self.location)}" if self.location else ":"
        return f"<{self.severity} {self.rule}{place} {self.message}>"


def _place(location: Location | None) -> str:
    if location is None:
        return ""
    return ":".join(str(part) for part in (location.file, location.line, location.column) if part) + ":"


def _location(location: Location | None) -> dict[str, Any] | None:
    if location is None:
        return None
    return {"file": location.file, "line": location.line, "column": location.column}


def _who(thread: Triple | None, threadgroup: Triple | None) -> str:
    parts = [f"thread {_triple(thread)}"] if thread else []
    parts += [f"threadgroup {_triple(threadgroup)}"] if threadgroup else []
    return ", ".join(parts)


def _triple(position: Triple) -> str:
    return f"({','.join(map(str, position))})"


def _shown(excerpt: str, location: Location | None, who: str) -> list[str]:
    """The line without its indentation, and a caret under the place in it."""
    text = excerpt.strip()
    if not text:
        return []
    column = location.column if location else 0
    if not column and not who and len(text) <= WIDEST:  # the whole line is meant
        return [f"    {text}"]
    at = column - 1 - (len(excerpt) - len(excerpt.lstrip()))
    if not 0 <= at <= len(text):  # a macro, or code that the compiler moved
        at = 0
    if len(text) > WIDEST:
        first = max(0, min(at - WIDEST // 2, len(text) - WIDEST))
        text, at = f"...{text[first : first + WIDEST]}...", at - first + 3
    indent = "".join("\t" if c == "\t" else " " for c in text[:at])
    return [f"    {text}", f"    {indent}^ {who}".rstrip()]
