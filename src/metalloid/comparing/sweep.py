"""Run all cases: here, or wherever an executor takes them.

Cases travel in small bundles, so that a cluster is not asked a thousand times for a millisecond's work.
On a terminal a line shows how far it is; elsewhere nothing is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import contextmanager

from metalloid.comparing.case import AnyCase
from metalloid.comparing.judge import Outcome, Pair, judge
from metalloid.errors import MetalloidError

BUNDLE = 16  # cases in one piece of work

Advance = Callable[[Sequence[Outcome]], None]


def bundle(pair: Pair, cases: Sequence[AnyCase]) -> list[Outcome]:
    """What one worker does."""
    return [judge(pair, case) for case in cases]


def sweep(
    pair: Pair, cases: Sequence[AnyCase], executor: Executor | None, progress: bool | None
) -> list[Outcome]:
    """The outcome of every case, in the order of the cases."""
    with _progress(len(cases), progress) as advance:
        if executor is None:
            return list(_here(pair, cases, advance))
        return _elsewhere(pair, cases, executor, advance)


def _here(pair: Pair, cases: Iterable[AnyCase], advance: Advance) -> Iterator[Outcome]:
    for case in cases:
        outcome = judge(pair, case)
        advance((outcome,))
        yield outcome


def _elsewhere(pair: Pair, cases: Sequence[AnyCase], executor: Executor, advance: Advance) -> list[Outcome]:
    pieces = [cases[n : n + BUNDLE] for n in range(0, len(cases), BUNDLE)]
    done: dict[int, list[Outcome]] = {}
    try:
        futures = {executor.submit(bundle, pair, piece): n for n, piece in enumerate(pieces)}
        for future in as_completed(futures):
            done[futures[future]] = future.result()
            advance(done[futures[future]])
    except MetalloidError:
        raise
    except Exception as error:
        raise MetalloidError(
            f"[compare] {executor.__class__.__name__} could not run the cases: {error}\n"
            "The function and the reference must be importable where the executor runs: give functions of a"
            ' module, or their names as "module:function".'
        ) from error
    return [outcome for n in sorted(done) for outcome in done[n]]


@contextmanager
def _progress(total: int, wanted: bool | None) -> Iterator[Advance]:
    """A bar on a terminal; nothing where nobody watches."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda outcomes: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    wrong = 0
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("comparing", total=total)

        def advance(outcomes: Sequence[Outcome]) -> None:
            nonlocal wrong
            wrong += sum(outcome.failed for outcome in outcomes)
            case = str(outcomes[-1].case) if outcomes else ""
            said = f"comparing ({case})" + (f", {wrong} wrong" if wrong else "")
            bar.update(task, advance=len(outcomes), description=said)

        yield advance
