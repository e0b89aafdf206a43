"""What a comparison found: outcomes, the smallest failing case and what is known about it; for whoever tells of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from metalloid.comparing.case import AnyCase
from metalloid.comparing.common import Common
from metalloid.comparing.influence import Influence
from metalloid.comparing.inputs import Array
from metalloid.comparing.judge import REFUSED, RIGHT, Outcome, Wrong
from metalloid.comparing.picture import error_map
from metalloid.comparing.witness import Witness


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
class Compared:
    """Outcomes of all cases, and what was found out about the smallest that failed."""

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

    def summary(self) -> str:
        """One line: how many cases are right, wrong and refused."""
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
