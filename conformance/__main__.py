"""`python -m conformance [SUITE ...] [--only TEXT] [--json] [--failures N]`.

`results` runs kernels instead and compares what they compute; `wild` runs them under the checker; `binaries` takes
kernels from compiled libraries; `tinygrad` runs tinygrad's operations through `import Metal`, `metalcompute` the
examples of that package; `ggml-host` builds ggml's Metal host on the framework and runs llama.cpp's own tests;
`strangers` runs kernels on numbers nobody chose;
`nvidia` runs on a machine with an NVIDIA GPU what others have packed. Each has a `--help` of its own.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from importlib import import_module
from multiprocessing import get_context

import click
from rich.console import Console
from rich.progress import track

from conformance import ggml, inline_kernels, mlx_headers, pytorch, report, spirv_cross
from conformance.cases import Case
from conformance.check import Outcome, check

SUITES: dict[str, Callable[[], list[Case]]] = {
    "ggml": ggml.cases,
    "mlx": mlx_headers.usual_cases,
    "mlx-nax": mlx_headers.nax_cases,
    "inline": inline_kernels.cases,
    "spirv-cross": spirv_cross.cases,
    "pytorch": pytorch.cases,
}


@click.command(help=__doc__)
@click.argument("suites", nargs=-1, type=click.Choice(list(SUITES)))
@click.option("--only", default="", help="Compile only kernels whose file or name contains this.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcomes as JSON.")
@click.option("--failures", default=40, help="How many failures to show.")
@click.option("--jobs", default=os.cpu_count() or 1, help="Processes.")
def main(suites: tuple[str, ...], only: str, as_json: bool, failures: int, jobs: int) -> None:
    console = Console(stderr=as_json)
    cases: list[Case] = []
    for suite in suites or SUITES:
        with console.status(f"reading {suite}"):
            cases += SUITES[suite]()
    cases = [case for case in cases if only in case.name]
    outcomes = run(cases, jobs, console)
    if as_json:
        print(json.dumps([asdict(o) for o in outcomes], indent=1))
    report.table(outcomes, console)
    report.failures(outcomes, console, failures)
    if only or suites:
        if not only:
            report.update_page(outcomes)
        sys.exit(any(not o.passed for o in outcomes))
    missing = [f"{file}, line {entry.line}: {entry.reason}" for file, entry in inline_kernels.unresolved()]
    report.write_page(outcomes, missing)
    fallen = report.regressions(outcomes)
    fallen += [f"mlx: {name} is not instantiated" for name in sorted(mlx_headers.missing())]
    for sentence in fallen:
        console.print(f"[red]{sentence}[/red]")
    sys.exit(bool(fallen))


_cases: list[Case] = []  # filled before the processes fork: a source need not travel


def _check(index: int) -> Outcome:
    return check(_cases[index])


def run(cases: list[Case], jobs: int, console: Console) -> list[Outcome]:
    """Every case, in order; neighbours share a process, where `check` keeps the source it parsed."""
    _cases[:] = cases
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        pending = pool.map(_check, range(len(cases)), chunksize=8)
        return list(track(pending, "compiling", total=len(cases), console=console))


# What runs more than the compiler, by its word: a module with `main`.
_COMMANDS = {
    "results": "conformance.results.command",
    "wild": "conformance.results.wild",
    "binaries": "conformance.binaries.command",
    "tinygrad": "conformance.tinygrad.command",
    "metalcompute": "conformance.metalcompute",
    "ggml-host": "conformance.ggml_host.command",
    "nvidia": "conformance.nvidia.command",
    "strangers": "conformance.strangers.command",
}

if __name__ == "__main__":
    if module := _COMMANDS.get(sys.argv[1] if len(sys.argv) > 1 else ""):
        import_module(module).main(sys.argv[2:])
    main()
