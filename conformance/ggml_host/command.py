"""`python -m conformance ggml-host [OPERATION ...] [--seconds N] [--again] [--warm N]`: build, run, write the page.

Every case that has not been run yet is; `--again` runs all anew, `--warm N` runs every Nth case that compiled
something once more, with its kernels in the cache, `--slice` runs what test-backend-ops has behind FLASH_ATTN_EXT.
"""

from __future__ import annotations

import sys
import time

import click

from conformance.ggml_host import page, state, suite
from conformance.ggml_host.build import build
from conformance.ggml_host.state import Outcome


@click.command(help=__doc__)
@click.argument("operations", nargs=-1)
@click.option("--seconds", default=1e9, help="Stop beginning batches after so long.")
@click.option("--each", default=900.0, help="Seconds for one case.")
@click.option("--again", is_flag=True, help="Run what has been run.")
@click.option("--warm", default=0, help="Time every Nth case that compiled and passed once more.")
@click.option("--slice", "flash", is_flag=True, help="Run the slice behind FLASH_ATTN_EXT.")
@click.option("--jobs", default=2, help="Compilers at a time.")
def main(
    operations: tuple[str, ...], seconds: float, each: float, again: bool, warm: int, flash: bool, jobs: int
) -> None:
    build(jobs)
    cases, done = suite.known(), state.load()
    start = time.monotonic()
    chosen = [case for case in cases if not operations or case.partition("(")[0] in operations]
    left = suite.ordered([case for case in chosen if again or case not in done])
    if warm:
        left = [case for case in chosen if case in done and done[case].passed and done[case].compiled][::warm]

    def told(case: str, outcome: Outcome) -> None:
        had = done.get(case)
        done[case] = had.again(outcome) if had is not None and warm else outcome
        state.store(done)
        if not outcome.passed:
            click.echo(f"failed: {case}: {outcome.words}")

    for batch in suite.batches(left, cases):
        if time.monotonic() - start > seconds:
            break
        suite.run(batch, each, told)
        page.write(suite.grouped(cases), done)
        click.echo(f"{time.monotonic() - start:.0f} s: {len(done)} of {len(cases)} cases have run")
    if flash:
        state.store_slice(suite.flash_slice(each))
    page.write(suite.grouped(cases), done)
    sys.exit(any(not o.passed for o in done.values()))
