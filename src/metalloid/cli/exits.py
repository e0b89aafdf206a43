"""What a command's exit code says: 0 all is well, 1 findings, 2 the command was not understood, 3 metalloid failed."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import click

from metalloid import config
from metalloid.errors import CompileError, DeviceError, KernelFault, LaunchError, MetalloidError

FINDINGS, USAGE, INTERNAL = 1, 2, 3


class BadOption(LaunchError):
    """An option that cannot be read."""


# The first that fits.
_CODES: tuple[tuple[type[Exception], int], ...] = (
    (BadOption, USAGE),
    (CompileError, FINDINGS),
    (LaunchError, FINDINGS),
    (KernelFault, FINDINGS),
    (DeviceError, INTERNAL),
    (MetalloidError, USAGE),
)


def guarded(run: Callable[[], object]) -> None:
    """Errors are sentences, not tracebacks; METALLOID_TRACEBACK=1 shows where one of metalloid's own comes from."""
    try:
        run()
    except Exception as error:
        if config.traceback():
            traceback.print_exc()
        code = next((code for kind, code in _CODES if isinstance(error, kind)), INTERNAL)
        click.echo(str(error) if isinstance(error, MetalloidError) else _internal(error), err=True)
        sys.exit(code)


def _internal(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"metalloid failed: {type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno}).\n"
        "This is a mistake in metalloid; METALLOID_TRACEBACK=1 shows all of it."
    )
