"""From a failing case to the smallest that fails in the same way.

First what makes a case special is dropped (values, layout, seed), then every size is made smaller:
to nothing, to 1, to half, by one. Whatever still fails is taken, until nothing smaller does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from metalloid.comparing.case import AnyCase, Case
from metalloid.comparing.judge import Outcome

Judge = Callable[[AnyCase], Outcome]


def smallest(outcomes: list[Outcome], judge: Judge, tries: int) -> Outcome:
    """The smallest failing outcome that can be found from these within so many runs."""
    best = min(outcomes, key=_rank)
    left = tries
    again = True
    while again and isinstance(best.case, Case) and left > 0:
        again = False
        for candidate in _simpler(best.case):
            if left <= 0:
                break
            left -= 1
            outcome = judge(candidate)
            if outcome.kind == best.kind:
                best, again = outcome, True
                break
    return best


def _rank(outcome: Outcome) -> tuple[int, int, str]:
    case = outcome.case
    special = (case.layout != "contiguous") + (case.values != "ordinary")
    return case.work, special, str(case)


def _simpler(case: Case) -> Iterator[Case]:
    """The boldest first."""
    if case.values != "ordinary":
        yield replace(case, values="ordinary")
    if case.layout != "contiguous":
        yield replace(case, layout="contiguous")
    sizes = {name: size for name, size in case.sizes if name not in case.fixed}
    for keep in (0, 1, 2):
        for name, size in sizes.items():
            if size > keep:
                yield case.resized(**{name: keep})
    for name, size in sizes.items():
        for less in (size // 2, size * 3 // 4, size - size // 8 - 1, size - 1):
            if 2 < less < size:
                yield case.resized(**{name: less})
