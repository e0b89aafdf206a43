"""`python -m bench cuda`: kernels in Metal beside the same in CUDA (nvcc -O3), on one GPU, as ratios.

Needs CuPy and nvcc. Times are of the GPU alone: many launches in a row, medians of several rounds that take turns.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np

import metalloid as mt
from bench.nvidia import decode, gemm
from bench.nvidia.cases import CASES, Case
from metalloid.runtime.recording import Recording

HERE = Path(__file__).parent / "nvidia"
ROUNDS = 7


def main() -> None:
    try:
        import cupy
    except ImportError:
        print(
            "this compares with CUDA on an NVIDIA GPU, through CuPy, which is missing (pip install cupy-cuda13x)"
        )
        return
    library = mt.device("cuda").library(HERE / "kernels.metal")
    module = cupy.RawModule(path=_cubin())
    wanted = os.environ.get("BENCH_ONLY", "").split()
    launches = _launches(cupy, module)
    print(
        f"a warm launch that waits: {launches['metalloid']:.1f} us, with CuPy {launches['cupy']:.1f} us",
        flush=True,
    )
    found = [_measured(cupy, library, module, case) for case in CASES if not wanted or case.name in wanted]
    print(f"{'kernel':16}{'metal us':>10}{'cuda us':>10}{'ratio':>8}{'unguarded':>11}{'':>4}rate")
    for row in found:
        print(
            f"{row['name']:16}{row['metal']:10.1f}{row['cuda']:10.1f}{row['cuda'] / row['metal']:8.3f}"
            f"{row['bare'] / row['metal']:11.3f}{'':>4}{row['rate']}"
        )
    print(f"geometric mean {geometric_mean([r['cuda'] / r['metal'] for r in found]):.3f}")
    kept: dict[str, Any] = {"kernels": found, "launch": launches, "gemm": [], "decode": None}
    _keep(kept)
    if not wanted:
        for row in gemm.measured(cupy):
            print(
                f"{row['name']:28}{row['n']:6}{row['tflops']:8.1f} TFLOP/s,"
                f" {row['tflops'] / row['cublas']:.3f} of cuBLAS",
                flush=True,
            )
            kept["gemm"].append(row)
            _keep(kept)
        os.environ["METALLOID_DEVICE"] = "cuda"
        kept["decode"] = decode.measured(_bandwidth(cupy))
        print(
            "decode of 1B parameters in q4_0: {ms:.3f} ms a token, {share:.3f} of the bandwidth".format(
                **kept["decode"]
            )
        )
        _keep(kept)


def _keep(found: dict[str, Any]) -> None:
    if out := os.environ.get("BENCH_OUT"):
        Path(out).write_text(json.dumps(found, indent=1))


def _bandwidth(cupy: Any) -> float:
    """Bytes a second that a copy on the card reads and writes."""
    one, other = (cupy.zeros(1 << 31, cupy.uint8) for _ in range(2))
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    best = 0.0
    for _ in range(5):
        begin.record()
        cupy.copyto(other, one)
        end.record()
        end.synchronize()
        best = max(best, 2 * one.nbytes / cupy.cuda.get_elapsed_time(begin, end) * 1e3)
    return best


def _launches(cupy: Any, module: Any) -> dict[str, float]:
    """Microseconds of one small kernel, launched and waited for: medians of what takes turns."""
    device = mt.device("cuda")
    add = device.library(HERE / "kernels.metal")["add"]
    ours = [device.buffer(np.ones(256, np.float32)) for _ in range(3)]
    theirs = (*(cupy.ones(256, cupy.float32) for _ in range(3)), np.uint32(256))
    function, stream = module.get_function("add"), cupy.cuda.get_current_stream()

    def cuda() -> None:
        function((1,), (256,), theirs)
        stream.synchronize()

    ways = {"metalloid": lambda: add(*ours, 256, grid=256, threadgroup=256), "cupy": cuda}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for n in range(6000):
        for name, work in ways.items():
            begin = time.perf_counter()
            work()
            if n >= 1000:
                times[name].append((time.perf_counter() - begin) * 1e6)
    return {name: median(found) for name, found in times.items()}


def _cubin() -> str:
    """The CUDA kernels, compiled by nvcc for this GPU."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    made = str(Path(tempfile.mkdtemp()) / "kernels.cubin")
    subprocess.run([nvcc, "-O3", "-arch=sm_90", "-cubin", "-o", made, str(HERE / "kernels.cu")], check=True)
    return made


def _measured(cupy: Any, library: Any, module: Any, case: Case) -> dict[str, Any]:
    host = case.arguments(np.random.default_rng(1))
    ours = [cupy.asarray(a) if isinstance(a, np.ndarray) else int(a) for a in host]
    theirs = [cupy.asarray(a) if isinstance(a, np.ndarray) else a for a in host]
    grid = tuple(g * b for g, b in zip(case.groups, case.block, strict=True))
    kernel, function = library[case.name], module.get_function(case.name)

    def recorded(count: int, guard: bool) -> Recording:
        made = Recording(guard)
        for _ in range(count):
            made.add(kernel, *ours, grid=grid, threadgroup=case.block)
        made.prepare()
        return made

    function(case.groups, case.block, tuple(theirs))
    kernel(*ours, grid=grid, threadgroup=case.block)
    for index in case.outputs:
        one, other = cupy.asnumpy(ours[index]).astype(float), cupy.asnumpy(theirs[index]).astype(float)
        error = np.abs(one - other).max() / np.abs(other).max()
        assert error <= case.tolerance, f"{case.name}: output {index} is off by {error:.2g}"
    start = cupy.cuda.Event(), cupy.cuda.Event()
    start[0].record()
    function(case.groups, case.block, tuple(theirs))
    start[1].record()
    start[1].synchronize()
    count = max(5, min(200, int(20.0 / max(cupy.cuda.get_elapsed_time(*start), 1e-3))))
    guarded, bare = recorded(count, True), recorded(count, False)

    def cuda() -> None:
        for _ in range(count):
            function(case.groups, case.block, tuple(theirs))

    times: dict[str, list[float]] = {"metal": [], "bare": [], "cuda": []}
    graph = _graph(cupy, cuda)
    for _ in range(ROUNDS):
        for name, work in (("metal", guarded.run), ("cuda", graph), ("bare", bare.run)):
            cupy.cuda.runtime.deviceSynchronize()
            begin = time.perf_counter()
            work()
            cupy.cuda.runtime.deviceSynchronize()
            times[name].append((time.perf_counter() - begin) / count * 1e6)
    best = {name: median(found) for name, found in times.items()}
    if case.flops:
        rate = f"{case.flops / best['metal'] / 1e6:8.2f} TFLOP/s"
    else:
        rate = f"{case.bytes / best['metal'] / 1e3:8.0f} GB/s"
    return {
        "name": case.name,
        **best,
        "rate": rate,
        "spread": {n: (min(t), max(t)) for n, t in times.items()},
    }


def _graph(cupy: Any, work: Any) -> Any:
    """The CUDA launches as a graph, as a recording is one."""
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        work()
        graph = stream.end_capture()

    def run() -> None:
        graph.launch(stream)
        stream.synchronize()

    return run
