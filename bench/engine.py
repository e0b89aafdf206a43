"""The CPU engine against numpy and OpenBLAS, in the same run, as ratios: `python -m bench engine`.

Best of several runs of each. One thread by the processor's time, numpy's and OpenBLAS's own threads limited to one;
then two threads by the clock.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("METALLOID_THREADS", "1")

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import metalloid as mt
from metalloid.backends.patience import measuring
from metalloid.runtime.buffer import aligned
from metalloid.source import Source

KERNELS = Source.from_file(Path(__file__).with_name("engine.metal"))
RNG = np.random.default_rng(0)


TURN = 4  # runs of one before the next has its turn: the first finds what the others left of the cache


def best(
    *actions: Callable[[], object], seconds: float = 2.0, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """The shortest run of each by `clock`, in turns: what else the machine does hits all of them alike."""
    found = [float("inf")] * len(actions)
    end = time.perf_counter() + seconds
    rounds = 0
    while time.perf_counter() < end or rounds < 2:
        for n, action in enumerate(actions):
            for _ in range(TURN):
                start = clock()
                action()
                found[n] = min(found[n], clock() - start)
        rounds += 1
    return found


def array(shape: int | tuple[int, ...]) -> np.ndarray:
    made = aligned(shape, np.float32)
    made[...] = RNG.random(shape, dtype=np.float32)
    return made


@cache
def library() -> mt.Library:
    return mt.device("cpu").library(KERNELS)


def runner(name: str, arrays: Sequence[np.ndarray | int], grid, group, guard: bool = True):
    """A launch as a user writes it."""
    kernel = library()[name]
    with measuring():  # good code at once
        kernel(*arrays, grid=grid, threadgroup=group, guard=guard)
    return lambda: kernel(*arrays, grid=grid, threadgroup=group, guard=guard)


@contextmanager
def on_threads(number: int) -> Iterator[None]:
    """Launches within share their threadgroups between so many threads."""
    before = os.environ["METALLOID_THREADS"]
    os.environ["METALLOID_THREADS"] = str(number)
    try:
        yield
    finally:
        os.environ["METALLOID_THREADS"] = before


@dataclass(frozen=True)
class Case:
    """A kernel, its launch, what to compare with, the least ratio, and what a run moves or computes."""

    name: str
    kernel: str
    arrays: tuple[np.ndarray | int, ...]
    grid: tuple[int, ...]
    group: tuple[int, ...]
    reference: Callable[[], object]
    least: float
    amount: float
    unit: str


def cases() -> list[Case]:
    n = 1 << 25
    a, b, c = (array(n) for _ in range(3))
    made = [
        Case(
            "vector add, 3 x 128 MB",
            "add",
            (a, b, c),
            (n,),
            (256,),
            lambda: np.add(a, b, out=c),
            0.95,
            12 * n,
            "GB/s",
        ),
        Case(
            "scalar multiply",
            "scale",
            (a, c),
            (n,),
            (256,),
            lambda: np.multiply(a, np.float32(2.5), out=c),
            0.95,
            8 * n,
            "GB/s",
        ),
    ]
    for rows, least in ((64, 3.0), (8192, 2.0)):
        made.append(rms_norm(rows, least))
    m = 1 << 20
    s, out = array(m), array(m // 256)
    made.append(Case("sum reduction of 1M, tree", "tree", (s, out), (m,), (256,), s.sum, 1.5, 4 * m, "GB/s"))
    e, f = array(1 << 22), array(1 << 22)
    made.append(
        Case(
            "x / (1 + exp(-x))",
            "silu",
            (e, f),
            (1 << 22,),
            (256,),
            lambda: np.divide(e, 1 + np.exp(-e), out=f),
            2.5,
            8 << 22,
            "GB/s",
        )
    )
    made += [
        product(1024, "matmul_nt", (16, 16), 0.45),
        product(512, "matmul_32", (32, 32), 0.65),
        product(512, "matmul_naive", (32, 8), 0.9),
    ]
    return made


def rms_norm(rows: int, least: float) -> Case:
    x, w, o = array((rows, 4096)), array(4096), array((rows, 4096))

    def reference() -> None:
        scale = 1 / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5)
        np.multiply(x * scale, w, out=o)

    return Case(
        f"RMSNorm {rows}x4096",
        "rms_norm",
        (x, w, o, 4096),
        (rows * 256,),
        (256,),
        reference,
        least,
        8 * rows * 4096,
        "GB/s",
    )


def product(n: int, kernel: str, group: tuple[int, int], least: float) -> Case:
    a, b, c = array((n, n)), array((n, n)), array((n, n))
    second = b.T if kernel == "matmul_nt" else b
    return Case(
        f"{kernel} {n}^3, {group[0]}x{group[1]} threads",
        kernel,
        (a, b, c, n),
        (n, n),
        group,
        lambda: np.matmul(a, second),
        least,
        2 * n**3,
        "GFLOP/s",
    )


def main() -> None:
    print(f"{'':34} {'ratio':>6} {'least':>6} {'engine':>9} {'numpy':>9}  guard on/off")
    overhead = []
    for case in cases():
        launch = (case.kernel, case.arrays, case.grid, case.group)
        reference, on, off = best(
            case.reference, runner(*launch), runner(*launch, guard=False), clock=time.thread_time
        )
        overhead.append(on / off)
        rate = case.amount / 1e9
        print(
            f"{case.name:34} {reference / on:6.2f} {case.least:6.2f} {rate / on:9.1f} {rate / reference:9.1f} "
            f"{case.unit:8} {on / off:.2f}"
        )
    print(f"{'vector add on 2 threads':34} {add_on_two():6.2f} {1.5:6.2f}")
    print(f"{'sum reduction on 2 threads':34} {sum_on_two():6.2f} {1.5:6.2f}")
    own, blas = product_on_two()
    wanted = "least 100" if blas > 200 else "least 100 where OpenBLAS exceeds 200"
    print(f"{'matmul_nt 1024^3 on 2 threads':48} {own:9.1f} {blas:9.1f} GFLOP/s  {wanted}")
    print(f"{'guard on against off, geometric':34} {np.exp(np.mean(np.log(overhead))):6.3f} {1.04:6.2f}")


def add_on_two() -> float:
    """numpy's time for a vector add over the engine's on two threads."""
    n = 1 << 25
    a, b, c = (array(n) for _ in range(3))
    with on_threads(2):
        one, two = best(lambda: np.add(a, b, out=c), runner("add", (a, b, c), (n,), (256,)))
    return one / two


def sum_on_two() -> float:
    """The same for the sum of a million numbers: on one thread both wait for the third cache."""
    m = 1 << 20
    s, out = array(m), array(m // 256)
    with on_threads(2):
        one, two = best(s.sum, runner("tree", (s, out), (m,), (256,)))
    return one / two


OPENBLAS = """
import numpy as np, time
a, b = np.random.rand(2, 1024, 1024).astype(np.float32)
times = []
for _ in range(60):
    start = time.perf_counter(); a @ b.T; times.append(time.perf_counter() - start)
print(min(times))
"""


def product_on_two() -> tuple[float, float]:
    """GFLOP/s of the 16x16 tiles and of OpenBLAS, on two threads each. OpenBLAS's number of threads is fixed when it
    is loaded, and its threads spin on for a while and hold a core: it runs in a process of its own."""
    case = product(1024, "matmul_nt", (16, 16), 0.45)
    command = [sys.executable, "-c", OPENBLAS]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    with on_threads(2):
        own = best(runner(case.kernel, case.arrays, case.grid, case.group))[0]
    return case.amount / 1e9 / own, case.amount / 1e9 / float(done.stdout)
