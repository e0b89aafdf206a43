"""Examine a whole source when its library is made: its mistakes show there, as Metal shows them, and not later.

Clang parses all of it once and checks its types, each kernel template with the first arguments it is instantiated
with; it makes no code. (All instantiations of ggml's largest file take 2.1 s, the first ones 0.4.) A source that has
one kernel to ask for is compiled instead: that reads the same text, and the code is what is asked for next. What was
right is noted on disk, so another start costs one look there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from metalloid import cache, garbage, stopwatch
from metalloid.errors import CompileError, Diagnostic
from metalloid.frontend.clang import GAVE_UP
from metalloid.frontend.header import begin
from metalloid.frontend.kernel import Kernel
from metalloid.frontend.stored import code_of, compile_kernel, content_of, entry_of
from metalloid.records import dataclass
from metalloid.source import Source

if TYPE_CHECKING:
    from metalloid.frontend.declarations import Entry
    from metalloid.frontend.parse import Parsed

_FORMAT = 1  # of a note
# Told to whoever asks for the kernel: a limit of pipelines, what Metal takes and this compiler does not. Without a
# number it may be either; clang's look at the whole decides.
_LATER = frozenset(("M303", "M616", ""))


@dataclass(frozen=True)
class Examined:
    """A source without mistakes."""

    names: tuple[str, ...]  # of its kernels, host names included
    parsed: Parsed | None = None  # None where it was known from before
    kernel: Kernel | None = None  # of a source that has only one


def examine_source(source: Source, on_miss: Callable[[], object] = lambda: None) -> Examined:
    """Raises CompileError for a source that Metal would not make a library of."""
    key = source.key(_FORMAT, "library", code_of(source, ()))
    store = cache.default()
    if (note := store.get(key, "library")) is not None and (known := content_of(note)) is not None:
        return Examined(tuple(known["names"]))
    begin(source.math)
    with garbage.imports():
        on_miss()
        from metalloid.frontend.build import check_source
        from metalloid.frontend.parse import parse

    with garbage.kept(), stopwatch.stage("examination"):
        parsed = parse(source)
        kernel = _only_kernel(parsed)
        found = (() if kernel else check_source(parsed)) or _refused(parsed)
    if found:
        raise CompileError(_explained(parsed, found))
    names = tuple(entry.name for entry in parsed.entries)
    if (made := entry_of(source, parsed.files, {"names": names})) is not None:
        store.put(key, "library", made)
    return Examined(names, parsed, kernel)


def _only_kernel(parsed: Parsed) -> Kernel | None:
    """The one kernel that a source has to ask for, where it needs no constants and compiles."""
    from metalloid.frontend.unit import reachable

    found, entries = parsed.unit.declarations, parsed.entries
    if len(entries) != 1 or {c.name for c in found.constants} & reachable(parsed.unit, entries[0]):
        return None
    alone = len(found.kernels) == 1 and not found.constants
    try:
        return compile_kernel(parsed.source, entries[0].name, parsed=parsed, reading="whole")
    except CompileError as error:
        if alone and any(d.rule not in _LATER or d.message.startswith(GAVE_UP) for d in error.diagnostics):
            raise
    return None


def _refused(parsed: Parsed) -> tuple[Diagnostic, ...]:
    """What clang would take and Metal does not, in all that metalloid can compile."""
    from metalloid.frontend.diagnose import Texts
    from metalloid.frontend.entry import bindings
    from metalloid.frontend.translate import placed, refused_parts
    from metalloid.frontend.unsupported import unusable

    unit = parsed.unit
    declared = unit.declarations
    left_out = unusable(unit, frozenset())
    kernels = [kernel for kernel in declared.kernels if kernel.span not in left_out]
    functions = (span for spans in declared.functions.values() for span in spans)
    spans = [kernel.span for kernel in kernels] + [span for span in functions if span not in left_out]
    found = refused_parts(parsed, kernels, list(dict.fromkeys(spans)))
    entries = {entry.kernel.name_index: entry for entry in parsed.entries if not entry.overloads}
    for entry in entries.values() if not found else ():
        if entry.kernel.span not in left_out:
            try:
                bindings(unit, entry)
            except CompileError as error:
                found += error.diagnostics
    texts = Texts(parsed.source)
    return tuple(placed(diagnostic, texts, unit) for diagnostic in dict.fromkeys(found))


def _explained(parsed: Parsed, found: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """The same mistakes as the kernel they stand in tells them: it knows its parameters."""
    from metalloid.frontend.translate import compile_entry

    if (entry := _around(parsed, found[0])) is not None:
        try:
            compile_entry(parsed, entry.name, {})
        except CompileError as error:
            told = {(d.file, d.line) for d in error.diagnostics}
            return (*error.diagnostics, *(d for d in found if (d.file, d.line) not in told))
    return found


def _around(parsed: Parsed, diagnostic: Diagnostic) -> Entry | None:
    """The kernel in whose text a message stands."""
    for entry in parsed.entries:
        span = entry.kernel.span
        file, first, _ = parsed.unit.place(span.first)
        _, last, _ = parsed.unit.place(span.last - 1)
        if file == diagnostic.file and first <= diagnostic.line <= last:
            return entry
    return None
