"""How long something takes: warmed up, many runs, the median and the spread.

Several things to compare run in turns, so that whatever else the machine does hits all of them alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from metalloid.backends.patience import measuring

Action = Callable[[], object]
_LEAST_RUNS, _MOST_RUNS = 5, 10_000


class Seconds(float):
    """What an action returns that knows better than the host's clock how long it took."""


@dataclass(frozen=True)
class Timing:
    """Seconds. Half of all runs lie between `low` and `high`."""

    median: float
    low: float
    high: float
    best: float
    runs: int

    @property
    def spread(self) -> float:
        """The width of the middle half, as a share of the median."""
        return (self.high - self.low) / self.median


def timed(*actions: Action, seconds: float = 1.0, warm_up: int = 3) -> list[Timing]:
    """The timing of each action; every action must have finished its work when it returns."""
    with measuring():  # what is warm by then stays as it is
        for action in actions:
            for _ in range(warm_up):
                action()
    found: list[list[float]] = [[] for _ in actions]
    end = time.perf_counter() + seconds
    while (time.perf_counter() < end and len(found[0]) < _MOST_RUNS) or len(found[0]) < _LEAST_RUNS:
        for action, times in zip(actions, found, strict=True):
            start = time.perf_counter()
            said = action()
            times.append(float(said) if isinstance(said, Seconds) else time.perf_counter() - start)
    return [_summary(times) for times in found]


def _summary(times: list[float]) -> Timing:
    low, median, high = np.percentile(times, (25, 50, 75))
    return Timing(float(median), float(low), float(high), min(times), len(times))


def shown(seconds: float) -> str:
    """1.23 ms, 45.6 µs, 2.00 s."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
