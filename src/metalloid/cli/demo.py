"""`metalloid demo`: Metal kernels on this machine, checked against numpy and measured; and a broken one, explained."""

from __future__ import annotations

import sys
import time
from importlib import resources
from typing import Any, Literal

import click
import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

import metalloid as mt
from metalloid.cli.paint import paint
from metalloid.demo import CASES, Case

RUNS = 7
NEXT = {
    "metalloid rule M201": "what the rule means, and a clean twin of the kernel",
    "metalloid check FILE ...": "the same for a kernel of yours; --html for a page",
    "metalloid studio": "a gallery of such kernels, in the browser",
    "metalloid check train.py": "every launch of a program, MLX and PyTorch included",
}


@click.command("demo")
def command() -> None:
    """Run the demo kernels, compare each with numpy, print time, GB/s and GFLOP/s; then explain a broken one."""
    device = mt.device()
    text = (resources.files("metalloid.demo") / "kernels.metal").read_text(encoding="utf-8")
    library = device.library(text)
    table = Table(title=f"Metal kernels on the {device.name}", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("kernel", "threads", "result", "error", "compiled", "time", "GB/s", "GFLOP/s"):
        justify: Literal["left", "right"] = "left" if heading in ("kernel", "result") else "right"
        table.add_column(heading, justify=justify, no_wrap=True)
    right = True
    console = Console()
    with console.status("running") as status:
        for make in CASES:
            case = make()
            status.update(case.kernel)
            row, fine = _run(library[case.kernel], case)
            right &= fine
            table.add_row(*row)
    console.print(table)
    right &= _explain_a_broken_one(device, console)
    sys.exit(0 if right else 1)


def _explain_a_broken_one(device: mt.Device, console: Console) -> bool:
    """A kernel with a race, whose result is right here and wrong elsewhere; whether it was found."""
    text = (resources.files("metalloid.demo") / "reverse.metal").read_text(encoding="utf-8")
    kernel = device.library(text, name="reverse.metal")["reverse"]
    x, y = np.arange(512, dtype=np.float32).reshape(8, 64), np.zeros((8, 64), np.float32)
    console.print("[bold]And one that is wrong[/], and may well give the right result on your machine:\n")
    console.print(
        Syntax(text.rstrip(), "cpp", line_numbers=True, theme="ansi_dark", background_color="default")
    )
    with console.status("checking"):
        report = mt.check(kernel, x, y, threadgroups=8, threadgroup=64)
    console.print()
    paint(report, console)
    console.print()
    for command, what in NEXT.items():
        console.print(f"[bold]{command:<26}[/] {what}", highlight=False)
    return "M201" in {f.rule for f in report.findings}


def _run(kernel: mt.Kernel, case: Case) -> tuple[list[str], bool]:
    start = time.perf_counter()
    arguments = case.fresh()
    _launch(kernel, case, arguments)
    first = time.perf_counter() - start
    error = _error(arguments[case.output], case.expected)
    fine = error <= case.tolerance
    best = min(_timed(kernel, case) for _ in range(RUNS))
    row = [
        case.kernel,
        "x".join(map(str, case.grid)),
        "[green]right[/]" if fine else "[red]WRONG[/]",
        f"{error:.1e}" if error else "exact",
        f"{(first - best) * 1e3:.0f} ms",
        f"{best * 1e6:,.0f} µs",
        f"{case.moved / best / 1e9:.1f}",
        f"{case.operations / best / 1e9:.1f}",
    ]
    return row, fine


def _launch(kernel: mt.Kernel, case: Case, arguments: dict[str, Any]) -> None:
    kernel(
        **arguments,
        grid=case.grid,
        threadgroup=case.threadgroup,
        threadgroup_memory=case.threadgroup_memory,
    )


def _timed(kernel: mt.Kernel, case: Case) -> float:
    arguments = case.fresh()
    start = time.perf_counter()
    _launch(kernel, case, arguments)
    return time.perf_counter() - start


def _error(got: NDArray[Any], expected: NDArray[Any]) -> float:
    """The largest difference, relative to the largest expected value; NaN counts as infinite."""
    difference = np.abs(got.astype("float64") - expected.astype("float64"))
    largest = float(np.nan_to_num(difference, nan=np.inf).max())
    return largest / float(np.abs(expected).max())
