"""`metalloid tune FILE ...`: the fastest threadgroup for a launch."""

from __future__ import annotations

import json
import sys
from math import prod
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from metalloid.cli.launching import call_of, launch_options
from metalloid.errors import MetalloidError
from metalloid.measure import Trial, tune
from metalloid.measure.timing import shown


@click.command("tune")
@launch_options()
@click.option("--seconds", default=0.2, show_default=True, help="how long each threadgroup is timed")
@click.option("--json", "as_json", is_flag=True, help="for machines")
def command(seconds: float, as_json: bool, **options: Any) -> None:
    """Try threadgroups of every reasonable size for a launch and print them, the fastest first.

    The grid stays as it is. A size that faults or changes the results is not recommended; the results are
    compared with those of --threadgroup.

    \b
    metalloid tune add.metal --grid 1048576 --threadgroup 256 --arg a=random:1048576:float32 ...
    """
    call = call_of(**options)
    sizes = dict(call.sizes)
    if sizes.pop("threadgroups") is not None:
        raise MetalloidError(
            "tune changes the threadgroup and keeps the grid: give --grid, not --threadgroups"
        )
    console = Console(stderr=True)
    with console.status("running") as status:
        trials = tune(
            call.kernel,
            **call.bound,
            **sizes,
            seconds=seconds,
            progress=lambda t: status.update(f"threadgroup {_size(t)}"),
        )
    if as_json:
        click.echo(json.dumps([_json(t) for t in trials]))
    else:
        _print(call.kernel.name, trials)
    sys.exit(0 if any(not t.problem for t in trials) else 1)


def _json(trial: Trial) -> dict[str, object]:
    seconds = trial.timing.median if trial.timing else None
    return {"threadgroup": trial.threadgroup, "median": seconds, "problem": trial.problem}


def _print(kernel: str, trials: list[Trial]) -> None:
    fine = [t for t in trials if t.timing is not None]
    table = Table(title=f"threadgroups for {kernel}", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("threadgroup", "threads", "median", "spread", "slower by"):
        table.add_column(heading, justify="right", no_wrap=True)
    for t in fine[:12]:
        assert t.timing and fine[0].timing
        slower = t.timing.median / fine[0].timing.median - 1
        table.add_row(
            _size(t),
            str(prod(t.threadgroup)),
            shown(t.timing.median),
            f"{t.timing.spread:.0%}",
            f"{slower:.0%}",
        )
    console = Console()
    console.print(table)
    if len(fine) > 12:
        console.print(f"and {len(fine) - 12} slower ones")
    refused: dict[str, list[Trial]] = {}
    for t in trials:
        if t.problem:
            refused.setdefault("" if t.problem == "gives other results" else "fault", []).append(t)
    for kind, those in refused.items():
        sizes = ", ".join(_size(t) for t in those[:6]) + (", ..." if len(those) > 6 else "")
        what = "stop with a fault" if kind else "give other results"
        console.print(f"{len(those)} {what} and cannot be used: {sizes}")
        if kind:
            console.print(f"  {those[0].problem}", soft_wrap=True, highlight=False)
    if fine:
        console.print(f"best: --threadgroup {_size(fine[0])}")


def _size(trial: Trial) -> str:
    x, y, z = trial.threadgroup
    return f"{x},{y},{z}" if z > 1 else f"{x},{y}" if y > 1 else str(x)
