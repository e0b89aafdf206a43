"""`python -m conformance ggml-host [OPERATION ...] [--seconds N] [--again] [--warm]`: build, run, write the page.

Every operation that has not been run yet is; `--again` runs them anew, `--warm` measures those that ended once more,
with their kernels in the cache.
"""

from __future__ import annotations

import sys
import time

import click

from conformance.ggml_host import page, suite
from conformance.ggml_host.build import PLACE, build


@click.command(help=__doc__)
@click.argument("operations", nargs=-1)
@click.option("--seconds", default=1e9, help="Stop beginning operations after so long.")
@click.option("--each", default=3600.0, help="Seconds for one operation.")
@click.option("--again", is_flag=True, help="Run what has been run.")
@click.option("--warm", is_flag=True, help="Measure what has ended once more.")
@click.option("--jobs", default=2, help="Compilers at a time.")
def main(
    operations: tuple[str, ...], seconds: float, each: float, again: bool, warm: bool, jobs: int
) -> None:
    build(jobs)
    counts = suite.supported()
    done = suite.load()
    names = sorted(operations or counts, key=lambda name: (name in suite.LAST, counts.get(name, 0), name))
    start = time.monotonic()
    for name in names:
        had = done.get(name)
        wanted = again or had is None or not had.ended or (warm and not had.warm)
        if not wanted or time.monotonic() - start > seconds:
            continue
        made = suite.run(name, counts.get(name, 0), each, PLACE / f"{name}.log")
        if had is not None and had.ended and warm:
            made.cold, made.warm = had.cold, made.cold
        done[name] = made
        suite.store(done)
        click.echo(
            f"{name}: {made.passed} of {made.known} passed, {len(made.failed)} failed, {made.cold:.0f} s"
        )
    page.write(counts, done)
    sys.exit(any(o.failed for o in done.values()))
