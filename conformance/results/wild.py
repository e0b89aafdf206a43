"""`python -m conformance wild [--only TEXT]`: every case under the checker; what it finds is kept.

`docs/found-in-the-wild.md` argues each finding. This command says which there are, one line per rule and kernel.
"""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from zlib import crc32

import click
import numpy as np
from rich.console import Console
from rich.progress import track

from conformance.packages import STORE
from conformance.results.case import Case, Step
from conformance.results.launch import run_on_engine
from conformance.results.suites import all_cases

KEPT = STORE / "wild.json"


@dataclass(frozen=True)
class Found:
    """A finding, or the sentence that says why a case could not be checked."""

    suite: str
    family: str
    case: str
    kernel: str
    rule: str
    message: str
    place: str


@click.command(help=__doc__)
@click.option("--only", default="", help="Only cases whose suite, family or name contains this.")
@click.option("--jobs", default=os.cpu_count() or 1, help="Processes.")
@click.option("--limit", default=0.0, help="Seconds after which no further case is begun.")
def main(only: str, jobs: int, limit: float) -> None:
    cases = [case for case in all_cases() if only in case.label]
    console = Console()
    found, done = check_all(cases, jobs, limit, console)
    for f in sorted(set(found), key=lambda f: (f.rule, f.suite, f.kernel, f.case)):
        console.print(
            f"{f.rule} {f.suite} {f.kernel} ({f.case}): {f.message}  {f.place}",
            highlight=False,
            soft_wrap=True,
        )
    clean = done - len({(f.suite, f.family, f.case) for f in found})
    console.print(f"{clean} of {done} cases without a finding; {len(cases) - done} not begun")
    if not only:
        KEPT.write_text(json.dumps([asdict(f) for f in found], indent=1))


_cases: list[Case] = []  # filled before the processes fork


def check_all(cases: list[Case], jobs: int, limit: float, console: Console) -> tuple[list[Found], int]:
    """Findings of all cases, and how many cases were run."""
    _cases[:] = cases
    end = time.monotonic() + limit if limit else None
    found: list[Found] = []
    done = 0
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        pending = [pool.submit(_check, n, end) for n in range(len(cases))]
        for one in track(as_completed(pending), "checking", total=len(cases), console=console):
            result = one.result()
            if result is not None:
                found += result
                done += 1
                if not console.is_terminal:
                    told = (f"  {f.rule} {f.kernel}: {f.message} {f.place}" for f in result)
                    print(cases[pending.index(one)].label, *told, sep="\n", flush=True)
    return found, done


def _check(index: int, end: float | None) -> list[Found] | None:
    if end is not None and time.monotonic() > end:
        return None
    case = _cases[index]
    rng = np.random.default_rng(crc32(case.label.encode()))
    found: list[Found] = []
    for step in case.make(rng, "small").steps:
        found += _step(case, step)
    return found


def _step(case: Case, step: Step) -> list[Found]:
    import metalloid as mt
    from metalloid.findings.finding import NOTE

    def made(rule: str, message: str, place: str = "") -> Found:
        return Found(case.suite, case.family, case.name, step.kernel, rule, message, place)

    try:
        with mt.checked() as report:
            run_on_engine(step)
    except mt.MetalloidError as error:
        return [made("refused", str(error).splitlines()[0])]
    found = []
    for f in report.findings:
        if f.severity != NOTE:
            place = f"{Path(f.location.file).name}:{f.location.line}" if f.location else ""
            found.append(made(f.rule, f.message, place))
    return found
