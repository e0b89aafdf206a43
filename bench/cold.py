"""How long the first run takes with nothing cached: `python -m bench cold`.

A fresh process with an empty cache: import, header, clang, passes, LLVM, the native runtime, a launch. A small kernel,
and (where `make conformance` has fetched ggml) flash attention, the largest there is. Python's own bytecode is there,
as it is in an installed package.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

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
a, c = np.ones(1024, np.float32), np.zeros(1024, np.float32)
kernel(a, a, c, grid=1024, threadgroup=256)
assert (c == 2).all()
print(imported - start, built - imported, time.perf_counter() - built)
"""
FLASH = """
import time; start = time.perf_counter()
import numpy as np
from conformance.results.ggml import attention
from conformance.results.launch import run_on_engine
imported = time.perf_counter()
case = next(c for c in attention.cases() if "flash" in c.label)
work = case.make(np.random.default_rng(0), "small")
built = time.perf_counter()
for step in work.steps:
    run_on_engine(step)
print(imported - start, built - imported, time.perf_counter() - built)
"""


def cold(script: str) -> tuple[float, list[float]]:
    """Seconds of a process from start to end, and of its three parts."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"METALLOID_CACHE_DIR": folder, "PYTHONDONTWRITEBYTECODE": ""}
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        return time.perf_counter() - start, [float(x) for x in done.stdout.split()]


def main() -> None:
    cases = {"small kernel": (SMALL, 0.6)}
    if LLAMA.folder.exists():
        cases["ggml's flash attention"] = (FLASH, 5.0)
    for name, (script, most) in cases.items():
        total, (first, second, third) = min(cold(script) for _ in range(4))
        print(
            f"{name:34} {total:6.2f} s, at most {most:.1f}  (import {first:.2f}, source {second:.2f}, "
            f"code and run {third:.2f})"
        )
