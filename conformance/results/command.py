"""`python -m conformance results [--only TEXT] [--backend oracle|cpu] [--size small|large]`."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from conformance import report
from conformance.results.case import Case, Size
from conformance.results.judge import BACKENDS, Verdict, judge
from conformance.results.page import KEPT
from conformance.results.suites import all_cases


@click.command(help=__doc__)
@click.option("--only", default="", help="Run only cases whose suite, family or name contains this.")
@click.option("--backend", type=click.Choice(list(BACKENDS)), default="oracle")
@click.option(
    "--size", type=click.Choice(["small", "large"]), default=None, help="small, unless on an engine."
)
@click.option("--jobs", default=os.cpu_count() or 1, help="Processes.")
def main(only: str, backend: str, size: Size | None, jobs: int) -> None:
    console = Console()
    cases = [case for case in all_cases() if only in case.label]
    verdicts = run(cases, backend, size, jobs, console)
    _table(verdicts, console)
    _summary(verdicts, console)
    if not only:
        store(verdicts, backend)
    sys.exit(any(not v.passed for v in verdicts))


_cases: list[Case] = []  # filled before the processes fork: data is made where it is used


def _judge(index: int, backend: str, size: Size | None) -> tuple[int, Verdict]:
    return index, judge(_cases[index], backend, size)


def run(cases: list[Case], backend: str, size: Size | None, jobs: int, console: Console) -> list[Verdict]:
    _cases[:] = cases
    found: dict[int, Verdict] = {}
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        pending = [pool.submit(_judge, n, backend, size) for n in range(len(cases))]
        for done in track(as_completed(pending), "running", total=len(cases), console=console):
            index, verdict = done.result()
            found[index] = verdict
            if not console.is_terminal:  # where no bar moves, a line says how far it is
                print(_line(verdict), flush=True)
    return [found[n] for n in sorted(found)]


def _line(v: Verdict) -> str:
    state = "ok" if v.passed else "FAILED"
    return f"{state} {v.suite} {v.family} {v.name} {v.error:.1e} {v.seconds:.1f} s {v.reason}".replace(
        "\n", " "
    )


def _table(verdicts: list[Verdict], console: Console) -> None:
    view = Table("suite", "family", "case", "error", "allowed", "reversed", "s", title="results")
    for v in verdicts:
        numbers = (f"{v.error:.1e}", f"{v.tolerance:.1e}", v.order, f"{v.seconds:.1f}")
        view.add_row(v.suite, v.family, v.name, *numbers, style="" if v.passed else "red")
    console.print(view)
    for v in verdicts:
        if not v.passed:
            console.print(f"[red]{v.suite} {v.family} {v.name}[/red] ({', '.join(v.kernels)})")
            console.print(f"    {v.reason}", markup=False, highlight=False)


def summary(verdicts: list[Verdict]) -> dict[tuple[str, str], tuple[int, int]]:
    """Passed and total, by suite and family."""
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for v in verdicts:
        passed, total = counts.get((v.suite, v.family), (0, 0))
        counts[v.suite, v.family] = (passed + v.passed, total + 1)
    return counts


def _summary(verdicts: list[Verdict], console: Console) -> None:
    for (suite, family), (passed, total) in summary(verdicts).items():
        console.print(f"{suite} {family}: {passed} of {total}")
    kernels = {(v.suite, name) for v in verdicts if v.passed for name in v.kernels}
    for suite in dict.fromkeys(v.suite for v in verdicts):
        passed = sum(v.passed for v in verdicts if v.suite == suite)
        total = sum(v.suite == suite for v in verdicts)
        distinct = sum(s == suite for s, _ in kernels)
        console.print(f"{suite}: {passed} of {total} cases, {distinct} different kernels")


def store(verdicts: list[Verdict], backend: str) -> None:
    """Keep the verdicts of a whole run, by backend, for the page that docs/ gets."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    kept[backend] = [{**asdict(v), "passed": v.passed} for v in verdicts]
    KEPT.write_text(json.dumps(kept, indent=1))
    report.write_results()
