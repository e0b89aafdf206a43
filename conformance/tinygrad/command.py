"""`python -m conformance tinygrad [--only TEXT]`: tinygrad's operations on metalloid, beside torch on the CPU.

`--own test_ops.py` runs tests of tinygrad's own instead, as they are in its sdist.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from conformance.packages import Package, fetch
from conformance.tinygrad.case import Case, Outcome, difference
from conformance.tinygrad.page import write_page

TINYGRAD = Package("tinygrad", "0.9.0", ("--no-binary", "tinygrad"), (".py",))


@click.command(help=__doc__)
@click.option("--only", default="", help="Run only operations whose name contains this.")
@click.option("--own", multiple=True, help="Files of tinygrad's own tests; --only is pytest's -k then.")
def main(only: str, own: tuple[str, ...]) -> None:
    from metalloid.forms.attach import attached

    if own:
        sys.exit(own_tests(own, only))
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


def home() -> Path:
    """The folder that tinygrad and its tests are in."""
    return next(fetch(TINYGRAD).glob("*/tinygrad")).parent


def own_tests(files: Sequence[str], only: str) -> int:
    """pytest over files of tinygrad's own tests, started by `metalloid run`."""
    folder = home()
    chosen = ["-k", only] if only else []
    command = [
        sys.executable,
        "-m",
        "metalloid",
        "run",
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-q",
        *chosen,
    ]
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "METAL": "1", "PYTHONPATH": path}
    return subprocess.run(
        [*command, *(str(folder / "test" / f) for f in files)], cwd=folder, env=environment
    ).returncode


def begin(folder: str = "") -> None:
    """Where tinygrad is, and that it takes Metal; before it is imported."""
    os.environ["METAL"] = "1"
    os.environ["DISABLE_COMPILER_CACHE"] = "1"
    sys.path.insert(0, folder or str(home()))


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
