"""Everything metalloid raises.

    MetalloidError
    ├── CompileError    the MSL text is wrong; .diagnostics points at the user's lines
    ├── LaunchError     the launch is wrong: grid, arguments, limits
    ├── KernelFault     a guarded kernel was stopped; .finding says where
    ├── ModelError      a model's files are damaged, or hold something that is not supported
    └── DeviceError     the machine, the compiler or the cache failed, not the kernel
        └── NotVectorised   the engine has no vector code for a kernel; a launch then interprets it
            └── OutOfTime   or has none within the time that the launch was given

A message says where, what was expected, what arrived, what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from metalloid.patterns import pattern
from metalloid.records import dataclass

WIDEST = 160  # characters of an excerpt
_LAUNCH = pattern(r"(?:\[[^]\n]*\] )?(?:(?P<rule>M[0-9]{3}) )?(?P<what>[^\n]*)(?P<rest>.*)", re.DOTALL)


class MetalloidError(Exception):
    """Base of every error metalloid raises."""


@dataclass(frozen=True)
class Diagnostic:
    """One message about the user's own text."""

    message: str
    file: str
    line: int  # 1-based; 0 when the whole file is meant
    column: int = 0  # 1-based; 0 when the whole line is meant
    length: int = 1  # how many characters the caret underlines
    severity: str = "error"  # "error" or "warning"
    rule: str = ""  # "M601" where a rule page explains the mistake
    hint: str = ""
    excerpt: str = ""  # the source line

    def text(self) -> str:
        """The message as a compiler prints it: place, excerpt, caret, hint."""
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        rule = f" {self.rule}" if self.rule else ""
        lines = [f"{place}: {self.severity}:{rule} {self.message}"]
        if self.excerpt:
            lines += self._shown()
        if self.hint:
            lines.append(f"    hint: {self.hint}")
        return "\n".join(lines)

    def _shown(self) -> list[str]:
        """The excerpt and its caret; of a very long line, the part around the caret."""
        text, column, before, after = self.excerpt.rstrip(), self.column, "", ""
        if len(text) > WIDEST:
            first = max(0, column - WIDEST // 2)
            before, after = "..." if first else "", "..." if first + WIDEST < len(text) else ""
            text, column = text[first : first + WIDEST], column - first + len(before) if column else 0
        lines = [f"    {before}{text}{after}"]
        if column:
            indent = "".join("\t" if c == "\t" else " " for c in (before + text)[: column - 1])
            lines.append(f"    {indent}{'^' * max(1, self.length)}")
        return lines


class CompileError(MetalloidError):
    """The MSL text does not compile; each diagnostic is in the user's lines."""

    def __init__(self, diagnostics: Iterable[Diagnostic], note: str = "") -> None:
        self.diagnostics = tuple(diagnostics)
        self.note = note
        parts = [d.text() for d in self.diagnostics]
        super().__init__("\n".join([*parts, note] if note else parts))


class LaunchError(MetalloidError):
    """A launch that cannot be carried out; nothing was changed.

    The first line says what is wrong, after a `[launch name]` and the number of a rule; the lines after it what
    to do, and then perhaps the kernel's signature.
    """

    def __init__(self, message: str, rule: str = "") -> None:
        super().__init__(message)
        found = _LAUNCH.match(message)
        assert found is not None  # every part of it may be empty
        self.rule = rule or found["rule"] or "M306"
        self.what = found["what"]
        advice, _, _ = found["rest"].strip().partition("kernel void ")
        self.hint = advice.strip()


class KernelFault(MetalloidError):
    """A guarded kernel did something it must not and was stopped."""

    def __init__(self, message: str, finding: object = None) -> None:
        self.finding = finding
        super().__init__(message)


class DeviceError(MetalloidError):
    """The machine or a tool failed; the kernel may be right."""


class ModelError(MetalloidError):
    """A file of a model cannot be used; nothing of it was loaded."""


class NotVectorised(DeviceError):
    """The engine has no vector code for a kernel. A launch goes the slow way, thread by thread, and says so."""


class OutOfTime(NotVectorised):
    """Compiling takes longer than the launch was given."""


class NotWatched(DeviceError):
    """A launch that a device cannot run under observation; the oracle can."""
