"""`python -m conformance wild [--only TEXT] [--library] [--resume] [--record]`: every case under the checker.

Findings are kept; `docs/found-in-the-wild.md` argues each. This command says which there are, by rule and kernel.
With `--library` MLX's kernels come from its compiled library. One case of each kernel comes first, whatever its types
and sizes, the smallest of them, then a second of each, and so on: a run that is stopped (`--limit`) has seen as
many different kernels as it could; `--resume` goes on behind it, with cases first that no earlier code has run. With
`--record` the repository's record (`wild.json`) gets the verdicts, and cases that are in it come last.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from math import prod
from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.progress import track

from conformance.binaries.mlx import cases as library_cases
from conformance.binaries.mlx import from_library
from conformance.checkout import commit, processor
from conformance.packages import STORE
from conformance.results import kept, wild_page, wild_record
from conformance.results.case import Case, Step
from conformance.results.judge import made
from conformance.results.launch import run_checked
from conformance.results.suites import all_cases
from conformance.results.workers import Died, work_on

KEPT = STORE / "wild.jsonl"


@dataclass(frozen=True)
class Found:
    """A finding, or the sentence that says why a case could not be checked."""

    kernel: str
    rule: str
    message: str
    place: str = ""


@dataclass(frozen=True)
class Checked:
    """A case that was run, and what was found in it."""

    label: str
    found: tuple[Found, ...]
    seconds: float
    commit: str = ""
    processor: str = ""

    @property
    def verdict(self) -> wild_record.Verdict:
        return wild_record.Verdict(tuple(sorted({f.rule for f in self.found})), self.commit, self.processor)


@click.command(help=__doc__)
@click.option("--only", default="", help="Only cases whose suite, family or name contains this.")
@click.option("--without", multiple=True, help="Not cases that contain this.")
@click.option(
    "--library", is_flag=True, help="MLX's kernels from its compiled library instead of all from source."
)
@click.option("--resume", is_flag=True, help="Skip what the same code has been told of before.")
@click.option("--record", is_flag=True, help="Add the verdicts to the repository's record.")
@click.option("--jobs", default=os.cpu_count() or 1, help="Processes.")
@click.option("--limit", default=0.0, help="Seconds after which no further case is begun.")
def main(
    only: str, without: tuple[str, ...], library: bool, resume: bool, record: bool, jobs: int, limit: float
) -> None:
    console = Console()
    cases = [case for case in (library_cases() if library else all_cases()) if only in case.label]
    cases = [case for case in cases if not any(word in case.label for word in without)]
    cases = in_turn(cases)
    known = _known() if resume else {}
    done = [known[key] for case in cases if (key := _key(case, library)) in known]
    waiting = [case for case in cases if _key(case, library) not in known]
    way = "library" if library else "source"
    told = {one.label for key, one in known.items() if key.split()[1] == way}
    told |= wild_record.load(way).keys() if record else set()
    waiting.sort(key=lambda case: case.label in told)  # what no code was told of comes first
    done += check_all(waiting, library, jobs, limit, console)
    if record:
        wild_record.store(way, {one.label: one.verdict for one in done})
        there = {"source": all_cases(), "library": library_cases()}
        wild_page.write({way: [case.label for case in cases] for way, cases in there.items()})
    _tell(done, len(cases), console)


# From here on a kernel's name says for which types and sizes it was made.
_TYPE = re.compile(
    r"_(?:b?f(?:loat)?\d+|bfloat\d*|half|float\d?|bool|u?int\d*|complex64|[ui]\d+|i?t?q\d|mxfp\d|nvfp\d|\d).*",
    re.DOTALL,
)


def kernel_family(name: str) -> str:
    """A kernel's name without types and sizes: `kernel_mul_mv_q4_0_f32` is `kernel_mul_mv`."""
    return _TYPE.sub("", name)


def in_turn(cases: list[Case]) -> list[Case]:
    """One case of every kernel, the smallest of each, then the next of every kernel; small ones first."""
    seen: Counter[tuple[str, ...]] = Counter()
    turns = []
    for (size, kernels), case in sorted(_sizes(cases), key=lambda entry: (entry[0][0], entry[1].label)):
        kind = (case.suite, case.family, *kernels)
        turns.append((seen[kind], size, case.label, case))
        seen[kind] += 1
    return [case for _, _, _, case in sorted(turns, key=lambda entry: entry[:3])]


