"""How long a kernel's first launch takes to compile, stage by stage: `python -m bench compile`.

Launches of ggml, MLX and mlx-lm (`make conformance` fetches them), evenly sampled, and textbook kernels, one after the
other in one process with an empty cache: the text is examined, the kernel compiled, what can be proved of the launch
proved, vector code made, and machine code. Then textbook kernels in fresh processes, new and again; then a library of
MLX's instantiations to machine code on all cores, the code that first launches get. Processor seconds, clang's
included, so that a busy machine does not count; first launches by the clock, too, as a user waits for them.
METALLOID_BENCH_KERNELS is their number (200), METALLOID_BENCH_LIBRARY that of the library's kernels (all). With
METALLOID_BENCH_WRITE set, docs/compile-time.md is written, as far as it is known, from time to time. Kernels come in a
shuffled order, always the same: what was stopped half-way is a sample, and says so. METALLOID_BENCH_SECONDS stops the
launches and the library after so many seconds each. The short part comes first: fresh processes.
"""

from __future__ import annotations

import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from bench.textbook import HEAD, KERNELS, Textbook
from metalloid import stopwatch

COUNT = int(os.environ.get("METALLOID_BENCH_KERNELS", "200"))
SECONDS = float(os.environ.get("METALLOID_BENCH_SECONDS", "inf"))
SLOWEST = 8
PAGE = Path(__file__).resolve().parent.parent / "docs" / "compile-time.md"
FRESH = """
import resource, sys
from bench.textbook import fresh
fresh(sys.argv[1])
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(sum(u.ru_utime + u.ru_stime for u in used))
"""


@dataclass(frozen=True)
class Row:
    name: str
    total: float  # processor seconds of the first launch, less a second one
    clock: float  # the same by the clock: some stages run beside each other, and a busy machine counts
    stages: dict[str, float]


