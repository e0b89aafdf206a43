"""Mends of lines that clang has refused before, put in before it refuses them again.

A header that many sources share (MLX's fp8.h) is refused in each of them for the same cast, and a refusal costs a whole
run of clang. Only casts between half and bfloat: what wraps them leaves every other value as it is.
"""

from __future__ import annotations

from metalloid.frontend.rewritten import Edit, Rewritten

WRAPPER = "__mt::widened("
_MOST = 64  # lines
_known: dict[
    str, tuple[tuple[int, str], ...]
] = {}  # a line of preprocessed text -> (column, what is inserted)


def remember(before: Rewritten, after: Rewritten) -> None:
    """Keep the lines whose casts were mended between two texts of one source."""
    fresh = set(after.edits) - set(before.edits)
    if any(edit.end > edit.start or edit.text not in (WRAPPER, ")") for edit in fresh):
        return
    lines: dict[tuple[int, str], list[tuple[int, str]]] = {}
    for edit in sorted(fresh, key=lambda edit: edit.start):
        start, line = _line(after.before, edit.start)
        lines.setdefault((start, line), []).append((edit.start - start, edit.text))
    for (_, line), inserted in lines.items():
        if len(_known) < _MOST:
            _known[line] = tuple(inserted)


def mended(rewritten: Rewritten) -> Rewritten:
    """The same with every line mended that is known to need it."""
    text = rewritten.before
    edits: list[Edit] = []
    for line, inserted in list(_known.items()):
        start = text.find(f"\n{line}\n") + 1
        while start > 0:
            places = [(start + column, what) for column, what in inserted]
            if not any(_touched(rewritten, place) for place, _ in places):
                edits += (Edit(place, place, what) for place, what in places)
            start = text.find(f"\n{line}\n", start) + 1
    return rewritten.with_edits(edits) if edits else rewritten


def _line(text: str, offset: int) -> tuple[int, str]:
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    return start, text[start : end if end >= 0 else len(text)]


def _touched(rewritten: Rewritten, place: int) -> bool:
    """Whether another edit changes the text there: it may have been left out."""
    return any(edit.start <= place < edit.end for edit in rewritten.edits)
