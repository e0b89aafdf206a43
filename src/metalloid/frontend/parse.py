"""A source, preprocessed and scanned: ready to compile any of its kernels."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from metalloid.errors import CompileError, Diagnostic
from metalloid.frontend.declarations import Entry, Span
from metalloid.frontend.front import unit_of
from metalloid.frontend.preprocess import preprocess
from metalloid.frontend.unit import KEPT, Unit, reachable
from metalloid.records import dataclass
from metalloid.source import Source


@dataclass(frozen=True)
class Parsed:
    source: Source
    unit: Unit
    files: tuple[Path, ...]  # what was included

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.unit.declarations.entries()

    @property
    def words(self) -> frozenset[str]:
        return frozenset(token.text for token in self.unit.tokens if token.kind == "name")

    def spans_of(self, entry: Entry) -> list[Span]:
        """The kernel and everything at namespace level that it uses."""
        names = reachable(self.unit, entry)
        found = self.unit.declarations
        spans = [k.span for k in found.kernels if k.name in names]
        return spans + [s for name, all_ in found.functions.items() if name in names for s in all_]


def parse(source: Source) -> Parsed:
    if "\0" in source.text:
        line = source.text[: source.text.index("\0")].count("\n") + 1
        raise CompileError([Diagnostic("the source contains a NUL character", source.name, line)])
    text = preprocess(source)
    try:
        unit = _unit(text.text)
    except RecursionError:
        raise CompileError([Diagnostic("this source is nested too deeply", source.name, 0)]) from None
    return Parsed(source, unit, text.files)


@lru_cache(maxsize=KEPT)
def _unit(text: str) -> Unit:
    return unit_of(text)
