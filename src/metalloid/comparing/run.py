"""`mt.compare`: sweep, shrink, explain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

from metalloid.comparing.across import across
from metalloid.comparing.case import AnyCase, Case, as_cases
from metalloid.comparing.common import Common, common
from metalloid.comparing.compared import Example
from metalloid.comparing.influence import Influence, influence
from metalloid.comparing.judge import RIGHT, SCHEDULE, Function, Mismatch, Outcome, Pair, Wrong, judge
from metalloid.comparing.picture import COLUMNS, ROWS
from metalloid.comparing.resemble import resemblances
from metalloid.comparing.result import Comparison
from metalloid.comparing.schedules import schedule_failures
from metalloid.comparing.shrink import smallest
from metalloid.comparing.sweep import sweep
from metalloid.comparing.tolerance import Tolerance
from metalloid.comparing.witness import witness


def compare(
    function: Function,
    reference: Function,
    cases: Iterable[Any],
    *,
    length: int | str | None = None,
    accumulate: str = "float32",
    ulps: float = 4.0,
    schedules: int = 3,
    shrink: int = 300,
    executor: Executor | None = None,
    progress: bool | None = None,
    devices: Sequence[str] = (),
) -> Comparison:
    """Run a function beside its reference on every case; explain the smallest that differs.

    `function` takes the arrays of a case and returns its outputs; `reference` does the same and is given
    float64 (integers as int64). Cases come from `mt.cases`, or are tuples of arrays. `length`,
    `accumulate` and `ulps` are parts of the tolerance (comparing/tolerance.py); `schedules` is how many
    orders of threads are tried on small cases, `shrink` how many runs the search for the smallest failing
    case may take. `executor` runs the cases elsewhere: any concurrent.futures.Executor, such as that of a
    Dask client; both functions can then be given as "module:name". With `devices`, such as ["cpu", "metal"], the
    function runs on each: `mt.device()` is that device meanwhile, and so is its parameter `device` where it has one.
    """
    pair = Pair(*across(function, reference, devices), Tolerance(length, accumulate, ulps))
    everything = as_cases(cases)
    outcomes = sweep(pair, everything, executor, progress)
    failed = [o for o in outcomes if o.failed]
    if not failed and schedules > 1:
        found = schedule_failures(pair, [o.case for o in outcomes if o.kind == RIGHT], schedules)
        outcomes = [next((f for f in found if f.case is o.case), o) for o in outcomes]
        if found:
            return Comparison(tuple(outcomes), _explained(pair, found[0]), scheduled=schedules)
    if not failed:
        return Comparison(tuple(outcomes), scheduled=schedules)
    best = smallest(failed, lambda case: judge(pair, case), shrink)
    shared = common(outcomes)
    larger = _larger(failed, best)
    return Comparison(
        tuple(outcomes),
        _explained(pair, best),
        _explained(pair, larger, deep=False) if larger else None,
        shared,
        _limit(pair, outcomes, shared),
        scheduled=schedules,
    )


def _explained(pair: Pair, outcome: Outcome, deep: bool = True) -> Example:
    """All that can be said about a failing case."""
    example = Example(outcome)
    wrong, case = outcome.first, outcome.case
    if wrong is None or outcome.kind == SCHEDULE:
        return replace(example, witness=witness(pair, case, wrong) if deep else None)
    arguments = case.arguments()
    expected = pair.expected(arguments)
    got = pair.got(arguments)
    try:
        verdict = pair.verdicts(got, expected, case)[wrong.output]
    except Mismatch:
        return example
    if not verdict.wrong.any():  # it changes from run to run
        return example
    looks = resemblances(pair, case, wrong.output, got[wrong.output], expected[wrong.output], verdict)
    return replace(
        example,
        got=got,
        expected=expected,
        wrong=verdict.wrong,
        error=verdict.error,
        looks=tuple(looks),
        influence=_influence(pair, outcome, wrong) if deep else None,
        witness=witness(pair, case, wrong) if deep else None,
    )


def _influence(pair: Pair, outcome: Outcome, wrong: Wrong) -> tuple[AnyCase, Wrong, Influence] | None:
    """Which inputs matter: in the smallest case, or in one with two of everything where that says more."""
    case = outcome.case
    found = influence(pair, case, wrong)
    if (found is None or not found.extra) and isinstance(case, Case):
        fuller = judge(pair, case.resized(**{name: max(2, n) for name, n in case.sizes}))
        if fuller.first is not None:
            more = influence(pair, fuller.case, fuller.first)
            if more and more.extra:
                return fuller.case, fuller.first, more
    return (case, wrong, found) if found else None


def _larger(failed: Sequence[Outcome], best: Outcome) -> Outcome | None:
    """The largest failing case whose errors can still be drawn, in plain circumstances if there is one."""
    fits = [o for o in failed if o.first and o.kind == best.kind and _drawn(o.first)]
    plain = [o for o in fits if o.case.layout == best.case.layout and o.case.values == best.case.values]
    chosen = max(plain or fits, key=lambda o: o.first.total if o.first else 0, default=None)
    if chosen is None or best.first is None or chosen.first is None or chosen.first.total <= best.first.total:
        return None
    return chosen


def _drawn(wrong: Wrong) -> bool:
    """Whether a map of its errors fits, element by element."""
    return wrong.shape[-1:] <= (COLUMNS,) and wrong.total // max(1, *wrong.shape[-1:], 1) <= ROWS


def _limit(pair: Pair, outcomes: Sequence[Outcome], shared: Common | None) -> tuple[str, int, int] | None:
    """The exact size from which on it is wrong, found by halving between a right and a wrong case."""
    wanted = shared.limit if shared else None
    if wanted is None:
        return None
    wrong = min((o.case for o in outcomes if o.failed), key=lambda c: (c.measured()[wanted.size], c.work))
    low, high = wanted.limit, wrong.measured()[wanted.size]
    if not isinstance(wrong, Case) or wanted.size in wrong.fixed:
        return wanted.size, low, high
    while high - low > 1:
        middle = (low + high) // 2
        if judge(pair, _resized(wrong, wanted.size, middle)).failed:
            high = middle
        else:
            low = middle
    return wanted.size, low, high


def _resized(case: Case, name: str, size: int) -> AnyCase:
    return case.resized(**{name: size})
