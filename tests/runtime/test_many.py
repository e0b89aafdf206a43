"""Many launches: from several threads at once, one after the other without growing, from several queues."""

from __future__ import annotations

import gc
import threading
import time
import tracemalloc

import numpy as np

import metalloid as mt

TEXT = """#include <metal_stdlib>
using namespace metal;
kernel void advance(device float* x, constant float& a, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i < n) x[i] = x[i] * 0.5f + a; }
kernel void sum(device const float* x, device atomic_uint* out, uint i [[thread_position_in_grid]],
                uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[64]; s[t] = x[i]; threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 32; k > 0; k /= 2) { if (t < k) s[t] += s[t + k]; threadgroup_barrier(mem_flags::mem_threadgroup); }
    if (t == 0) atomic_fetch_add_explicit(out, uint(s[0]), memory_order_relaxed); }
kernel void wait_for(device atomic_int* flag, device int* seen, constant uint& most) {
    for (uint k = 0; k < most; k++)
        if (atomic_load_explicit(flag, memory_order_relaxed) != 0) { seen[0] = 1; return; } }
kernel void raise_it(device atomic_int* flag) { atomic_store_explicit(flag, 1, memory_order_relaxed); }
"""


def test_eight_threads_at_once_get_right_results():
    library = mt.device("cpu").library(TEXT)
    wrong: list[str] = []

    def work(seed: int) -> None:
        n = 64 * (1 + seed)  # one threadgroup for the first, many for the others
        x, expected = np.zeros(n, np.float32), np.float32(0)
        ones, total = np.ones(n, np.float32), np.zeros(1, np.uint32)
        for k in range(100):
            a = float(seed + k)
            library["advance"](x, a, n, grid=n, threadgroup=64)
            expected = expected * np.float32(0.5) + np.float32(a)
            library["sum"](ones, total, grid=n, threadgroup=64)
        if not (x == expected).all() or total[0] != 100 * n:
            wrong.append(f"{seed}: {x[0]} {expected} {total[0]}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_small_launches_from_two_threads_run_at_the_same_time():
    library = mt.device("cpu").library(TEXT)
    flag, seen = np.zeros(1, np.int32), np.zeros(1, np.int32)
    for kernel, arguments in (("wait_for", (flag, seen, 1)), ("raise_it", (np.zeros(1, np.int32),))):
        library[kernel](*arguments, grid=1)  # compiled before anybody waits
    waiting = threading.Thread(target=lambda: library["wait_for"](flag, seen, 2**32 - 1, grid=1))
    waiting.start()
    time.sleep(0.05)
    library["raise_it"](flag, grid=1)
    waiting.join()
    assert seen[0] == 1, "the second launch waited for the first"


def test_launches_leave_no_memory_behind():
    device = mt.device("cpu")
    step = device.library(TEXT)["advance"]
    x = np.zeros(64, np.float32)

    def launch(times: int) -> None:
        for k in range(times):
            step(x, k * 0.25, 64, grid=64, threadgroup=64)
            if k % 200 == 0:
                commands = device.queue().command_buffer()
                with commands.compute_encoder() as encoder:
                    encoder.dispatch(step, device.zeros(64), 1.0, 64, grid=64, threadgroup=64)
                commands.commit()
                commands.wait_until_completed()

    def least(rounds: int) -> int:
        """What lies there at the least: launches that may repeat are kept until there are too many of them."""
        seen = []
        for _ in range(rounds):
            launch(1000)
            gc.collect()
            seen.append(tracemalloc.get_traced_memory()[0])
        return min(seen)

    tracemalloc.start()
    try:
        before = least(8)
        grown = least(8) - before
    finally:
        tracemalloc.stop()
    assert grown < 60_000, grown  # less than 8 bytes a launch: queues that are just ending


def test_queues_run_beside_each_other():
    device = mt.device("cpu")
    step = device.library(TEXT)["advance"]
    event = mt.SharedEvent()
    held = device.queue().command_buffer()
    held.wait_for_event(event, 1)
    held.commit()
    x = device.zeros(64)
    other = device.queue().command_buffer()
    with other.compute_encoder() as encoder:
        encoder.dispatch(step, x, 3.0, 64, grid=64)
    other.commit()
    other.wait_until_completed(timeout=30)
    assert (x.numpy() == 3).all() and not held.done
    event.signal(1)
    held.wait_until_completed(timeout=30)