Sized = tuple[int, tuple[str, ...]]  # the size of a case's launches, and the families of their kernels


def _sizes(cases: list[Case]) -> list[tuple[Sized, Case]]:
    """Made in another process: mlx-lm's cases compute with MLX, whose threads a process that forks must not have.

    In one: the first case of a package fetches it.
    """
    _cases[:] = cases
    found = work_on(_sized, len(cases), (), jobs=1)
    return [((0, ()) if isinstance(sized, Died) else sized, cases[index]) for index, sized in found]


def _sized(index: int) -> Sized:
    steps = made(_cases[index], "small").steps
    return sum(map(_size, steps)), tuple(kernel_family(step.kernel) for step in steps)


def _size(step: Step) -> int:
    """Threads, and bytes of memory."""
    threads = prod(step.grid) if step.grid else prod(step.threadgroups or ()) * prod(step.threadgroup)
    return threads + sum(a.nbytes for a in step.arguments if isinstance(a, np.ndarray))


def _tell(done: list[Checked], total: int, console: Console) -> None:
    """Each rule and kernel once, with the number of its cases and the first of them."""
    by: dict[tuple[str, str, str], list[tuple[Checked, Found]]] = {}
    for one in done:
        for f in one.found:
            by.setdefault((f.rule, f.kernel, f.place), []).append((one, f))
    for (rule, kernel, place), all_of in sorted(by.items()):
        first, f = all_of[0]
        console.print(
            f"{rule} {kernel} {place} ({len(all_of)}: {first.label}): {f.message}",
            highlight=False,
            soft_wrap=True,
        )
    clean = sum(not one.found for one in done)
    console.print(f"{clean} of {len(done)} cases without a finding; {total - len(done)} not begun")


_cases: list[Case] = []  # filled before the processes fork


def check_all(
    cases: list[Case], library: bool, jobs: int, limit: float, console: Console
) -> Iterator[Checked]:
    """What was found in each case, as they are done; kept on disk at once."""
    _cases[:] = cases
    end = time.monotonic() + limit if limit else None
    work = work_on(_check, len(cases), (library, end), jobs)
    state = {"commit": commit(), "processor": processor()}
    for index, result in track(work, "checking", total=len(cases), console=console):
        label = cases[index].label
        if isinstance(result, Died):
            result = Checked(label, (Found("", "died", str(result)),), 0.0)
        if result is None:
            continue
        result = replace(result, **state)
        with KEPT.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": _key(cases[index], library), **asdict(result)}) + "\n")
        if not console.is_terminal:
            told = (f"  {f.rule} {f.kernel}: {f.message} {f.place}" for f in result.found)
            print(f"{label} {result.seconds:.1f} s", *told, sep="\n", flush=True)
        yield result


def _key(case: Case, library: bool) -> str:
    return f"{kept.code()[:24]} {'library' if library else 'source'} {case.label}"


def _known() -> dict[str, Checked]:
    """By key; a line that a stopped run left half-written does not count."""
    found: dict[str, Checked] = {}
    for line in KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else ():
        try:
            entry = json.loads(line)
            inside = tuple(Found(**f) for f in entry["found"])
            state = entry.get("commit", ""), entry.get("processor", "")
            found[entry["key"]] = Checked(entry["label"], inside, entry["seconds"], *state)
        except (ValueError, KeyError, TypeError):
            continue
    return found


def _check(index: int, library: bool, end: float | None) -> Checked | None:
    if end is not None and time.monotonic() > end:
        return None
    case, start = _cases[index], time.perf_counter()
    steps = made(case, "small").steps
    if library:
        steps = [found for step in steps if (found := from_library(step)) is not None]
    found = tuple(f for step in steps for f in _step(step))
    return Checked(case.label, found, time.perf_counter() - start)


def _step(step: Step) -> list[Found]:
    import metalloid as mt
    from metalloid.findings.finding import NOTE

    try:
        with mt.checked() as report:
            run_checked(step)
    except mt.MetalloidError as error:
        return [Found(step.kernel, "refused", str(error).splitlines()[0])]
    found = []
    for f in report.findings:
        if f.severity != NOTE:
            place = f"{Path(f.location.file).name}:{f.location.line}" if f.location else ""
            found.append(Found(step.kernel, f.rule, f.message, place))
    return found
