"""Lint a file: every kernel of a .metal file, every inline kernel of a .py file that can be found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from metalloid.errors import CompileError, Diagnostic
from metalloid.forms.inline import InlineKernel, find
from metalloid.forms.mlx_source import Generated
from metalloid.frontend import compile_kernel, find_kernels, lint_source
from metalloid.source import Binary, Source

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Report:
    """What was compiled, what is wrong, and what could not be looked at."""

    file: str
    kernels: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    unresolved: tuple[Diagnostic, ...] = ()


def lint_python(path: Path, progress: Progress) -> Report:
    """The inline kernels of a Python file, which is read, never run."""
    return lint_python_text(path.read_text(encoding="utf-8", errors="replace"), str(path), progress)


def lint_python_text(text: str, path: str, progress: Progress) -> Report:
    """The same of a text that an editor holds."""
    try:
        found = find(text, path)
    except SyntaxError as error:
        problem = Diagnostic(
            f"not Python: {error.msg}", path, error.lineno or 0, excerpt=(error.text or "").rstrip()
        )
        return Report(path, (), (problem,))
    diagnostics: dict[Diagnostic, None] = {}
    for done, kernel in enumerate(found.kernels, 1):
        diagnostics.update((kernel.told(d, path, text), None) for d in _problems(kernel))
        progress(done, len(found.kernels))
    unresolved = tuple(
        Diagnostic(f"this kernel was not compiled: {u.reason}", path, u.line, severity="warning")
        for u in found.unresolved
    )
    names = tuple(name for kernel in found.kernels for name in _names(kernel))
    return Report(path, names, tuple(diagnostics), unresolved)


def _names(kernel: InlineKernel) -> tuple[str, ...]:
    """Of a text that is a whole library, those of its kernels."""
    if kernel.form not in ("torch", "metal"):
        return (kernel.name,)
    try:
        attempt = next(iter(kernel.attempts()))
        return tuple(name for _, name in _kernels(attempt)) or (kernel.name,)
    except CompileError:
        return (kernel.name,)


def _problems(kernel: InlineKernel) -> tuple[Diagnostic, ...]:
    """Types are guessed: the kernel is right when one guess compiles; else the first guess is reported.

    Of a body whose arguments are arrays of any type, only names and syntax: what is left is a matter of types.
    """
    first: tuple[Diagnostic, ...] = ()
    all_of_them: list[tuple[Diagnostic, ...]] = []
    for attempt in kernel.attempts():
        try:
            for source, name in _kernels(attempt):
                compile_kernel(source, name)
            return ()
        except CompileError as error:
            first = first or error.diagnostics
            all_of_them.append(error.diagnostics)
    if kernel.form != "script":
        return first
    fewest = min(all_of_them, key=lambda said: (_typed(said), len(said)))
    return fewest if not _typed(fewest) else ()


def _typed(said: tuple[Diagnostic, ...]) -> int:
    """How many messages may come from a type that was guessed: all but names and syntax."""
    return sum(d.rule not in ("M601", "M602", "M603") for d in said)


def _kernels(attempt: Generated | Source) -> list[tuple[Source, str]]:
    if isinstance(attempt, Generated):
        return [(attempt.source, attempt.kernel)]
    return [(attempt, entry.name) for entry in find_kernels(attempt)]


def lint_metal(source: Source, progress: Progress) -> Report:
    """Every kernel of a Metal source, or of a library that is compiled already."""
    if isinstance(source, Binary):
        from metalloid.air.lint import lint_library

        linted = lint_library(source, progress)
    else:
        linted = lint_source(source, progress)
    return Report(source.name, linted.kernels, linted.diagnostics)
