"""Run somebody's Python program inside this process: `script.py arguments` or `-m module arguments`.

Every call form is put in place before it starts. It sees sys.argv, sys.path and `__main__` as under `python`; its
exit code is kept, and a traceback shows its own frames, not those of whoever started it.
"""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from metalloid.forms.attach import attached
from metalloid.runtime.places import inside

INTERRUPTED = 130  # what shells say of a program that Ctrl-C ended


@dataclass(frozen=True)
class Program:
    """A script or a module, and what it is given."""

    target: str
    arguments: tuple[str, ...] = ()
    module: bool = False

    @property
    def name(self) -> str:
        return self.target if self.module else Path(self.target).name

    def run(self, failed: Callable[[Exception], bool] = lambda error: False) -> int:
        """Run it to its end; its exit code. `failed` may take an error that comes out of it: True where it has."""
        with _as_program(self), attached(), _for_children():
            try:
                if self.module:
                    runpy.run_module(self.target, run_name="__main__", alter_sys=True)
                else:
                    runpy.run_path(self.target, run_name="__main__")
            except SystemExit as end:
                if isinstance(end.code, str):
                    click.echo(end.code, err=True)
                return end.code if isinstance(end.code, int) else int(end.code is not None)
            except KeyboardInterrupt:
                return INTERRUPTED
            except Exception as error:
                if not failed(error):
                    click.echo(_told(self, error), err=True)
                return 1
        return 0


def is_python(file: Path) -> bool:
    """Whether a file is a Python program: by its name, or by a first line that calls Python, as pip writes it."""
    if file.suffix == ".py" or (file / "__main__.py").is_file():
        return True
    first = _first(file)
    return first.startswith(b"#!") and b"python" in first.split(b"\n")[0]


def _first(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(256)
    except OSError:
        return b""


@contextmanager
def _as_program(program: Program) -> Iterator[None]:
    """sys.argv and sys.path as Python has them at a start."""
    argv, path = sys.argv, list(sys.path)
    sys.argv = [program.target, *program.arguments]
    sys.path.insert(0, str(Path.cwd() if program.module else Path(program.target).resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = argv, path


@contextmanager
def _for_children() -> Iterator[None]:
    """Programs that this one starts have the forms too, where `metalloid activate` was said."""
    before = os.environ.get("METALLOID")
    os.environ["METALLOID"] = before or "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["METALLOID"]
        else:
            os.environ["METALLOID"] = before


def _told(program: Program, error: Exception) -> str:
    """An error as Python prints it, from the program's own first frame to its own last one."""
    if program.module and isinstance(error, ImportError) and _never_started(error):
        return f"{error}\nmetalloid -m takes the name of a module, as python -m does."
    told = traceback.TracebackException.from_exception(error)
    _own_frames(told)
    return "".join(told.format()).rstrip()


def _own_frames(told: traceback.TracebackException) -> None:
    """Leave out frames of metalloid and of what started the program, in causes too."""
    seen: set[int] = set()
    waiting: list[traceback.TracebackException | None] = [told]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        kept = [f for f in each.stack if not _started(f.filename) and not inside(f.filename)]
        each.stack[:] = kept
        waiting += [each.__cause__, each.__context__]


def _started(filename: str) -> bool:
    return filename in (runpy.__file__, "<frozen runpy>")


def _never_started(error: ImportError) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return all(_started(f.filename) or inside(f.filename) for f in frames)
