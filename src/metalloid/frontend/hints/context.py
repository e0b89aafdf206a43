"""What is known about the user's kernel when a diagnostic is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Literal

from metalloid.errors import Diagnostic

_NAME = re.compile(r"[A-Za-z_]\w*")
# A name after a type or a `#define`: good enough for suggestions.
_DECLARED = re.compile(
    r"(?:[\w>\]]\s+|[\w>\]]\s*[*&]+\s*)([A-Za-z_]\w*)\s*(?=[=;,:\[({)])|#\s*define\s+(\w+)"
)
_DEFINE = r"^[ \t]*#[ \t]*define[ \t]+{name}\b((?:[^\\\n]|\\\r?\n|\\.)*)"
_MOST_NAMES = 5_000


@dataclass(frozen=True)
class Macro:
    """A `#define` of the user: its name, and all that follows the name."""

    name: str
    body: str


@dataclass(frozen=True)
class Known:
    """A parameter of the kernel."""

    name: str
    type: str  # as written: "uint", "const device float*"
    attribute: str = ""  # "thread_position_in_grid", where it is a builtin


@dataclass(frozen=True)
class Context:
    """The user's texts and names; `form` says how the kernel was given."""

    source: Mapping[str, str] = field(default_factory=dict)  # file -> text
    names: frozenset[str] = frozenset()  # declared identifiers, for suggestions
    parameters: tuple[Known, ...] = ()
    form: Literal["metal", "mlx"] = "metal"

    def lines(self, file: str) -> list[str]:
        return self.source.get(file, "").split("\n")

    def line(self, file: str, number: int) -> str:
        lines = self.lines(file)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def word_at(self, diagnostic: Diagnostic) -> str:
        """The identifier that the diagnostic points at."""
        match = _NAME.match(self.line(diagnostic.file, diagnostic.line), max(0, diagnostic.column - 1))
        return match.group() if match else ""

    def word_before(self, diagnostic: Diagnostic) -> str:
        """The identifier that ends where the diagnostic points."""
        match = re.search(
            r"([A-Za-z_]\w*)\s*$", self.line(diagnostic.file, diagnostic.line)[: diagnostic.column - 1]
        )
        return match.group(1) if match else ""

    def macro_at(self, diagnostic: Diagnostic) -> Macro | None:
        """The user's macro whose use the diagnostic points at."""
        return self.macro(self.word_at(diagnostic))

    def macro(self, name: str) -> Macro | None:
        pattern = re.compile(_DEFINE.format(name=re.escape(name)), re.MULTILINE)
        found = (pattern.search(text) for text in self.source.values()) if name else ()
        return next((Macro(name, match[1]) for match in found if match), None)

    def parameter(self, name: str) -> Known | None:
        return next((p for p in self.parameters if p.name == name), None)

    @cached_property
    def candidates(self) -> frozenset[str]:
        """Names worth suggesting: what is declared, or, where nobody said, what looks declared."""
        known = {p.name for p in self.parameters} | self.names
        if not self.names:
            found = (
                match[1] or match[2] for text in self.source.values() for match in _DECLARED.finditer(text)
            )
            known |= set(islice((name for name in found if not name.startswith("__")), _MOST_NAMES))
        return frozenset(known)


# Gives the better diagnostic, or None where it is not the mistake it looked like.
Recogniser = Callable[[re.Match[str], Diagnostic, Context, Sequence[Diagnostic]], Diagnostic | None]
Table = tuple[tuple[re.Pattern[str], Recogniser], ...]
