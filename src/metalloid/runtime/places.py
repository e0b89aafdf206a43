"""Where in the caller's own code something happened, and warnings that come once per such place."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import CodeType

from metalloid.runtime.watch import Notice, tell, watchers

_INSIDE = str(Path(__file__).parents[1])
Spot = tuple[str | CodeType, int]  # a file and a line, or code and an instruction of it
MUCH = 4096  # bytes from which a copy is worth a word
_said: ContextVar[tuple[str, int] | None] = ContextVar("place", default=None)
_warned: set[tuple[str, str]] = set()


class LaunchWarning(UserWarning):
    """A launch that is allowed and is probably not what was meant."""


class SlowKernelWarning(LaunchWarning):
    """A kernel that is interpreted, many thousand times slower than vector code."""


def place() -> str:
    """The innermost line outside metalloid, as file:line."""
    filename, line, _ = _outside()
    return place_text(filename, line)


def place_text(where: str | CodeType, at: int) -> str:
    """What `caller` or `spot` found, in words."""
    if isinstance(where, CodeType):
        code, instruction = where, at
        lines = (line for start, end, line in code.co_lines() if start <= instruction < end and line)
        where, at = code.co_filename, next(lines, code.co_firstlineno)
    return f"{where}:{at}" if where else "unknown place"


def spot() -> Spot:
    """As `caller`, for a constructor of metalloid's that calls what calls this; which line it is takes long to find
    out, and is left to `place_text`."""
    said = _said.get()
    if said is not None:
        return said
    frame = sys._getframe(2).f_back
    while frame is not None:
        code = frame.f_code
        if not inside(code.co_filename):
            return code, frame.f_lasti
        frame = frame.f_back
    return "", 0


def caller() -> tuple[str, int]:
    """File and line of the innermost frame outside metalloid."""
    filename, line, _ = _outside()
    return filename, line


def warn_once(rule: str, subject: str, message: str, hint: str = "") -> None:
    """Warn at the caller's line, the first time this line earns this rule; a checker that watches says it instead."""
    filename, line, depth = _outside()
    notice = Notice(rule, subject, message, hint, filename, line)
    key = (rule, f"{filename}:{line}")
    if not tell(notice) and key not in _warned:
        _warned.add(key)
        warnings.warn(str(notice), LaunchWarning, stacklevel=depth)


def warn_slow(message: str) -> None:
    """Warn at the caller's line of a kernel that has no vector code."""
    warnings.warn(message, SlowKernelWarning, stacklevel=_outside()[2])


def warn_at_caller(message: str, kind: type[LaunchWarning]) -> None:
    warnings.warn(message, kind, stacklevel=_outside()[2])


def note(rule: str, subject: str, message: str, hint: str) -> None:
    """Tell whoever watches of something that costs time; nobody else."""
    if watchers:
        filename, line, _ = _outside()
        tell(Notice(rule, subject, message, hint, filename, line))


@cache
def inside(filename: str) -> bool:
    """Whether a file is metalloid's or Python's own."""
    return filename.startswith((_INSIDE, "<frozen")) or filename == contextlib.__file__


@contextlib.contextmanager
def speaking_of(file: str, line: int) -> Iterator[None]:
    """Inside, this is the caller's place: a command line has none of its own."""
    token = _said.set((file, line))
    try:
        yield
    finally:
        _said.reset(token)


def _outside() -> tuple[str, int, int]:
    said = _said.get()
    if said is not None:
        return *said, 2
    frame, depth = sys._getframe(2), 2
    while frame is not None:
        filename = frame.f_code.co_filename
        if not inside(filename):
            return filename, frame.f_lineno, depth
        frame, depth = frame.f_back, depth + 1  # type: ignore[assignment]
    return "", 0, 2
