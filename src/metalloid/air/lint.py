"""Compile every kernel of a binary and gather what cannot be."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from metalloid.air.build import compile_entry
from metalloid.air.container import Container, Entry
from metalloid.air.stored import container_of
from metalloid.errors import CompileError, Diagnostic
from metalloid.frontend.lint import Linted
from metalloid.source import Binary


def lint_library(binary: Binary, progress: Callable[[int, int], None] = lambda done, of: None) -> Linted:
    """All kernels of a library; `progress` is told how many are done."""
    try:
        container = container_of(binary)
    except CompileError as error:
        return Linted((), error.diagnostics)
    entries = [entry for entry in container.entries if entry.is_kernel]
    found: list[Diagnostic] = []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for done, problems in enumerate(pool.map(lambda entry: _problems(container, entry), entries), 1):
            found += problems
            progress(done, len(entries))
    return Linted(tuple(entry.name for entry in entries), tuple(found))


def _problems(container: Container, entry: Entry) -> tuple[Diagnostic, ...]:
    try:
        compile_entry(container, entry, {})
    except CompileError as error:
        return error.diagnostics
    return ()
