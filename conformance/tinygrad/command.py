"""`python -m conformance tinygrad [--only TEXT]`: tinygrad's operations on metalloid, beside torch on the CPU."""

from __future__ import annotations

import os
import sys
import time

import click
from rich.console import Console
from rich.progress import track

from conformance.packages import WHEEL, Package, fetch
from conformance.tinygrad.case import Case, Outcome, difference
from conformance.tinygrad.page import write_page

TINYGRAD = Package("tinygrad", "0.9.0", WHEEL, (".py",))


@click.command(help=__doc__)
@click.option("--only", default="", help="Run only operations whose name contains this.")
def main(only: str) -> None:
    from metalloid.forms.attach import attached

    console = Console()
    with attached():
        begin()
        from conformance.tinygrad.cases import cases

        chosen = [case for case in cases() if only in case.name]
        outcomes = [run(case) for case in track(chosen, "tinygrad", console=console)]
        again, seconds = jit()
    for outcome in outcomes:
        if outcome.wrong:
            console.print(f"[red]{outcome.name}[/red]: {outcome.wrong}")
    right = sum(not outcome.wrong for outcome in outcomes)
    both = sum(outcome.grad and not outcome.wrong for outcome in outcomes)
    console.print(
        f"{right} of {len(outcomes)} operations right, {both} of them with gradients,"
        f" {sum(o.seconds for o in outcomes):.0f} s; jit: {again or 'right'}, {seconds:.1f} s"
    )
    if not only:
        write_page(outcomes, again)
    sys.exit(right < len(outcomes) or bool(again))


def begin(folder: str = "") -> None:
    """Where tinygrad is, and that it takes Metal; before it is imported."""
    os.environ["METAL"] = "1"
    os.environ["DISABLE_COMPILER_CACHE"] = "1"
    sys.path.insert(0, folder or str(fetch(TINYGRAD)))


def run(case: Case) -> Outcome:
    start = time.perf_counter()
    try:
        wrong = difference(case)
    except Exception as error:
        wrong = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return Outcome(case.name, wrong, case.grad, time.perf_counter() - start)


def jit() -> tuple[str, float]:
    """A small network that learns under TinyJit, which encodes indirect command buffers; its loss beside numpy's."""
    import numpy as np
    from tinygrad import Tensor, TinyJit

    start = time.perf_counter()
    rng = np.random.default_rng(0)
    first, second = rng.random((8, 16), dtype=np.float32) - 0.5, rng.random((16, 1), dtype=np.float32) - 0.5
    w, v = Tensor(first).realize(), Tensor(second).realize()

    @TinyJit
    def forward(x: Tensor) -> Tensor:
        return ((x @ w).relu() @ v).square().mean().realize()

    for n in range(6):
        x = rng.random((32, 8), dtype=np.float32)
        got = forward(Tensor(x).realize()).numpy()
        wanted = ((np.maximum(x.astype(np.float64) @ first, 0) @ second) ** 2).mean()
        if abs(got - wanted) > 1e-5 * wanted:
            return f"run {n} gives {got}; numpy {wanted}", time.perf_counter() - start
    return "", time.perf_counter() - start
