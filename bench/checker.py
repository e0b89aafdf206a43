"""What a checked run costs: `python -m bench checker`.

Processor time of a checked run over an unguarded one, one thread, in turns, best of several; compilation is not
counted. Shadow memory over the bytes of all buffers. Where `oclgrind-kernel` is installed, the same kernels in OpenCL
under Oclgrind with its checks for races and uninitialised memory, as a multiple of the checked run of the same
launch.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from bench.checker_memory import main as memory
from bench.engine import KERNELS, array, best
from bench.oclgrind import seconds_under_oclgrind
from metalloid.backends.base import Launch
from metalloid.backends.cpu.build import checked_program, cpu_program
from metalloid.backends.cpu.checked.program import CheckedProgram, CheckedRun
from metalloid.compile import scalar
from metalloid.source import Source
from metalloid.transforms.check_sites import Options

MEAN, WORST, RACY, OCLGRIND = 5.0, 10.0, 30.0, 1000.0
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"


@dataclass(frozen=True)
class Case:
    """A kernel and its launch; `small` is the launch that Oclgrind gets."""

    name: str
    kernel: str
    make: Callable[[int], tuple[tuple[np.ndarray, ...], tuple[int, ...]]]  # size -> arrays, grid
    size: int
    small: int
    group: tuple[int, ...]
    racy: bool = False


def elements(count: int) -> Callable[[int], tuple[tuple[np.ndarray, ...], tuple[int, ...]]]:
    return lambda n: (tuple(array(n) for _ in range(count)), (n,))


def rows(n: int) -> tuple[tuple[np.ndarray, ...], tuple[int, ...]]:
    made = array((n, 4096)), array(4096), array((n, 4096)), np.array([4096], np.uint32)
    return made, (n * 256,)


def sums(n: int) -> tuple[tuple[np.ndarray, ...], tuple[int, ...]]:
    return (array(n), array(n // 256)), (n,)


def square(n: int) -> tuple[tuple[np.ndarray, ...], tuple[int, ...]]:
    return (array((n, n)), array((n, n)), array((n, n)), np.array([n], np.uint32)), (n, n)


CASES = (
    Case("vector add, large", "add", elements(3), 1 << 24, 1 << 16, (256,)),
    Case("vector add, in cache", "add", elements(3), 1 << 16, 1 << 16, (256,)),
    Case("scalar multiply", "scale", elements(2), 1 << 24, 1 << 16, (256,)),
    Case("x / (1 + exp(-x))", "silu", elements(2), 1 << 22, 1 << 16, (256,)),
    Case("RMSNorm", "rms_norm", rows, 64, 4, (256,)),
    Case("sum reduction, tree", "tree", sums, 1 << 20, 1 << 16, (256,)),
    Case("matmul A@B^T, 16x16 tiles", "matmul_nt", square, 512, 64, (16, 16)),
    Case("matmul, 32x32 tiles", "matmul_32", square, 512, 64, (32, 32)),
    Case("matmul, no tiles", "matmul_naive", square, 512, 64, (32, 8)),
    Case("tree without barriers", "tree", sums, 1 << 20, 0, (256,), racy=True),
    Case("tiles without barriers", "matmul_nt", square, 512, 0, (16, 16), racy=True),
)


def least(*actions: Callable[[], object], seconds: float = 2.0) -> list[float]:
    """The least processor time of each: others on the machine do not count."""
    return best(*actions, seconds=seconds, clock=time.thread_time)


@cache
def checked(case: Case) -> CheckedProgram:
    return checked_program(*scalar(_source(case), case.kernel, checked=True))


def _source(case: Case) -> Source:
    return Source(KERNELS.text.replace(BARRIER, ""), name=KERNELS.name) if case.racy else KERNELS


def launched(case: Case, size: int) -> Launch:
    arrays, grid = case.make(size)
    x, y, z = (*grid, 1, 1)[:3]
    a, b, c = (*case.group, 1, 1)[:3]
    return Launch((x, y, z), (a, b, c), dict(enumerate(arrays)), kernel=case.kernel)


def shadow(case: Case, launch: Launch) -> float:
    """Bytes of shadow over bytes of buffers."""
    made = checked(case).program(Options())
    run = CheckedRun(launch, made, False, Options(), {})
    return run.shadow_bytes / sum(np.asarray(b).nbytes for b in launch.buffers.values())


def main() -> None:
    oclgrind = shutil.which("oclgrind-kernel")
    print(f"{'':30} {'checked/unguarded':>18} {'at most':>8} {'shadow':>7} {'Oclgrind/checked':>17}")
    ratios = []
    for case in CASES:
        launch = launched(case, case.size)
        plain = cpu_program(*scalar(_source(case), case.kernel))
        watched = checked(case)
        seen = watched.run(launch)
        assert bool(seen.records) == case.racy, f"{case.name}: {seen.records}"
        fast, slow = least(
            lambda made=plain, one=launch: made.run(one, guard=False),
            lambda made=watched, one=launch: made.run(one),
        )
        if not case.racy:
            ratios.append(slow / fast)
        other = ""
        if oclgrind and case.small and "large" not in case.name:
            one = launched(case, case.small)
            (mine,) = least(lambda made=watched, one=one: made.run(one), seconds=0.5)
            theirs = seconds_under_oclgrind(case.kernel, one)
            other = f"{theirs / mine:17.0f}"
        limit = RACY if case.racy else WORST
        print(f"{case.name:30} {slow / fast:18.2f} {limit:8.0f} {shadow(case, launch):7.2f} {other}")
    print(f"{'clean kernels, geometric mean':30} {np.exp(np.mean(np.log(ratios))):18.2f} {MEAN:8.0f}")
    if not oclgrind:
        print("Oclgrind is not installed: not compared")
    memory()
