"""The result of a comparison, and how it reads at two in the morning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from metalloid.comparing.case import AnyCase
from metalloid.comparing.common import Common
from metalloid.comparing.influence import Influence
from metalloid.comparing.inputs import Array
from metalloid.comparing.judge import RAISED, REFUSED, RIGHT, SCHEDULE, Outcome, Wrong, shown
from metalloid.comparing.picture import error_map
from metalloid.comparing.witness import Witness

MOST_LISTED = 5


@dataclass(frozen=True)
class Example:
    """One failing case with everything that was found out about it."""

    outcome: Outcome
    got: Mapping[str, Array] = field(default_factory=dict)
    expected: Mapping[str, Array] = field(default_factory=dict)
    wrong: Array | None = None  # of the first output that has any
    error: Array | None = None
    looks: tuple[str, ...] = ()  # what the wrong values look like
    influence: tuple[AnyCase, Wrong, Influence] | None = None  # of which element of which case
    witness: Witness | None = None

    @property
    def case(self) -> AnyCase:
        return self.outcome.case

    def __repr__(self) -> str:
        return f"<example {self.case}: {self.outcome.first or self.outcome.message or self.outcome.kind}>"


@dataclass(frozen=True)
class Comparison:
    """What `compare` found; true where every case that ran is right."""

    outcomes: tuple[Outcome, ...]
    example: Example | None = None  # the smallest failing case
    larger: Example | None = None  # one that shows the pattern of the errors
    common: Common | None = None
    limit: tuple[str, int, int] | None = None  # (size, the largest that is right, the smallest that is wrong)
    examined: int = 0  # runs that the explanation took
    scheduled: int = 0  # orders that were tried

    @property
    def ok(self) -> bool:
        return not self.failures

    def __bool__(self) -> bool:
        return self.ok

    @property
    def failures(self) -> tuple[Outcome, ...]:
        return tuple(o for o in self.outcomes if o.failed)

    @property
    def refused(self) -> tuple[Outcome, ...]:
        """Cases that raised LaunchError: nothing was computed, so nothing was wrong."""
        return tuple(o for o in self.outcomes if o.kind == REFUSED)

    @property
    def smallest(self) -> AnyCase | None:
        """The smallest failing case."""
        return self.example.case if self.example else None

    @property
    def first_wrong(self) -> Wrong | None:
        """The first wrong element of the smallest failing case."""
        return self.example.outcome.first if self.example else None

    @property
    def error_map(self) -> str:
        shown_at = self.larger or self.example
        return error_map(shown_at.wrong) if shown_at and shown_at.wrong is not None else ""

    @property
    def small_right_large_wrong(self) -> bool:
        return self.limit is not None

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

    __str__ = text

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def summary(self) -> str:
        total, failed = len(self.outcomes), len(self.failures)
        refused = f", {len(self.refused)} refused" if self.refused else ""
        if not total:
            return "compare: there were no cases"
        if not failed:
            ran = total - len(self.refused)
            worst = max((o for o in self.outcomes if o.kind == RIGHT), key=lambda o: o.worst, default=None)
            close = f"; the largest error is {worst.worst:.2g} of what is allowed" if worst else ""
            return f"compare: all {ran} cases are right{refused}{close}"
        right = total - failed - len(self.refused)
        return f"compare: {failed} of {total} cases are wrong, {right} right{refused}"

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
