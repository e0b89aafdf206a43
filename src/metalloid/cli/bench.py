"""`metalloid bench [FILE ...]`: how fast a kernel is, and how near the limits of the machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from metalloid.cli.launching import call_of, launch_options
from metalloid.cli.options import device_option
from metalloid.errors import MetalloidError
from metalloid.measure import Machine, Measurement, Timing, measure, this_machine
from metalloid.measure.chips import CHIPS, chip
from metalloid.measure.kernel import count
from metalloid.measure.roofline import page
from metalloid.measure.timing import shown


@click.command("bench")
@launch_options(required=False)
@click.option("--seconds", default=1.0, show_default=True, help="how long each kernel is timed")
@click.option("--only", metavar="TEXT", help="without FILE: operations with TEXT in their name")
@click.option("--chip", "chip_name", help=f"a Mac's chip, with --took: {', '.join(c.name for c in CHIPS)}")
@click.option("--took", type=float, metavar="SECONDS", help="the time of this launch on that Mac")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="a page with a roofline plot")
@device_option
@click.option("--json", "as_json", is_flag=True, help="for machines")
def command(
    seconds: float,
    chip_name: str | None,
    took: float | None,
    html: Path | None,
    as_json: bool,
    only: str | None,
    file: Path | None,
    **options: Any,
) -> None:
    """Time a kernel of FILE; without one, the kernel library beside numpy, and MLX and PyTorch where installed.

    GB/s counts each buffer once per direction; GFLOP/s counts what the compiled kernel computes. Both stand
    beside what this machine was measured to do just before.

    \b
    metalloid bench add.metal --grid 1048576 --arg a=random:1048576:float32 --arg b=random:1048576:float32
                    --out out:1048576:float32 --html report.html
    metalloid bench add.metal ... --chip "M2 Max" --took 0.00012      a time brought from a Mac
    metalloid bench --only rms_norm                                   of the library
    """
    console = Console()
    if file is None:
        _library(console, seconds, only or "", html, as_json)
        return
    if (chip_name is None) != (took is None):
        raise MetalloidError("--chip and --took belong together: the chip, and the seconds it needed")
    call = call_of(file=file, **options)
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
        _write(html, page(machine, found))
    if as_json:
        click.echo(json.dumps(report(machine, found)))
        return
    console.print(_table(machine, found))
    _footer(console, machine)
    if any(m.share(machine) > 1.1 and m.bound(machine) == "memory" for m in found):
        console.print("above 100%: the data stayed in the caches between runs, which are faster than memory")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    click.echo(f"wrote {path}", err=True)


def _footer(console: Console, machine: Machine) -> None:
    console.print(
        f"{machine.name}: copies {machine.bandwidth / 1e9:.1f} GB/s, computes {machine.peak / 1e9:,.0f} GFLOP/s"
        f" ({machine.origin})"
    )


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


# Heading and cell of each column about one measurement.
_COLUMNS: dict[str, Callable[[Measurement, Machine], str]] = {
    "median": lambda m, machine: shown(m.timing.median),
    "spread": lambda m, machine: f"{m.timing.spread:.0%}",
    "GB/s": lambda m, machine: f"{m.bandwidth / 1e9:.1f}",
    "GFLOP/s": lambda m, machine: f"{m.rate / 1e9:.1f}",
    "limit": lambda m, machine: m.bound(machine),
    "of it": lambda m, machine: f"{m.share(machine):.0%}",
}


def _table(machine: Machine, found: Sequence[Measurement]) -> Table:
    """One row per measurement."""
    columns = {heading: [cell(m, machine) for m in found] for heading, cell in _COLUMNS.items()}
    return _plain(found, columns)


def _plain(found: Sequence[Measurement], columns: Mapping[str, Sequence[str]]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("kernel", no_wrap=True)
    for heading in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    for n, m in enumerate(found):
        table.add_row(m.name, *(column[n] for column in columns.values()))
    return table


def _library(console: Console, seconds: float, only: str, html: Path | None, as_json: bool) -> None:
    """The library's operations; how many times as long others take stands beside each."""
    from metalloid.measure.library import Comparison, compare, operations

    chosen = [o for o in operations() if only in o.name]
    if not chosen:
        names = ", ".join(o.name for o in operations())
        raise MetalloidError(f"no operation has {only!r} in its name; there are {names}")
    found: list[Comparison] = []
    with console.status("measuring the machine") as status:
        machine = this_machine()
        for operation in chosen:
            status.update(operation.name)
            found.append(compare(operation, seconds))
    measured = [c.ours for c in found]
    others = {
        name: [f"{c.faster(name):.3g}x" if name in c.others else "" for c in found]
        for name in dict.fromkeys(n for c in found for n in c.others)
    }
    if html is not None:
        _write(html, page(machine, measured, "The kernel library", others))
    if as_json:
        result = report(machine, measured)
        result["others"] = {c.ours.name: {n: t.median for n, t in c.others.items()} for c in found}
        click.echo(json.dumps(result))
        return
    console.print(_table(machine, measured))
    _footer(console, machine)
    console.print("\nhow many times as long others take on the same processor")
    console.print(_plain(measured, others))
