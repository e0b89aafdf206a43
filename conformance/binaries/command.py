"""`python -m conformance binaries [sweep|mlx|torch|times|page] [--only TEXT] [--part 1/4] [--resume]`."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import click
from rich.console import Console
from rich.progress import track

from conformance.binaries import lines, mlx, page, sweep, times, torch
from conformance.binaries.lines import Found
from conformance.checkout import commit, processor
from conformance.results.workers import Died, work_on

Task = tuple[str, Callable[[], Found], object]  # a name, what to do, and what the finding depends on
_tasks: list[Task] = []  # filled before the processes fork


def _do(index: int, table: str, commit: str, processor: str) -> Found:
    name, work, of = _tasks[index]
    found = replace(work(), commit=commit, processor=processor)
    lines.keep(table, lines.key_of(table, name, of), found)
    return found


@click.group(help=__doc__)
def main() -> None:
    pass


def _options(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--only", default="", help="Only what has this in its name."),
        click.option("--part", default="1/1", help="2/8: the second of eight parts."),
        click.option("--every", default=1, help="Only each so many-th."),
        click.option("--resume", is_flag=True, help="Skip what the same code has been told of before."),
        click.option("--rest", is_flag=True, help="Skip what the repository's record has, of whatever code."),
        click.option("--jobs", default=os.cpu_count() or 1, help="Processes."),
    ):
        command = option(command)
    return command


@main.command("sweep", help="Lower and vectorise every kernel of a library; count those refused by reason.")
@click.argument("which", type=click.Choice(list(sweep.LIBRARIES)))
@click.option("--vectors/--no-vectors", default=True, help="As far as vector code.")
@click.option("--tensors", is_flag=True, help="Only kernels with tensor operations.")
@_options
def sweep_command(
    which: str,
    vectors: bool,
    tensors: bool,
    only: str,
    part: str,
    every: int,
    resume: bool,
    rest: bool,
    jobs: int,
) -> None:
    tasks: list[Task] = [
        (name, (lambda name=name: sweep.judge(which, name, vectors)), code)  # type: ignore[misc]
        for name, code in sweep.kernels(which, tensors)
    ]
    _run(f"sweep-{which}{'' if vectors else '-scalar'}", tasks, (only, part, every, resume, rest, jobs))


@main.command(
    "mlx", help="Launch kernels of MLX's library; hold results against numpy and against the source's."
)
@_options
def mlx_command(only: str, part: str, every: int, resume: bool, rest: bool, jobs: int) -> None:
    tasks: list[Task] = [
        (case.label, (lambda case=case: mlx.judge(case)), "")  # type: ignore[misc]
        for case in mlx.cases()
    ]
    _run("mlx", tasks, (only, part, every, resume, rest, jobs))


@main.command("torch", help="Launch kernels of PyTorch's library; hold results against torch on the CPU.")
@_options
def torch_command(only: str, part: str, every: int, resume: bool, rest: bool, jobs: int) -> None:
    tasks: list[Task] = [
        (case.label, (lambda case=case: torch.judge(case)), "")  # type: ignore[misc]
        for case in torch.cases()
    ]
    _run("torch", tasks, (only, part, every, resume, rest, jobs))


@main.command(
    "times", help="Seconds of a processor from source and from binary to machine code, of MLX's kernels."
)
@_options
def times_command(only: str, part: str, every: int, resume: bool, rest: bool, jobs: int) -> None:
    tasks: list[Task] = [
        (case.label, (lambda case=case: times.judge(case)), "")  # type: ignore[misc]
        for case in mlx.cases()
    ]
    _run("times", tasks, (only, part, every, resume, rest, jobs))


@main.command(
    "page", help="Add what was found to the repository's record, and write docs/binaries.md from it."
)
def page_command() -> None:
    page.write()


def _run(table: str, tasks: list[Task], how: tuple[str, str, int, bool, bool, int]) -> None:
    only, part, every, resume, rest, jobs = how
    number, _, parts = part.partition("/")
    chosen = [task for task in tasks if only in task[0]][:: max(1, every)]
    chosen = chosen[int(number) - 1 :: int(parts)]
    recorded = page.recorded(table) if rest else {}
    chosen = [task for task in chosen if task[0] not in recorded]
    before = lines.known(table) if resume else {}
    keys = [lines.key_of(table, name, of) for name, _, of in chosen]
    found = [before[key] for key in keys if key in before]
    _tasks[:] = [task for task, key in zip(chosen, keys, strict=True) if key not in before]
    console = Console()
    done = work_on(_do, len(_tasks), (table, commit(), processor()), jobs)
    for count, (index, result) in enumerate(
        track(done, table, total=len(_tasks), console=console, disable=not console.is_terminal), 1
    ):
        name = _tasks[index][0]
        one = Found(name, reason=f"died: {result}") if isinstance(result, Died) else result
        found.append(one)
        if not console.is_terminal and (
            one.reason or count % 25 == 0
        ):  # where no bar moves, a line says how far it is
            print(f"{count}/{len(_tasks)} {one.name} {one.reason} {one.detail}".rstrip(), flush=True)
    _summary(table, found, console)
    sys.exit(any(_wrong(table, one) for one in found))


def _wrong(table: str, found: Found) -> bool:
    """A launch must be right; a kernel of a sweep may be refused, and must not crash."""
    return found.reason.startswith(("crash", "died")) if table.startswith("sweep") else not found.passed


def _summary(table: str, found: Sequence[Found], console: Console) -> None:
    passed = [one for one in found if one.passed]
    kernels = {kernel for one in passed for kernel in one.kernels}
    same = sum(one.same_bits for one in found)
    console.print(
        f"{table}: {len(passed)} of {len(found)}, {len(kernels)} different kernels", highlight=False
    )
    if any(one.same_bits for one in found):
        console.print(f"the same bits as from source: {same} of {len(found)}", highlight=False)
    if found:
        times = sorted(one.seconds for one in found)
        console.print(
            f"seconds: median {times[len(times) // 2]:.2f}, longest {times[-1]:.1f}", highlight=False
        )
    reasons = Counter(one.reason for one in found if one.reason)
    for reason, count in reasons.most_common(40):
        example = next(one.name for one in found if one.reason == reason)
        console.print(f"{count:6} {reason} ({example})", highlight=False, markup=False)
