"""The .pth file that Python reads at every start of an environment.

Its one line looks for two variables, in a dictionary that is there anyway, and goes no further where they are
unset. Where metalloid has been uninstalled since, it does nothing either.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path

from metalloid.errors import MetalloidError

NAME = "metalloid-start.pth"
LINE = (
    'import os; ("METALLOID" in os.environ or "METALLOID_CHECK" in os.environ) and '
    'exec("try:\\n    import metalloid.start\\nexcept ImportError:\\n    pass")\n'
)


def place() -> Path:
    """Where this environment's Python looks for .pth files."""
    return Path(sysconfig.get_path("purelib")) / NAME


def write() -> Path:
    path = place()
    try:
        path.write_text(LINE, encoding="utf-8")
    except OSError as problem:
        raise MetalloidError(
            f"{path} cannot be written: {problem.strerror}. Activate inside a virtual environment."
        ) from problem
    return path


def remove() -> Path | None:
    """The file that was taken away; None where there was none."""
    path = place()
    try:
        path.unlink()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise MetalloidError(f"{path} cannot be removed: {problem.strerror}.") from problem
    return path
