"""A source as C++, and the way back from it: edits in place."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate

from metalloid.frontend.operators import BY
from metalloid.records import dataclass, replace


@dataclass(frozen=True)
class Edit:
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Late:
    """A function constant that has its value where it is declared, or else behind all that declares it."""

    value: Edit
    declared: Edit
    definition: str


@dataclass(frozen=True)
class Rewritten:
    """The C++ and the way back to the preprocessed text."""

    text: str
    before: str
    edits: tuple[Edit, ...]
    all_swizzles: bool  # some swizzle is out of order: the larger header is needed
    shared: bool = False  # what the source includes is written as for any other kernel
    late: tuple[Late, ...] = ()  # function constants in what it includes

    def original_offset(self, offset: int) -> int:
        """Where a position of `text` was before the edits."""
        starts, shifts = self._shifts
        last = bisect_right(starts, offset) - 1
        if last >= 0 and offset < starts[last] + len(self.edits[last].text):
            edit = self.edits[last]
            return min(edit.start, edit.end)
        return offset - shifts[last + 1]

    @cached_property
    def _shifts(self) -> tuple[list[int], list[int]]:
        """Where each edit begins in `text`; how far it has moved what stands behind so many edits."""
        shifts = [0, *accumulate(len(edit.text) - (edit.end - edit.start) for edit in self.edits)]
        return [edit.start + shift for edit, shift in zip(self.edits, shifts, strict=False)], shifts

    def with_edits(self, more: Iterable[Edit]) -> Rewritten:
        """The same with further edits, given as positions before the edits."""
        text, edits = applied(self.before, [*self.edits, *more])
        return replace(self, text=text, edits=edits)

    def without_values(self) -> str:
        """The text with the function constants in what is included declared only: the same for all their values."""
        if not self.late:
            return self.text
        values = {late.value for late in self.late}
        edits = [edit for edit in self.edits if edit not in values]
        return applied(self.before, [*edits, *(late.declared for late in self.late)])[0]

    @property
    def guards(self) -> tuple[Edit, ...]:
        """The edits at shifts and divisions."""
        return tuple(edit for edit in self.edits if BY in edit.text)

    def unguarded(self, edits: Iterable[Edit]) -> Rewritten:
        """The same with these shifts and divisions as they were written."""
        gone = set(edits)
        text, kept = applied(self.before, [edit for edit in self.edits if edit not in gone])
        return replace(self, text=text, edits=kept)

    def replacing(self, old: str, new: str) -> Rewritten | None:
        """The same with other words in the edits; None where they do not occur."""
        changed = [replace(edit, text=edit.text.replace(old, new)) for edit in self.edits]
        if changed == list(self.edits):
            return None
        text, edits = applied(self.before, changed)
        return replace(self, text=text, edits=edits)


def applied(text: str, edits: list[Edit]) -> tuple[str, tuple[Edit, ...]]:
    """A text with edits, and those of them that count: none inside what another replaced."""
    pieces: list[str] = []
    kept: list[Edit] = []
    here = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < here:
            continue  # inside something already replaced
        pieces.append(text[here : edit.start])
        pieces.append(edit.text)
        here = edit.end
        kept.append(edit)
    pieces.append(text[here:])
    return "".join(pieces), tuple(kept)
