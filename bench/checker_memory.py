"""What a check takes beside its buffers, and how long: the second table of `python -m bench checker`.

Each launch is checked by a process of its own, with buffers that have all been touched before. Memory is the most that
was resident meanwhile, less what was before; twice the buffers and 256 MB are allowed. Time is processor time, with
compilation.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

MB = 1 << 20
ALLOWED = 256 * MB
HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
GATHER = """kernel void k(device const float* x, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = x[i * 1024];
}"""
SCATTER = """kernel void k(device const float* x, device float* out, uint i [[thread_position_in_grid]]) {
    out[i * 1024] = x[i];
}"""
ADD = """kernel void k(device const float* x, device const float* y, device float* out,
                     uint i [[thread_position_in_grid]]) {
    out[i] = x[i] + y[i];
}"""
BYTES = """kernel void k(device uchar* x, uint i [[thread_position_in_grid]]) { x[i] = x[i] / 2; }"""


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    arrays: Callable[[], list[np.ndarray]]
    threads: int


def numbers(count: int) -> np.ndarray:
    return np.full(count, 1, np.float32)


CASES = (
    Case("64 threads, input of 256 MiB", GATHER, lambda: [numbers(64 * MB), numbers(64)], 64),
    Case("64 threads, input of 2 GiB", GATHER, lambda: [numbers(512 * MB), numbers(64)], 64),
    Case("64 threads, output of 2 GiB", SCATTER, lambda: [numbers(64), numbers(512 * MB)], 64),
    Case("vector add of 64 MiB", ADD, lambda: [numbers(16 * MB) for _ in range(3)], 16 * MB),
    Case("bytes in place, 64 MiB", BYTES, lambda: [np.full(64 * MB, 7, np.uint8)], 64 * MB),
)


def measured(number: int) -> tuple[float, int, int]:
    """Processor time, bytes beside the buffers, bytes of the buffers."""
    import metalloid as mt

    case = CASES[number]
    arrays = case.arrays()
    kernel = mt.device().library(HEAD + case.text)["k"]
    before, start = _resident("VmRSS"), time.process_time()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    mt.check(kernel, *arrays, grid=case.threads, threadgroup=min(256, case.threads))
    return time.process_time() - start, _resident("VmHWM") - before, sum(a.nbytes for a in arrays)


def _resident(what: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))


def main() -> None:
    print(f"{'':30} {'seconds':>8} {'MB beside':>10} {'allowed':>8}")
    spawned = multiprocessing.get_context("spawn")
    for number, case in enumerate(CASES):
        with spawned.Pool(1) as pool:  # a new process: what others took does not count
            seconds, taken, buffers = pool.apply(measured, (number,))
        allowed = 2 * buffers + ALLOWED
        print(f"{case.name:30} {seconds:8.1f} {taken >> 20:10} {allowed >> 20:8}", flush=True)
        assert taken <= allowed, f"{case.name}: {taken >> 20} MB"
