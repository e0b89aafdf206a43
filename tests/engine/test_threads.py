"""Threadgroups on several threads, launches from several threads, and a fork."""

# ruff: noqa: E501  kernels are quoted as they are
from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from metalloid.errors import KernelFault
from tests.engine.both import launch, program

TASKS = Path("/proc/self/task")
ADD = "kernel void k(device const float* a, device float* b, uint i [[thread_position_in_grid]]) { b[i] = a[i] + 1; }"
SUM = """kernel void k(device const uint* a, device atomic_uint* total, uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup uint s[64];
    s[t] = a[i];
    for (uint k = 32; k > 0; k >>= 1) { threadgroup_barrier(mem_flags::mem_threadgroup); if (t < k) s[t] += s[t + k]; }
    if (t == 0) atomic_fetch_add_explicit(total, s[0], memory_order_relaxed);
}"""


def test_every_threadgroup_runs_once_whoever_runs_it():
    a = np.arange(100_003, dtype=np.uint32) % 1000
    padded = np.zeros(-(-a.size // 64) * 64, np.uint32)
    padded[: a.size] = a
    for threads in (1, 2, 5):
        total = np.zeros(1, np.uint32)
        made = program(SUM, "k")
        made.run(launch([padded, total], padded.size, 64), threads=threads)
        assert total[0] == a.sum(dtype=np.uint32)
        assert not any(v.compiled.watches for v in made._variants.values())  # each has a part of its own


CHAIN = """kernel void k(device const uint* a, device atomic_uint* ready, device uint* out,
        uint g [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    if (t == 0) {
        uint before = 0;
        if (g > 0) while ((before = atomic_load_explicit(&ready[g - 1], memory_order_relaxed)) == 0) {}
        out[g] = before + a[g];
        atomic_store_explicit(&ready[g], before + a[g], memory_order_relaxed);
    }
}"""


@pytest.mark.parametrize("threads", [1, 2, 3, 11])
def test_threadgroups_that_wait_for_those_before_them_are_begun_in_order(threads):
    """A scan that hands its sums on: with a part of the launch for each thread, most would wait for the first."""
    a = np.arange(1, 400, dtype=np.uint32)
    made = program(CHAIN, "k")
    ready, out = np.zeros_like(a), np.zeros_like(a)
    made.run(launch([a, ready, out], a.size * 32, 32), threads=threads, timeout=60)
    assert (out == np.cumsum(a)).all()
    assert all(v.compiled.watches for v in made._variants.values())


MEETING = """
import numpy as np, metalloid as mt
kernel = mt.device("cpu").library('''#include <metal_stdlib>
using namespace metal;
kernel void k(device atomic_uint* here, constant uint& n, uint t [[thread_index_in_threadgroup]]) {
    if (t == 0) {
        atomic_fetch_add_explicit(here, 1u, memory_order_relaxed);
        while (atomic_load_explicit(here, memory_order_relaxed) % n) {}
    } }''')["k"]
here = np.zeros(1, np.uint32)
for _ in range(2000):
    kernel(here, 2, grid=64, threadgroup=32)
print(here[0])
"""


def test_threadgroups_that_wait_for_each_other_never_run_on_one_thread_alone():
    """Short launches wake nobody, but these: the first threadgroup would wait for one that was not begun."""
    environment = os.environ | {"METALLOID_THREADS": "2"}
    command = [sys.executable, "-c", MEETING]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == "4000", done.stderr


def test_planes_and_strips_cover_the_grid():
    text = """kernel void k(device atomic_uint* seen, uint3 g [[thread_position_in_grid]], uint3 n [[threads_per_grid]]) {
        atomic_fetch_add_explicit(&seen[(g.z * n.y + g.y) * n.x + g.x], 1u, memory_order_relaxed); }"""
    for grid in ((37, 29, 3), (5, 100, 1), (1, 9, 17), (64, 8, 1)):
        for backwards in (False, True):
            seen = np.zeros(grid[0] * grid[1] * grid[2], np.uint32)
            program(text, "k").run(launch([seen], grid, (4, 3, 2)), threads=3, backwards=backwards)
            assert (seen == 1).all()


def test_launches_from_many_python_threads():
    def one(n: int) -> bool:
        a, b = np.full(1000 + n, n, np.float32), np.zeros(1000 + n, np.float32)
        program(ADD, "k").run(launch([a, b], a.size, 64), threads=2)
        return bool((b == n + 1).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(40)))


def test_a_fault_on_one_thread_stops_all():
    with pytest.raises(KernelFault):
        program(ADD, "k").run(
            launch([np.zeros(10_000, np.float32), np.zeros(9_000, np.float32)], 10_000, 64), threads=4
        )


def _in_child(queue) -> None:
    b = np.zeros(4096, np.float32)
    program(ADD, "k").run(launch([np.ones(4096, np.float32), b], 4096, 64), threads=2)
    queue.put(bool((b == 2).all()))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_child_of_a_fork_has_threads_of_its_own():
    program(ADD, "k").run(launch([np.zeros(4096, np.float32)] * 2, 4096, 64), threads=2)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60)
    child.join(10)


def _workers_of(queue) -> None:
    before = set(TASKS.iterdir())
    allowed = os.sched_getaffinity(0)
    for _ in range(3):
        b = np.zeros(4096, np.float32)
        program(ADD, "k").run(launch([np.ones(4096, np.float32), b], 4096, 64), threads=3)
    workers = set(TASKS.iterdir()) - before
    queue.put((allowed, [os.sched_getaffinity(int(worker.name)) for worker in workers]))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="says where threads run as Linux does")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_workers_keep_off_the_processor_of_the_caller():
    program(ADD, "k").run(launch([np.zeros(4096, np.float32)] * 2, 4096, 64), threads=1)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()  # no thread of its own
    child = context.Process(target=_workers_of, args=(queue,))
    child.start()
    allowed, workers = queue.get()
    child.join(10)
    assert len(workers) == 2
    for mine in workers:
        assert mine <= allowed
        assert len(mine) == max(1, len(allowed) - 1)
