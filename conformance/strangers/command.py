"""`python -m conformance strangers [SUITE ...] [--only TEXT] [--resume] [--limit N]`.

Runs the kernels of suites that nobody launches here on plain buffers of numbers: on the oracle, then on the engine with
several widths, guarded and not, and compares every bit (docs/strangers.md). Those of different files come first.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import click
from rich.console import Console

from conformance import pytorch, spirv_cross
from conformance.cases import Case
from conformance.checkout import commit
from conformance.packages import STORE
from conformance.strangers.opinions import opinion
from conformance.strangers.page import write_page
from metalloid.errors import CompileError
from metalloid.frontend import compile_kernel

SUITES: dict[str, Callable[[], list[Case]]] = {"spirv-cross": spirv_cross.cases, "pytorch": pytorch.cases}
KEPT = STORE / "strangers.jsonl"


@dataclass(frozen=True)
class Told:
    """What came of one kernel."""

    suite: str
    name: str
    agreed: int = 0
    skipped: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    commit: str = ""


@click.command(help=__doc__)
@click.argument("suites", nargs=-1, type=click.Choice(list(SUITES)))
@click.option("--only", default="", help="Run only kernels whose file or name contains this.")
@click.option("--resume", is_flag=True, help="Go on behind the kernels of an earlier run.")
@click.option("--limit", default=0, help="Stop after so many kernels.")
def main(suites: Sequence[str], only: str, resume: bool, limit: int) -> None:
    console, code = Console(), commit()
    told = _kept() if resume else {}
    cases = [
        c for s in suites or SUITES for c in by_turns(SUITES[s]()) if only in c.name and c.name not in told
    ]
    try:
        for number, case in enumerate(cases[: limit or None], 1):
            told[case.name] = found = replace(tell(case), commit=code)
            with KEPT.open("a") as file:
                file.write(json.dumps(asdict(found)) + "\n")
            _say(console, f"{number}/{len(cases)}", found)
    finally:  # a run that is stopped has seen something, too
        if not only:
            write_page(list(told.values()))
    sys.exit(any(t.wrong for t in told.values()))


def _say(console: Console, number: str, found: Told) -> None:
    state = "[red]wrong[/red]" if found.wrong else "ok" if found.agreed else "not run"
    console.print(f"{number} {state} {found.name}", *found.wrong, *found.skipped, sep="\n    ")


def tell(case: Case) -> Told:
    """With safe math: fast math lets an engine add in another order."""
    if case.refused or case.invalid:
        return Told(case.suite, case.name, skipped=("refused by rule",))
    source, kernel = case.attempts[0]
    try:
        found = opinion(compile_kernel(replace(source, math="safe"), kernel, case.constants))
    except CompileError as error:
        return Told(case.suite, case.name, wrong=(error.diagnostics[0].text(),))
    return Told(case.suite, case.name, found.agreed, found.skipped, found.wrong)


def by_turns(cases: Sequence[Case]) -> Iterator[Case]:
    """One kernel of each file, then the second ones: a part of a run has seen as much as it could."""
    files: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        files[case.file].append(case)
    for n in range(max(map(len, files.values()), default=0)):
        yield from (members[n] for members in files.values() if n < len(members))


def _kept() -> dict[str, Told]:
    lines = KEPT.read_text().splitlines() if KEPT.exists() else []
    found = (Told(**json.loads(line)) for line in lines)
    return {told.name: told for told in found}  # the last word on each
