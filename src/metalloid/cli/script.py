"""Run a Python program with every launch checked."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Any

from rich.console import Console
from rich.status import Status

import metalloid as mt
from metalloid.checker.watch import note_error
from metalloid.cli.program import Program
from metalloid.runtime.watch import Watcher, watchers


def check_program(program: Program, console: Console, quiet: bool = False) -> tuple[mt.Report, int]:
    """The report of all its launches, and its own exit code; with `quiet` its output goes to stderr."""
    stdout = redirect_stdout(sys.stderr) if quiet else nullcontext()
    with mt.checked() as report, _progress(console, program), stdout:
        code = program.run(lambda error: note_error(report, error))
    return report, code


class _Counter(Watcher):
    """Tells a person at a terminal how far it is."""

    def __init__(self, status: Status, name: str) -> None:
        self._status, self._name, self._launches = status, name, 0

    def before(self, kernel: Any, launch: Any) -> bool:
        self._launches += 1
        self._status.update(f"checking {self._name}: launch {self._launches}, {kernel.name}")
        return False


@contextmanager
def _progress(console: Console, program: Program) -> Iterator[None]:
    """A line that counts launches, where it is in nobody's way: modules such as pytest draw their own."""
    if program.module or not (console.is_terminal and sys.stdout.isatty()):
        yield
        return
    with console.status(f"checking {program.name}") as status:
        counter = _Counter(status, program.name)
        watchers.insert(0, counter)
        try:
            yield
        finally:
            watchers.remove(counter)
