"""How long a kernel's first launch takes to compile, stage by stage: `python -m bench compile`.

Launches of ggml, MLX and mlx-lm (`make conformance` fetches them), evenly sampled, one after the other in one process
with an empty cache: the text is examined, the kernel compiled, what can be proved of the launch proved, vector code
made, and machine code. Processor seconds of this thread; clang, which is another process, by the clock on the wall.
METALLOID_BENCH_KERNELS is their number (200).
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass

import numpy as np

from metalloid import stopwatch

COUNT = int(os.environ.get("METALLOID_BENCH_KERNELS", "200"))
SLOWEST = 8


@dataclass(frozen=True)
class Row:
    name: str
    elapsed: float  # of the first launch, less a second one
    stages: dict[str, float]

    @property
    def total(self) -> float:
        return sum(self.stages.values())


def sampled(count: int) -> list[Row]:
    """Every so many cases, each with the kernels of its first launch."""
    from conformance.results.suites import all_cases

    cases = all_cases()
    chosen = [cases[(2 * n + 1) * len(cases) // (2 * count)] for n in range(count)]
    _one(chosen[0])  # the header, the runtime, imports
    return [_one(case) for case in chosen]


def _one(case) -> Row:  # type: ignore[no-untyped-def]
    from conformance.results import launch

    step = case.make(np.random.default_rng(0), "small").steps[0]
    with stopwatch.measured() as seconds:
        start = time.perf_counter()
        launch.run_on_engine(step)
        between = time.perf_counter()
    launch.run_on_engine(step)
    return Row(f"{case.suite} {step.kernel}", 2 * between - start - time.perf_counter(), dict(seconds))


def report(rows: list[Row]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row.stages))
    columns = {name: [row.stages.get(name, 0.0) for row in rows] for name in names}
    columns["all stages"] = [row.total for row in rows]
    columns["by the clock"] = [row.elapsed for row in rows]
    print(f"{len(rows)} first launches; seconds         median     p95   worst    mean")
    for name, values in columns.items():
        median, high = np.quantile(values, (0.5, 0.95))
        print(f"  {name:32} {median:8.3f}{high:8.2f}{max(values):8.2f}{np.mean(values):8.3f}")
    print("slowest:")
    for row in sorted(rows, key=lambda row: -row.total)[:SLOWEST]:
        most = sorted(row.stages.items(), key=lambda item: -item[1])[:3]
        print(f"  {row.total:6.2f} s  {row.name}: {', '.join(f'{name} {t:.2f}' for name, t in most)}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["METALLOID_CACHE_DIR"] = folder
        report(sampled(COUNT))
