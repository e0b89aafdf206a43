"""Compile every kernel of a source and gather what is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from metalloid.errors import CompileError, Diagnostic
from metalloid.frontend.build import check_source
from metalloid.frontend.parse import Parsed, parse
from metalloid.frontend.translate import compile_entry
from metalloid.frontend.warnings import warnings
from metalloid.frontend.whole import examine_source
from metalloid.source import Source

FEW = 6  # kernels that are compiled while somebody types


@dataclass(frozen=True)
class Linted:
    """What became of a source: the kernels it has, and each mistake once."""

    kernels: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]


def lint_source(source: Source, progress: Callable[[int, int], None] = lambda done, of: None) -> Linted:
    """All kernels, and the functions no kernel uses; `progress` is told how many kernels are done."""
    try:
        parsed = parse(source)
    except CompileError as error:
        return Linted((), error.diagnostics)
    names = list(dict.fromkeys(entry.name for entry in parsed.entries))
    found: dict[Diagnostic, None] = {}

    def add(diagnostics: tuple[Diagnostic, ...]) -> None:
        known = {(d.file, d.line, d.rule) for d in found}
        found.update(dict.fromkeys(d for d in diagnostics if (d.file, d.line, d.rule) not in known))

    wrong = check_source(parsed)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found_in = pool.map(lambda name: _problems(parsed, name, bool(wrong)), names)
        for done, diagnostics in enumerate(found_in, 1):
            add(diagnostics)
            progress(done, len(names))
        add(wrong)
        if not found:  # of what does not compile, warnings say little
            for diagnostics in pool.map(
                lambda name: warnings(parsed, name, needed=bool(name)), _some(parsed, names)
            ):
                add(diagnostics)
    if not names and not found:
        hint = "a kernel is written `kernel void name(...)`"
        add((Diagnostic("there is no kernel in this source", source.name, 0, severity="warning", hint=hint),))
    return Linted(tuple(names), tuple(sorted(found, key=lambda d: (d.file, d.line, d.column))))


def _some(parsed: Parsed, names: list[str]) -> list[str]:
    """All functions at once, and kernels that are made of templates: one of each."""
    made = {entry.kernel.name: entry.name for entry in parsed.entries if entry.name != entry.kernel.name}
    return ["", *(made[name] for name in sorted(made))]


def lint_while_typing(source: Source) -> Linted:
    """The same, soon: a text of many kernels is parsed as a whole, and not compiled kernel by kernel.

    300 kernels take a second so, and the better part of a minute when each is compiled.
    """
    try:
        parsed = parse(source)
        names = tuple(dict.fromkeys(entry.name for entry in parsed.entries))
        if len(names) <= FEW:
            return lint_source(source)
        examine_source(source)
    except CompileError as error:
        return Linted((), error.diagnostics)
    return Linted(names, tuple(dict.fromkeys(warnings(parsed, ""))))


def _problems(parsed: Parsed, name: str, wrong: bool) -> tuple[Diagnostic, ...]:
    try:
        compile_entry(parsed, name, {}, reading="others declared" if wrong else "needed")
    except CompileError as error:
        return error.diagnostics
    return ()
