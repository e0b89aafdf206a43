"""Put places in compiled code back where the user wrote them.

Clang counts columns in the rewritten text: a threadgroup variable has grown words in front of it, a macro is
its expansion. Lines are the user's already, by the line markers; columns are put right here, once, so that
whoever reads a place can point at it.
"""

from __future__ import annotations

from metalloid.frontend.diagnose import Preimage, Texts
from metalloid.frontend.rewritten import Rewritten
from metalloid.ir.debug import node_place
from metalloid.ir.module import Module
from metalloid.patterns import pattern
from metalloid.records import replace

_COLUMN = pattern(r"column: \d+")
_PLACE = pattern(r"!DILocation\(line: (\d+), column: (\d+), scope: (![0-9]+)")


def with_columns(module: Module, rewritten: Rewritten, texts: Texts) -> Module:
    """The module with every place at the column of the user's own text."""
    preimage = Preimage(rewritten)
    moved: dict[tuple[str, int], bool] = {}
    columns: dict[tuple[str, int, int], int] = {}

    def differs(file: str, line: int) -> bool:
        there = preimage.lines(file, line)
        return any(text != texts.line(file, line) for _, text in there)

    changed: dict[str, str] = {}
    files: dict[str, str] = {}  # by scope: a kernel has thousands of places in dozens of scopes
    for name, node in module.metadata.items():
        if (found := _PLACE.search(node)) is None:  # no place, or one without a column
            continue
        line, column, scope = int(found[1]), int(found[2]), found[3]
        if scope not in files:
            files[scope] = node_place(module, name).file
        key = files[scope], line
        if key not in moved:
            moved[key] = differs(*key)
        if not moved[key]:
            continue
        spot = *key, column
        if spot not in columns:
            written = texts.line(*key)
            columns[spot] = preimage.column(*spot, written) if written else column
        if columns[spot] not in (0, column):
            changed[name] = _COLUMN.sub(f"column: {columns[spot]}", node)
    return replace(module, metadata={**module.metadata, **changed}) if changed else module
