"""Run a Python script with every launch checked.

A script that asks MLX or PyTorch for Metal gets metalloid instead: as soon as it imports one of them, their
entry points are put in place, as `metalloid.mlx.install()` does.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from rich.console import Console
from rich.status import Status

import metalloid as mt
from metalloid.checker.watch import note_error
from metalloid.runtime.watch import Watcher, watchers


def run_script(
    file: Path, arguments: Sequence[str], console: Console, quiet: bool = False
) -> tuple[mt.Report, int]:
    """The report of all its launches, and the script's own exit code; with `quiet` its output goes to stderr."""
    code = 0
    stdout = redirect_stdout(sys.stderr) if quiet else nullcontext()
    with _as_program(file, arguments), _forms(), mt.checked() as report, _progress(console, file), stdout:
        try:
            runpy.run_path(str(file), run_name="__main__")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
            if isinstance(end.code, str):
                click.echo(end.code, err=True)
        except Exception as error:
            code = 1
            if not note_error(report, error):
                click.echo(_traceback(error), err=True)
    return report, code


def _traceback(error: BaseException) -> str:
    """As Python prints it, from the script's own frame on."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename in (
        __file__,
        runpy.__file__,
        "<frozen runpy>",
    ):
        frame = frame.tb_next
    return "".join(traceback.format_exception(type(error), error, frame)).rstrip()


@contextmanager
def _as_program(file: Path, arguments: Sequence[str]) -> Iterator[None]:
    """sys.argv and sys.path as `python file arguments` has them."""
    argv, path = sys.argv, list(sys.path)
    sys.argv = [str(file), *arguments]
    sys.path.insert(0, str(file.resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = argv, path


class _Counter(Watcher):
    """Tells a person at a terminal how far it is."""

    def __init__(self, status: Status, name: str) -> None:
        self._status, self._name, self._launches = status, name, 0

    def before(self, kernel: Any, launch: Any) -> bool:
        self._launches += 1
        self._status.update(f"checking {self._name}: launch {self._launches}, {kernel.name}")
        return False


@contextmanager
def _progress(console: Console, file: Path) -> Iterator[None]:
    if not (
        console.is_terminal and sys.stdout.isatty()
    ):  # what the script prints would go through the status line
        yield
        return
    with console.status(f"checking {file.name}") as status:
        counter = _Counter(status, file.name)
        watchers.insert(0, counter)
        try:
            yield
        finally:
            watchers.remove(counter)


def _install_mlx(module: ModuleType) -> Callable[[], None]:
    from metalloid import mlx

    mlx.install()
    return mlx.uninstall


def _install_torch(module: ModuleType) -> Callable[[], None]:
    from metalloid.torch import compile_shader

    mps: Any = module.mps
    before = mps.compile_shader
    mps.compile_shader = compile_shader

    def undo() -> None:
        mps.compile_shader = before

    return undo


FORMS = {"mlx.core": _install_mlx, "torch": _install_torch}


@contextmanager
def _forms() -> Iterator[None]:
    """Metal's entry points of MLX and PyTorch are metalloid's, from the moment they are imported."""
    undo = [install(sys.modules[name]) for name, install in FORMS.items() if name in sys.modules]
    finder = _AfterImport(undo)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for step in reversed(undo):
            step()


class _AfterImport(importlib.abc.MetaPathFinder):
    """Finds nothing itself; lets the others find, and acts when the module has been loaded."""

    def __init__(self, undo: list[Callable[[], None]]) -> None:
        self._undo, self._busy = undo, False

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in FORMS or self._busy:
            return None
        self._busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy = False
        if spec is None or spec.loader is None:
            return None
        spec.loader = _Loader(spec.loader, lambda module: self._undo.append(FORMS[name](module)))
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any, then: Callable[[ModuleType], None]) -> None:
        self._loader, self._then = loader, then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._then(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
