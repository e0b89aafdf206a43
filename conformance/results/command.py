"""`python -m conformance results [--only TEXT] [--backend oracle|cpu|both] [--size small|large] [--resume]`.

`both` is the second opinion: each case on the oracle and, on the same data, on the engine in every way to run it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from conformance import report
from conformance.checkout import commit, processor
from conformance.results import kept, opinion_page, record
from conformance.results.case import Case, Size
from conformance.results.judge import BACKENDS, Verdict, judge
from conformance.results.mlx.coverage import missing
from conformance.results.second import BOTH, second_opinion
from conformance.results.suites import all_cases
from conformance.results.ways import Extent
from conformance.results.workers import Died, work_on


@click.command(help=__doc__)
@click.option("--only", default="", help="Run only cases whose suite, family or name contains this.")
@click.option("--backend", type=click.Choice([*BACKENDS, BOTH]), default="oracle")
@click.option(
    "--size", type=click.Choice(["small", "large"]), default=None, help="small, unless on an engine."
)
@click.option(
    "--ways",
    type=click.Choice(["quick", "chosen", "widths", "every"]),
    default="widths",
    help="both: two ways; all with as many lanes as are chosen; other numbers too; each with all guards and orders.",
)
@click.option("--resume", is_flag=True, help="both: skip what the same code has been told of the same data.")
@click.option("--minutes", type=float, default=None, help="Begin no case later than that.")
@click.option("--jobs", default=os.cpu_count() or 1, help="Processes.")
def main(
    only: str,
    backend: str,
    size: Size | None,
    ways: Extent,
    resume: bool,
    minutes: float | None,
    jobs: int,
) -> None:
    console, every = Console(), all_cases()
    cases = [case for case in every if only in case.label]
    if backend == BOTH:
        cases = record.oldest_first(cases, processor())
    ends = None if minutes is None else time.monotonic() + 60 * minutes
    verdicts = run(cases, (backend, size, ways, resume), jobs, console, ends)
    _table(verdicts, console)
    _summary(verdicts, console)
    if backend == BOTH:
        record.drop_others(case.label for case in every)
        opinion_page.write(every)
        report.write_results()
    elif not only and len(verdicts) == len(cases):
        for name in sorted(missing(cases)):
            console.print(f"mlx: no case launches {name}")
    sys.exit(any(not v.passed for v in verdicts))


How = tuple[str, Size | None, Extent, bool]  # backend, size, ways, resume
_cases: list[Case] = []  # filled before the processes fork: data is made where it is used
_known: dict[str, Verdict] = {}


def _judge(index: int, how: How) -> Verdict:
    backend, size, extent, resume = how
    case = _cases[index]
    if backend != BOTH:
        return judge(case, backend, size)
    try:
        key = kept.key_of(case, extent)
    except Exception:  # data that cannot be made: the verdict says so
        return second_opinion(case, extent)
    if resume and key in _known:
        return _known[key]
    verdict = second_opinion(case, extent)
    kept.keep(key, verdict)
    return verdict


def run(cases: list[Case], how: How, jobs: int, console: Console, ends: float | None = None) -> list[Verdict]:
    """Verdicts in the order of their cases; of those that began before a time of the monotonic clock."""
    _cases[:] = cases
    _known.clear()
    if how[3]:
        _known.update(kept.known())
    found: dict[int, Verdict] = {}
    done, code = _done(cases, how, jobs, ends), commit()
    for index, verdict in track(done, "running", total=len(cases), console=console):
        found[index] = verdict
        if how[0] == BOTH and how[2] in ("widths", "every"):  # fewer ways are no second opinion
            record.add(processor(), code, [verdict])
        if not console.is_terminal:  # where no bar moves, a line says how far it is
            print(f"{len(found)}/{len(cases)} {_line(verdict)}", flush=True)
    return [found[n] for n in sorted(found)]


def _done(cases: list[Case], how: How, jobs: int, ends: float | None) -> Iterator[tuple[int, Verdict]]:
    for index, result in work_on(_judge, len(cases), (how,), jobs, ends):
        if isinstance(result, Died):
            case = cases[index]
            yield index, Verdict(case.suite, case.family, case.name, how[0], reason=str(result))
        else:
            yield index, result


def _line(v: Verdict) -> str:
    state = "ok" if v.passed else "FAILED"
    ulps = f" {v.ulps:.3g} ulps" if v.ways else ""
    text = f"{state} {v.suite} {v.family} {v.name} {v.error:.1e}{ulps} {v.seconds:.1f} s {v.reason}"
    return text.replace("\n", " ")


def _table(verdicts: list[Verdict], console: Console) -> None:
    view = Table(
        "suite", "family", "case", "error", "allowed", "reversed", "ulps", "ways", "s", title="results"
    )
    for v in verdicts:
        numbers = (f"{v.error:.1e}", f"{v.tolerance:.1e}", v.order, f"{v.ulps:.3g}", str(v.ways))
        view.add_row(v.suite, v.family, v.name, *numbers, f"{v.seconds:.1f}", style="" if v.passed else "red")
    console.print(view)
    for v in verdicts:
        if not v.passed:
            console.print(f"[red]{v.suite} {v.family} {v.name}[/red] ({', '.join(v.kernels)})")
            console.print(f"    {v.reason}", markup=False, highlight=False)


def summary(verdicts: list[Verdict]) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Passed, of those the same in every bit, and total, by suite and family."""
    counts: dict[tuple[str, str], tuple[int, int, int]] = {}
    for v in verdicts:
        passed, same, total = counts.get((v.suite, v.family), (0, 0, 0))
        counts[v.suite, v.family] = (passed + v.passed, same + (v.passed and v.ulps == 0), total + 1)
    return counts


def _summary(verdicts: list[Verdict], console: Console) -> None:
    both = any(v.ways for v in verdicts)
    for (suite, family), (passed, same, total) in summary(verdicts).items():
        console.print(f"{suite} {family}: {passed} of {total}{f', {same} in every bit' if both else ''}")
    kernels = {(v.suite, name) for v in verdicts if v.passed for name in v.kernels}
    for suite in dict.fromkeys(v.suite for v in verdicts):
        passed = sum(v.passed for v in verdicts if v.suite == suite)
        total = sum(v.suite == suite for v in verdicts)
        distinct = sum(s == suite for s, _ in kernels)
        console.print(f"{suite}: {passed} of {total} cases, {distinct} different kernels")