def spent() -> float:
    """Processor seconds of this process, and of those it has started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def launches(count: int) -> list[tuple[str, Callable[[], None]]]:
    """Textbook kernels, and every so many cases, each with the kernel of its first launch."""
    from conformance.results.suites import all_cases

    cases, textbook = all_cases(), KERNELS[: max(1, count // 4)]
    wanted = count - len(textbook)
    chosen = [cases[(2 * n + 1) * len(cases) // (2 * wanted)] for n in range(wanted)]
    return [*map(_textbook, textbook), *map(_case, chosen)]


def _case(case) -> tuple[str, Callable[[], None]]:  # type: ignore[no-untyped-def]
    from conformance.results import launch

    step = case.make(np.random.default_rng(0), "small").steps[0]
    return f"{case.suite} {step.kernel}", lambda: launch.run_on_engine(step, timeout=None)


def _textbook(kernel: Textbook) -> tuple[str, Callable[[], None]]:
    import metalloid

    arrays, made = kernel.arrays(), dict[str, object]()

    def run() -> None:
        if not made:
            made["kernel"] = metalloid.device("cpu").library(HEAD + kernel.text)[kernel.name]
        made["kernel"](*arrays, grid=kernel.grid, threadgroup=kernel.threadgroup)  # type: ignore[operator]

    return f"textbook {kernel.name}", run


def _first(name: str, run: Callable[[], None]) -> Row:
    with stopwatch.measured() as seconds:
        start, began = spent(), time.perf_counter()
        run()
        between, then = spent(), time.perf_counter()
    run()
    clock = 2 * then - began - time.perf_counter()
    return Row(name, 2 * between - start - spent(), clock, dict(seconds))


def processes() -> Iterator[tuple[str, float, float]]:
    """(name, processor seconds when it is new, and again) of textbook kernels, each in a process of its own."""
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
    for kernel in KERNELS:
        name = f"textbook {kernel.name}"
        command = [sys.executable, "-c", FRESH, kernel.name]
        new, again = (
            float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
            for _ in range(2)
        )
        yield name, new, again


def _machine_code(index: int) -> bool:
    """Machine code of one kernel of the library, for threadgroups of 256."""
    from metalloid import config
    from metalloid.backends.cpu import codegen
    from metalloid.backends.cpu.pipeline import vector_stage
    from metalloid.compile import examined, scalar
    from metalloid.errors import MetalloidError

    case = _library[index]
    source, name = case.attempts[-1]
    try:
        ir, _ = scalar(source, name, case.constants, known=examined(source))
        target = codegen.host()
        early = config.baseline()
        codegen.to_object(vector_stage(ir, (256, 1, 1), brief=early), target, baseline=early)
    except MetalloidError:
        return False
    return True


_library: list = []  # filled before the processes fork


def library() -> Iterator[tuple[int, int, int, float, float]]:
    """Kernels of MLX; how many of them are done so far, how many became machine code, and seconds on all cores by the
    clock and by the processor."""
    from conformance import mlx_headers

    cases = [c for c in mlx_headers.cases() if not c.refused and not c.invalid and c.attempts]
    count = min(len(cases), int(os.environ.get("METALLOID_BENCH_LIBRARY", len(cases))))
    _library[:] = [cases[n * len(cases) // count] for n in range(count)]
    random.Random(0).shuffle(_library)
    start, made, used = time.perf_counter(), 0, 0.0
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("fork")) as pool:
        running = [pool.submit(_measured, n) for n in range(count)]
        for done, one in enumerate(as_completed(running), 1):
            fine, seconds = one.result()
            made, used = made + fine, used + seconds
            yield count, done, made, time.perf_counter() - start, used
            if time.perf_counter() - start > SECONDS:
                for later in running:
                    later.cancel()
                break


def _measured(index: int) -> tuple[bool, float]:
    start = spent()
    return _machine_code(index), spent() - start


def table(rows: list[Row], of: int) -> Iterator[str]:
    names = list(dict.fromkeys(name for row in rows for name in row.stages))
    columns = {name: [row.stages.get(name, 0.0) for row in rows] for name in names}
    columns["all of it"] = [row.total for row in rows]
    columns["by the clock"] = [row.clock for row in rows]
    yield f"| {_so_far(len(rows), of)} first launches, processor seconds | median | p95 | worst | mean |"
    yield "|---|---|---|---|---|"
    for name, values in columns.items():
        median, high = np.quantile(values, (0.5, 0.95))
        yield f"| {name} | {median:.3f} | {high:.2f} | {max(values):.2f} | {np.mean(values):.3f} |"
    yield ""
    yield "Slowest:"
    yield ""
    for row in sorted(rows, key=lambda row: -row.total)[:SLOWEST]:
        most = sorted(row.stages.items(), key=lambda item: -item[1])[:3]
        yield f"- {row.total:.2f} s  {row.name}: {', '.join(f'{name} {t:.2f}' for name, t in most)}"
    yield ""


def _so_far(done: int, of: int) -> str:
    return str(done) if done == of else f"{done} of {of} (stopped there)"


def _fresh_table(found: list[tuple[str, float, float]]) -> Iterator[str]:
    yield f"| {_so_far(len(found), len(KERNELS))} textbook kernels, each in a fresh process | median | worst |"
    yield "|---|---|---|"
    for name, values in (("new", [new for _, new, _ in found]), ("again", [again for *_, again in found])):
        yield f"| {name} | {np.median(values):.3f} | {max(values):.2f} |"
    yield ""


def _library_lines(count: int, done: int, made: int, clock: float, used: float) -> Iterator[str]:
    cores = os.cpu_count() or 1
    yield f"{made} of {done} kernels of MLX became machine code on {cores} cores: {clock:.0f} s by the clock,"
    yield f"{used:.0f} s of processors; {used / done:.2f} s a kernel, {done * cores / used:.1f} a second."
    if done < count:
        yield f"Stopped there: there are {count}."


def sections() -> Iterator[tuple[int, list[str]]]:
    """A section's number and its text, again and again while it is measured."""
    ready, *chosen = launches(COUNT)
    ready[1]()  # the header, the runtime, imports
    random.Random(0).shuffle(chosen)
    found: list[tuple[str, float, float]] = []
    for process in processes():
        found.append(process)
        yield 0, list(_fresh_table(found))
    rows: list[Row] = []
    start = time.perf_counter()
    for one in chosen:
        rows.append(_first(*one))
        yield 1, list(table(rows, len(chosen)))
        if time.perf_counter() - start > SECONDS:
            break
    for state in library():
        yield 2, list(_library_lines(*state))


def main() -> None:
    told: dict[int, list[str]] = {}
    written = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["METALLOID_CACHE_DIR"] = folder
        for number, text in sections():
            if number not in told and told:
                print(*told[number - 1], sep="\n", flush=True)
            told[number] = text
            if time.perf_counter() - written > 20:
                _write(told)
                written = time.perf_counter()
    print(*told[max(told)], sep="\n", flush=True)
    _write(told)


def _write(told: dict[int, list[str]]) -> None:
    if os.environ.get("METALLOID_BENCH_WRITE"):
        how = "Written by `METALLOID_BENCH_WRITE=1 python -m bench compile`, on one "
        how += f"{platform.machine()} machine of {os.cpu_count()} cores; `bench/compile.py` says what is measured."
        text = ["# Compile time", "", how, "", *(line for number in sorted(told) for line in told[number])]
        PAGE.write_text("\n".join(text) + "\n", encoding="utf-8")
