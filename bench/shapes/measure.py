"""One case: is the result right, by the kernel and by C; then how long each takes, in turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.shapes.kernel import Launcher
from bench.shapes.plain_c import ROUNDED, loops
from bench.shapes.textbook import TOLERANCE, Array, Case, Data
from metalloid.backends import patience

BEHIND = 0.7  # of C
TURN = 3  # runs of one before the next has its turn: the first finds what the others left of the cache
POISON = 0x5A


@dataclass(frozen=True)
class Times:
    """Seconds of a run. One thread by the processor's time; two, beside one, by the clock."""

    case: Case
    elements: int
    kernel: float
    c: float
    numpy: float | None
    one: float = 0.0
    two: float = 0.0
    rounded: float = 0.0  # C that rounds each step of halves, where C that does not is far ahead

    @property
    def ratio(self) -> float:
        return self.c / self.kernel

    @property
    def each(self) -> float:
        """Nanoseconds of an element."""
        return self.kernel / self.elements * 1e9


def measured(case: Case, seconds: float, two_threads: bool) -> Times:
    """Good code is timed, however few turns there are."""
    with patience.measuring():
        return _measured(case, seconds, two_threads)


def _measured(case: Case, seconds: float, two_threads: bool) -> Times:
    data = case.book.make(case.type, case.size, case.group)
    kernel, c = Launcher(case, data), loops(case, data)
    for name, run in (("kernel", kernel), ("C", c)):
        _verify(case, data, name, run)
    for _ in range(2):  # what comes a second time is worth a proof
        kernel()
    _verify(case, data, "kernel, proved", kernel)
    actions: list[Callable[[], object]] = [kernel, c, *([data.numpy] if data.numpy else [])]
    found = _best(actions, seconds, time.thread_time)
    one = two = 0.0
    if two_threads:
        pair = Launcher(case, data, threads=2)
        _verify(case, data, "kernel on two threads", pair)
        pair(), pair()
        one, two = _best([kernel, pair], seconds, time.perf_counter)
    rounded = 0.0
    if case.type == "half" and found[1] < BEHIND * found[0]:
        _, rounded = _best([kernel, loops(case, data, ROUNDED)], seconds, time.thread_time)
    plain = found[2] if data.numpy else None
    elements = max(a.size for a in data.arrays)
    return Times(case, elements, found[0], found[1], plain, one, two, rounded)


def _best(actions: list[Callable[[], object]], seconds: float, clock: Callable[[], float]) -> list[float]:
    """A time that one of ten runs stays below: the least of all is now and then 0 on virtual machines, whose clocks of
    threads are corrected."""
    found: list[list[float]] = [[] for _ in actions]
    end, rounds = time.perf_counter() + seconds, 0
    while time.perf_counter() < end or rounds < 2:
        for n, action in enumerate(actions):
            if isinstance(action, Launcher):
                action.ready()
            for _ in range(TURN):
                start = clock()
                action()
                found[n].append(clock() - start)
        rounds += 1
    return [sorted(times)[len(times) // 10] for times in found]


def _verify(case: Case, data: Data, name: str, run: Callable[[], object]) -> None:
    """Outputs hold a pattern before, so that nothing is right by being left alone."""
    for index in data.expected:
        start = (data.start or {}).get(index)
        if start is None:
            data.arrays[index].reshape(-1).view(np.uint8)[:] = POISON
        else:
            data.arrays[index][...] = start
    if isinstance(run, Launcher):
        run.ready()
    run()
    for index, expected in data.expected.items():
        error = _error(data.arrays[index], expected, data.strays)
        if error:
            raise SystemExit(f"{case.label}: {name}, argument {index}: {error}")


def _error(found: Array, expected: Array, strays: float) -> str:
    if np.issubdtype(found.dtype, np.integer):
        wrong = found.astype(np.int64) != expected
    else:
        limit = TOLERANCE[found.dtype.name] * max(1.0, float(np.abs(expected).max()))
        wrong = ~(np.abs(found.astype(np.float64) - expected) <= limit)
    if wrong.sum() <= strays * wrong.size:
        return ""
    at = tuple(int(i[0]) for i in np.nonzero(wrong))
    return f"{wrong.sum()} of {wrong.size} differ, first at {at}: {found[at]}, expected {expected[at]}"
