"""Where in the caller's own code something happened, and warnings that come once per such place."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_INSIDE = str(Path(__file__).parents[1])
_warned: set[tuple[str, str]] = set()


class LaunchWarning(UserWarning):
    """A launch that is allowed and is probably not what was meant."""


def place() -> str:
    """The innermost line outside metalloid, as file:line."""
    filename, line, _ = _outside()
    return f"{filename}:{line}" if filename else "unknown place"


def warn_once(rule: str, message: str) -> None:
    """Warn at the caller's line, the first time this line earns this rule."""
    filename, line, depth = _outside()
    key = (rule, f"{filename}:{line}")
    if key not in _warned:
        _warned.add(key)
        warnings.warn(f"{rule} {message}", LaunchWarning, stacklevel=depth)


def _outside() -> tuple[str, int, int]:
    frame, depth = sys._getframe(2), 2
    while frame is not None:
        filename = frame.f_code.co_filename
        if not filename.startswith(_INSIDE) and not filename.startswith("<frozen"):
            return filename, frame.f_lineno, depth
        frame, depth = frame.f_back, depth + 1  # type: ignore[assignment]
    return "", 0, 2
