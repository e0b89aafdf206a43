"""The result of a comparison, and how it reads at two in the morning."""

from __future__ import annotations

from dataclasses import dataclass

from metalloid.comparing.compared import Compared, Example
from metalloid.comparing.judge import RAISED, SCHEDULE, Outcome, shown
from metalloid.comparing.picture import error_map

MOST_LISTED = 5


@dataclass(frozen=True)
class Comparison(Compared):
    """What `compare` found; true where every case that ran is right."""

    def raise_if_wrong(self) -> None:
        """For tests: an AssertionError with the whole text."""
        if not self.ok:
            raise AssertionError(self.text())

    def text(self) -> str:
        """What is wrong, the smallest case, who did it, what it looks like; the most useful line first."""
        lines = [self.summary()]
        if self.example:
            lines += ["", *self._smallest(self.example), *self._pattern()]
            about = self.larger or self.example
            if about.wrong is not None and about.wrong.size > 1:
                lines += ["", f"where the errors are, in {about.case}", error_map(about.wrong)]
        if self.refused:
            lines += ["", *self._refusals()]
        return "\n".join(lines)

    def html(self) -> str:
        """One page that needs nothing else: the smallest case, a map of the errors, what was varied."""
        from metalloid.comparing.page import html

        return html(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the same without what is long."""
        from metalloid.comparing.page import notebook

        return notebook(self)

    __str__ = text

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def _smallest(self, example: Example) -> list[str]:
        outcome = example.outcome
        lines = [f"smallest failing case: {example.case}"]
        if outcome.kind == RAISED:
            lines.append(f"    {outcome.message}")
        elif outcome.kind == SCHEDULE:
            lines.append(
                "    M406 the result depends on the schedule: right in one order of the threads,"
                f" wrong {outcome.message}"
            )
        elif outcome.message:
            lines.append(f"    {outcome.message}")
        if first := outcome.first:
            count = f"{first.count} of {first.total} elements" if first.total > 1 else "the only element"
            lines.append(f"    {first}")
            lines.append(f"    {count} wrong; an error of {shown(first.allowed)} is allowed there")
        if example.witness and example.witness.text:
            lines.append(f"    {example.witness.text}")
        if example.influence:
            case, about, found = example.influence
            where = "it" if case is example.case else f"in {case}, {about.place}"
            lines.append(f"    {where} {found.text}")
        lines += [f"    {look}" for look in example.looks]
        if example.witness and example.witness.findings:
            lines += ["", "what the checker says about that run"]
            lines += [f"    {line}" for text in example.witness.findings for line in text.splitlines()]
        return lines

    def _pattern(self) -> list[str]:
        lines = []
        if self.common:
            lines.append(
                f"wrong exactly where {self.common.text}"
                f" ({self.common.wrong} cases; {self.common.right} others are right)"
            )
        if self.limit:
            name, below, above = self.limit
            lines.append(
                f"right for small, wrong for large: right up to {name}={below}, wrong from {name}={above} on"
            )
        if self.larger and self.larger.looks and self.larger.looks != (self.example and self.example.looks):
            lines += [f"in {self.larger.case}, {look}" for look in self.larger.looks]
        return ["", *lines] if lines else []

    def _refusals(self) -> list[str]:
        kinds: dict[str, list[Outcome]] = {}
        for outcome in self.refused:
            kinds.setdefault(outcome.message, []).append(outcome)
        lines = [f"refused, nothing computed ({len(self.refused)} cases):"]
        for message, found in list(kinds.items())[:MOST_LISTED]:
            lines.append(f"    {found[0].case}" + (f" and {len(found) - 1} more" if len(found) > 1 else ""))
            lines.append(f"        {message}")
        if len(kinds) > MOST_LISTED:
            lines.append(f"    and {len(kinds) - MOST_LISTED} other messages")
        return lines
