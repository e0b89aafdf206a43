"""How long a first run takes with nothing cached, and how long the next: `python -m bench cold`.

A fresh process with an empty cache: import, header, clang, passes, LLVM, the native runtime, a launch; then another
process that finds what the first one left. A small kernel; the Llama that comes with the package; and (where
`make conformance` has fetched ggml) flash attention for heads of 32, of 128, of 512, and of 576 with values of 512: the
largest kernels there are.
Python's own bytecode is there, as it is in an installed package. Wall-clock time of whole processes, the least of
several; `source` is the front end, `code and run` what is left.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from conformance.packages import LLAMA

SMALL = """
import time; start = time.perf_counter()
import numpy as np, metalloid as mt
imported = time.perf_counter()
kernel = mt.device("cpu").library('''#include <metal_stdlib>
using namespace metal;
kernel void add(device const float* a, device const float* b, device float* c, uint i [[thread_position_in_grid]]) {
    c[i] = a[i] + b[i]; }''')["add"]
kernel.ir
built = time.perf_counter()
a, c = np.arange(1024, dtype=np.float32), np.full(1024, np.nan, np.float32)
kernel(a, a, c, grid=1024, threadgroup=256)
assert (c == 2 * a).all()
print(imported - start, built - imported, time.perf_counter() - built)
"""
FLASH = """
import time; start = time.perf_counter()
import numpy as np
from conformance.results.ggml import attention
from conformance.results.launch import run_on_engine
from metalloid.compile import scalar
imported = time.perf_counter()
work = attention._tiles(np.random.default_rng(0), "small", "TYPE", SIZE, attention.Options(), VALUES)
for step in work.steps:
    scalar(step.source, step.kernel, step.constants)
built = time.perf_counter()
for step in work.steps:
    run_on_engine(step)
for output in work.outputs:
    error = np.abs(output.look(output.actual).astype(np.float64) - output.expected).max()
    assert error <= output.tolerance * np.abs(output.expected).max()
print(imported - start, built - imported, time.perf_counter() - built)
"""
FLASHES = (("f16", 32, 32), ("f16", 128, 128), ("q8_0", 128, 128), ("f16", 512, 512), ("f16", 576, 512))
CHAT = """
import sys, time; start = time.perf_counter()
from metalloid.cli import main
imported = time.perf_counter()
sys.argv = ["metalloid", "chat", "--max-tokens", "4", "--prompt", "Once"]
try:
    main()
except SystemExit:
    pass
print()
print(imported - start, 0, time.perf_counter() - imported)
"""


@dataclass(frozen=True)
class Run:
    """Seconds of a process from start to end, and of its three parts."""

    total: float
    parts: tuple[float, ...]

    def __str__(self) -> str:
        first, second, third = self.parts
        return f"{self.total:6.2f} s  (import {first:.2f}, source {second:.2f}, code and run {third:.2f})"


def run(script: str, folder: str) -> Run:
    environment = os.environ | {"METALLOID_CACHE_DIR": folder, "PYTHONDONTWRITEBYTECODE": ""}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    total = time.perf_counter() - start
    return Run(total, tuple(float(x) for x in done.stdout.splitlines()[-1].split()))


def cold_and_warm(script: str) -> tuple[Run, Run]:
    with tempfile.TemporaryDirectory() as folder:
        return run(script, folder), run(script, folder)


def main() -> None:
    cases: dict[str, tuple[str, float]] = {"small kernel": (SMALL, 0.6), "metalloid chat": (CHAT, 0)}
    if LLAMA.folder.exists():
        for type, size, values in FLASHES:
            script = FLASH.replace("TYPE", type).replace("SIZE", str(size)).replace("VALUES", str(values))
            cases[f"flash attention, {type}, heads of {size}"] = (script, 5.0)
    for name, (script, most) in cases.items():
        runs = [cold_and_warm(script) for _ in range(4)]
        first = min((cold for cold, _ in runs), key=lambda r: r.total)
        again = min((warm for _, warm in runs), key=lambda r: r.total)
        limit = f", at most {most:.1f}" if most else ""
        print(f"{name:38} first {first}{limit}", flush=True)
        print(f"{'':38} again {again}", flush=True)
