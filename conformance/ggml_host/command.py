"""`python -m conformance ggml-host [OPERATION ...] [--seconds N] [--again] [--warm N]`: build, run, write the page.

Every case that has not been run yet is; `--again` runs all anew, `--warm N` runs every Nth case that compiled
something once more, with its kernels in the cache, `--slice` runs what test-backend-ops has behind FLASH_ATTN_EXT.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Lock

import click

from conformance.checkout import commit, processor
from conformance.ggml_host import page, state, suite
from conformance.ggml_host.build import PLACE, build
from conformance.ggml_host.state import Outcome

_PAUSE = 5.0  # seconds between two copies of the state on disk


class Run:
    """Batches of cases, one behind the other or several at a time; what became of each is kept as it comes in."""

    def __init__(self, cases: list[str], done: dict[str, Outcome], warm: bool, each: float) -> None:
        self.cases, self.done, self._warm, self._each = cases, done, warm, each
        self._listed = suite.grouped(cases)
        self._lock, self._code = Lock(), {"commit": commit(), "processor": processor()}
        self._start = self._stored = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def told(self, case: str, outcome: Outcome) -> None:
        with self._lock:
            outcome, had = replace(outcome, **self._code), self.done.get(case)
            self.done[case] = had.again(outcome) if had is not None and self._warm else outcome
            if time.monotonic() - self._stored > _PAUSE:
                self._stored = time.monotonic()
                state.store(self.done, self._listed)
        if not outcome.passed:
            click.echo(f"failed: {case}: {outcome.words}")

    def keep(self) -> None:
        with self._lock:
            state.store(self.done, self._listed)
            page.write(self._listed, self.done)

    def lane(self, number: int, batches: list[list[str]], seconds: float) -> None:
        """Take one batch after the other until there is none, each time from the front."""
        log = PLACE / f"suite-{number}.log" if number else suite.LOG
        while batches and self.seconds < seconds:
            with self._lock:
                batch = batches.pop(0) if batches else []
            try:
                suite.run(batch, self._each, self.told, log)
            except BaseException:
                batches.clear()  # the others end with their batch
                raise
            finally:
                self.keep()
            click.echo(f"{self.seconds:.0f} s: {len(self.done)} of {len(self.cases)} cases have run")


@click.command(help=__doc__)
@click.argument("operations", nargs=-1)
@click.option("--seconds", default=1e9, help="Stop beginning batches after so long.")
@click.option("--each", default=900.0, help="Seconds for one case.")
@click.option("--again", is_flag=True, help="Run what has been run.")
@click.option("--warm", default=0, help="Time every Nth case that compiled and passed once more.")
@click.option("--slice", "flash", is_flag=True, help="Run the slice behind FLASH_ATTN_EXT.")
@click.option("--jobs", default=2, help="Compilers at a time.")
@click.option("--lanes", default=1, help="Batches at a time.")
@click.option("--size", default=160, help="Cases of a batch, which is a process.")
def main(
    operations: tuple[str, ...],
    seconds: float,
    each: float,
    again: bool,
    warm: int,
    flash: bool,
    jobs: int,
    lanes: int,
    size: int,
) -> None:
    build(jobs)
    cases = suite.known()
    done = state.load(suite.grouped(cases))
    chosen = [case for case in cases if not operations or case.partition("(")[0] in operations]
    left = suite.ordered([case for case in chosen if again or case not in done], size=size)
    if warm:
        left = [case for case in chosen if case in done and done[case].passed and done[case].compiled][::warm]
    run = Run(cases, done, bool(warm), each)
    batches = list(suite.batches(left, cases, size))
    with ThreadPoolExecutor(lanes) as pool:
        for ended in [pool.submit(run.lane, number, batches, seconds) for number in range(lanes)]:
            ended.result()
    if flash:
        state.store_slice(suite.flash_slice(each))
    run.keep()
    sys.exit(any(not o.passed for o in done.values()))
