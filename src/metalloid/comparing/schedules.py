"""Does the result depend on the order in which threads run?

Cases of every size run with their threadgroups and SIMD-groups backward; a few small ones run on the oracle,
with threadgroups, SIMD-groups and lanes forward, backward and shuffled. What is right in one order and
wrong in another lacks a barrier or an atomic.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.backends.interpret import Schedule
from metalloid.comparing.case import AnyCase
from metalloid.comparing.judge import RAISED, SCHEDULE, Outcome, Pair, weighed
from metalloid.runtime.watch import Watcher, watchers

if TYPE_CHECKING:
    from metalloid.runtime.kernel_code import KernelCode

THREADS = 1024  # of a launch that the oracle takes
SECONDS = 2.0  # for all of it
CASES = 6
BACKWARD = 40  # cases that run backward on the engine


class TooLarge(Exception):
    """A launch that would take the oracle too long."""


class _Ordered(Watcher):
    """Runs every launch in one order: on the oracle, or backward on the engine where none is given."""

    def __init__(self, schedule: Schedule | None) -> None:
        self.schedule = schedule
        self.groups = 0  # of 32 threads, in the largest launch

    def before(self, kernel: KernelCode, launch: Launch) -> bool:
        self.groups = max(self.groups, -(-prod(launch.grid) // 32))
        if self.schedule is None:
            kernel.program.run(launch, backwards=True, on_log=kernel.on_log)
            return True
        if prod(launch.grid) > THREADS:
            raise TooLarge
        interpret.run(kernel.ir, launch, self.schedule, kernel.on_log, step_limit=100_000)
        return True

    def __enter__(self) -> _Ordered:
        watchers.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        watchers.remove(self)


def orders(count: int) -> list[Schedule]:
    """Forward and backward first, then shuffles."""
    return [Schedule(), Schedule("reverse"), *(Schedule("shuffle", n) for n in range(count))][:count]


def schedule_failures(pair: Pair, right: Sequence[AnyCase], count: int) -> list[Outcome]:
    """Outcomes of right cases that are wrong in another order; the first of them is enough."""
    for case in right[:: max(1, len(right) // BACKWARD)]:
        outcome, _ = _in_order(pair, case, None)
        if outcome is not None and outcome.failed:
            return [outcome]
    deadline = time.monotonic() + SECONDS
    tried = 0
    for case in sorted(_spread(right), key=lambda c: c.work):
        used = False
        for schedule in orders(count):
            if time.monotonic() > deadline or tried >= CASES:
                return []
            outcome, groups = _in_order(pair, case, schedule)
            if outcome is None or groups < 2:
                break  # too large; or one SIMD-group, which has no orders to speak of
            used = True
            if outcome.failed:
                return [outcome]
        tried += used
    return []


def _spread(cases: Sequence[AnyCase]) -> list[AnyCase]:
    """Cases of different size, from the smallest that are not trivial."""
    wanted = [case for case in cases if case.work >= 33]
    return [*wanted[:24:4], *wanted[24:240:12]]


def _in_order(pair: Pair, case: AnyCase, schedule: Schedule | None) -> tuple[Outcome | None, int]:
    arguments = case.arguments()
    expected = pair.expected(arguments)
    with _Ordered(schedule) as ordered:
        try:
            got = pair.got(arguments)
        except TooLarge:
            return None, 0
        except Exception as error:
            kind = RAISED if schedule == Schedule() else SCHEDULE
            return Outcome(case, kind, message=f"{error.__class__.__name__}: {error}"), ordered.groups
    outcome = weighed(pair, case, got, expected, bad=SCHEDULE)
    words = "in reverse order" if schedule is None else f"in {schedule.order} order"
    words += f" (seed {schedule.seed})" if schedule and schedule.order == "shuffle" else ""
    return Outcome(case, outcome.kind, outcome.first, outcome.worst, words), ordered.groups
