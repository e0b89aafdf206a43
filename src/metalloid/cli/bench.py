"""`metalloid bench FILE ...`: how fast a kernel is, and how near the limits of the machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from metalloid.cli.launching import call_of, launch_options
from metalloid.errors import MetalloidError
from metalloid.measure import Machine, Measurement, Timing, measure, this_machine
from metalloid.measure.chips import CHIPS, chip
from metalloid.measure.kernel import count
from metalloid.measure.roofline import page
from metalloid.measure.timing import shown


@click.command("bench")
@launch_options()
@click.option("--seconds", default=1.0, show_default=True, help="how long each kernel is timed")
@click.option("--chip", "chip_name", help=f"a Mac's chip, with --took: {', '.join(c.name for c in CHIPS)}")
@click.option("--took", type=float, metavar="SECONDS", help="the time of this launch on that Mac")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="a page with a roofline plot")
@click.option("--json", "as_json", is_flag=True, help="for machines")
def command(
    seconds: float,
    chip_name: str | None,
    took: float | None,
    html: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Time a kernel of FILE.

    GB/s counts each buffer once per direction; GFLOP/s counts what the compiled kernel computes. Both stand
    beside what this machine was measured to do just before.

    \b
    metalloid bench add.metal --grid 1048576 --arg a=random:1048576:float32 --arg b=random:1048576:float32
                    --out out:1048576:float32 --html report.html
    metalloid bench add.metal ... --chip "M2 Max" --took 0.00012      a time brought from a Mac
    """
    console = Console()
    if (chip_name is None) != (took is None):
        raise MetalloidError("--chip and --took belong together: the chip, and the seconds it needed")
    call = call_of(**options)
    if chip_name is not None and took is not None:
        machine = chip(chip_name).machine
        work = count(call.kernel, call.kernel.launch(**call.bound, **call.sizes))
        found = Measurement(call.kernel.name, Timing(took, took, took, took, 1), work)
    else:
        with console.status("measuring the machine"):
            machine = this_machine()
        with console.status(f"timing {call.kernel.name}"):
            found = measure(call.kernel, **call.bound, **call.sizes, seconds=seconds)
    _finish(console, machine, [found], html, as_json)


def _finish(
    console: Console, machine: Machine, found: Sequence[Measurement], html: Path | None, as_json: bool
) -> None:
    if html is not None:
        html.write_text(page(machine, found), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(report(machine, found)))
        return
    console.print(_table(machine, found))
    console.print(
        f"{machine.name}: copies {machine.bandwidth / 1e9:.1f} GB/s, computes {machine.peak / 1e9:,.0f} GFLOP/s"
        f" ({machine.origin})"
    )
    if any(m.share(machine) > 1.1 and m.bound(machine) == "memory" for m in found):
        console.print("above 100%: the data stayed in the caches between runs, which are faster than memory")


def report(machine: Machine, found: Sequence[Measurement]) -> dict[str, object]:
    """The figures for machines; times in seconds."""
    return {
        "machine": {"name": machine.name, "bandwidth": machine.bandwidth, "peak": machine.peak},
        "kernels": [
            {
                "kernel": m.name,
                "median": m.timing.median,
                "low": m.timing.low,
                "high": m.timing.high,
                "best": m.timing.best,
                "runs": m.timing.runs,
                "operations": m.work.operations,
                "bytes": m.work.moved,
                "bytes_read": m.work.read,
                "bytes_written": m.work.written,
                "bandwidth": m.bandwidth,
                "rate": m.rate,
                "limit": m.bound(machine),
                "share": m.share(machine),
            }
            for m in found
        ],
    }


def _table(machine: Machine, found: Sequence[Measurement]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("kernel")
    for heading in ("median", "spread", "runs", "GB/s", "GFLOP/s", "limit", "of that limit"):
        table.add_column(heading, justify="right", no_wrap=True)
    for m in found:
        table.add_row(
            m.name,
            shown(m.timing.median),
            f"{m.timing.spread:.0%}",
            str(m.timing.runs),
            f"{m.bandwidth / 1e9:.1f}",
            f"{m.rate / 1e9:.1f}",
            m.bound(machine),
            f"{m.share(machine):.0%}",
        )
    return table
