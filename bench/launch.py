"""What a launch costs: `python -m bench.launch [--soak N]`.

Medians of single calls, warm: a kernel of one threadgroup through numpy, through the MLX form on numpy's and
on MLX's arrays (where MLX is installed), through a command buffer; launches from several Python threads; memory
after many launches; memory from the pool against fresh memory.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

import metalloid as mt
import metalloid.mlx
from metalloid.runtime.pool import Pool

ADD = """#include <metal_stdlib>
using namespace metal;
kernel void add(device const float* a, device const float* b, device float* c, constant uint& n,
                uint i [[thread_position_in_grid]]) { if (i < n) c[i] = a[i] + b[i]; }
kernel void busy(device float* x, constant uint& n, uint i [[thread_position_in_grid]]) {
    float v = x[i];
    for (uint k = 0; k < n; k++) v = fma(v, 0.999f, 0.001f);
    x[i] = v; }
"""
SOURCE = "uint i = thread_position_in_grid.x; out[i] = a[i] + b[i];"
N = 256


def median(call: Callable[[], object], times: int = 4000) -> tuple[float, float]:
    """Median and least microseconds of one call."""
    for _ in range(times // 10):
        call()
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds) * 1e6, min(seconds) * 1e6


def say(what: str, call: Callable[[], object], target: float = 0, launches: int = 1) -> None:
    """For each of the launches that a call makes."""
    middle, least = (time / launches for time in median(call, max(40, 4000 // launches)))
    goal = f"   (target {target:.0f})" if target else ""
    print(f"{what:44} {middle:8.2f} us median, {least:8.2f} least{goal}")


def launches() -> None:
    device = mt.device("cpu")
    add = device.library(ADD)["add"]
    a, b, c = (np.ones(N, np.float32) for _ in range(3))
    say("numpy, one threadgroup", lambda: add(a, b, c, N, grid=N, threadgroup=N), 5)
    buffers = [device.buffer(array) for array in (a, b, c)]
    say("Buffers, one threadgroup", lambda: add(*buffers, N, grid=N, threadgroup=N), 5)
    queue = device.queue()

    def commands(count: int) -> None:
        made = queue.command_buffer()
        with made.compute_encoder() as encoder:
            for _ in range(count):
                encoder.dispatch(add, *buffers, N, grid=N, threadgroup=N)
        made.commit()
        made.wait_until_completed()

    say("command buffer of one dispatch", lambda: commands(1), 15)
    say("a dispatch of 100 in a command buffer", lambda: commands(100), 15, launches=100)
    kernel = metalloid.mlx.metal_kernel("add", ["a", "b"], ["out"], SOURCE)
    sizes = {"grid": (N, 1, 1), "threadgroup": (N, 1, 1), "output_shapes": [(N,)]}
    say("MLX form, numpy arrays", lambda: kernel(inputs=[a, b], output_dtypes=[np.float32], **sizes))
    if find_spec("mlx") is None:
        print("MLX form, MLX arrays: mlx is not installed")
        return
    import mlx.core as mx

    x, y = mx.ones(N), mx.ones(N)
    mx.eval(x, y)
    say("MLX form, MLX arrays", lambda: kernel(inputs=[x, y], output_dtypes=[mx.float32], **sizes), 40)
    say(
        "MLX form, MLX arrays, outputs evaluated",
        lambda: mx.eval(kernel(inputs=[x, y], output_dtypes=[mx.float32], **sizes)),
    )


def threads(count: int = 8, each: int = 20) -> None:
    """One-threadgroup kernels of about a millisecond, from one Python thread and from several.

    Hashing, which gives up the interpreter's lock too, tells how many cores there really are to have.
    """
    busy = mt.device("cpu").library(ADD)["busy"]
    arrays = [np.zeros(N, np.float32) for _ in range(count)]
    data = bytes(1_000_000)

    def kernel(n: int) -> None:
        for _ in range(each):
            busy(arrays[n], 300_000, grid=N, threadgroup=N)

    def hashing(n: int) -> None:
        for _ in range(each):
            hashlib.sha256(data).digest()

    kernel(0)
    arrays[0][:] = 0
    ours, cores = speed_up(kernel, count), speed_up(hashing, count)
    same = all((array == arrays[1]).all() for array in arrays[1:])
    print(
        f"{count} Python threads: {ours:.2f} times the launches of one, where hashing gains {cores:.2f};"
        f" results {'agree' if same else 'DIFFER'}"
    )


def speed_up(work: Callable[[int], None], count: int) -> float:
    """How much more several threads do than one."""

    def timed(n: int) -> float:
        running = [threading.Thread(target=work, args=(i,)) for i in range(n)]
        start = time.perf_counter()
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        return time.perf_counter() - start

    return count * timed(1) / timed(count)


def soak(times: int) -> None:
    add = mt.device("cpu").library(ADD)["add"]
    a, b, c = (np.ones(N, np.float32) for _ in range(3))
    for n in range(1000):
        add(a, b, c, n, grid=N, threadgroup=N)
    before = resident()
    start = time.perf_counter()
    for n in range(times):
        add(a, b, c, n % 1000, grid=N, threadgroup=N)
    seconds = time.perf_counter() - start
    print(f"{times} launches in {seconds:.1f} s: memory {before} KiB before, {resident()} KiB after")


def resident() -> int:
    """KiB of memory this process holds, where the system tells."""
    try:
        with open("/proc/self/status") as status:  # noqa: PTH123
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    except OSError:
        return 0


def pool(nbytes: int = 64 << 20) -> None:
    """Allocate 64 MB and write to every page."""

    def touched(memory: np.ndarray) -> None:
        memory[::4096] = 1

    def timed(make: Callable[[], np.ndarray]) -> float:
        seconds = []
        for _ in range(7):
            start = time.perf_counter()
            touched(make())
            seconds.append(time.perf_counter() - start)
        return statistics.median(seconds)

    kept, fresh = Pool(), Pool(capacity=0)
    touched(kept.allocate(nbytes))
    again, new = timed(lambda: kept.allocate(nbytes)), timed(lambda: fresh.allocate(nbytes))
    plain = timed(lambda: np.empty(nbytes, np.uint8))
    print(
        f"64 MB: {again * 1e3:.3f} ms from the pool, {new * 1e3:.3f} ms fresh ({new / again:.0f} times),"
        f" {plain * 1e3:.3f} ms from numpy ({plain / again:.0f} times)"
    )


def main(soak_launches: int = 100_000) -> None:
    launches()
    threads()
    pool()
    soak(soak_launches)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--soak", type=int, default=100_000)
    main(parser.parse_args().soak)
