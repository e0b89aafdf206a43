"""Repeated launches in threads, and interrupted: nobody gets another's record, nothing is freed that still runs."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.backend import Fact
from metalloid.backends.cpu import repeats
from metalloid.backends.cpu.native import LaunchRecord
from metalloid.errors import KernelFault
from metalloid.runtime.plan import Plan

SOURCE = """#include <metal_stdlib>
using namespace metal;
kernel void add(device const float* a, device float* out, constant uint& n, uint i [[thread_position_in_grid]]) {
    out[i] = a[i] + float(n);
}
kernel void far(device uint* at, device float* out, uint i [[thread_position_in_grid]]) {
    at[i + 8] = at[i];  // written, it is no parameter
    out[at[i]] = i;
}
kernel void slow(device float* out, constant uint& n, uint i [[thread_position_in_grid]]) {
    float x = out[i];
    for (uint j = 0; j < n; j++) x = sin(x) + float(j & 1);
    out[i] = x;
}
"""

pytestmark = pytest.mark.skipif(repeats.repeats() is None, reason="this Python's launches go the long way")


@pytest.fixture(autouse=True)
def good_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALLOID_BASELINE", "0")


@pytest.fixture
def library() -> mt.Library:
    return mt.device("cpu").library(SOURCE)


def floats(value: float) -> np.ndarray:
    return np.full(8, value, np.float32)


def plan_of(kernel: mt.Kernel) -> Plan:
    (plan,) = kernel.plans.values()
    return plan


def test_a_launch_is_remembered_with_its_own_record(library: mt.Library) -> None:
    """Another launch may come between a launch and what remembers it."""
    kernel, size = library["add"], {"grid": 8, "threadgroup": 8}
    for _ in range(5):
        kernel(floats(0), floats(0), 1, **size)
    between, asked = [(floats(10), floats(0), 4)], []

    def worth() -> bool:
        asked.append(len(asked))
        if between:
            kernel(*between.pop(), **size)
            return True
        return len(asked) > 2  # that one is not

    plan_of(kernel)._repeats.worth = worth
    a, out = floats(20), floats(0)
    for _ in range(3):
        out.fill(-1)
        kernel(a, out, 5, **size)
        assert (out == 25).all()
    assert len(asked) == 2 and plan_of(kernel).repeats((a, out, 5))


class Kept:
    """What a launch needs."""


def test_what_leads_to_a_launch_goes_before_the_launch() -> None:
    made, seen = repeats.repeats(), []
    assert made is not None
    alive: list[weakref.ref[Kept]] = []

    class Facts(list):
        def __iter__(self):
            seen.append([r() is not None for r in alive])  # as another thread would find them
            assert made.add(0, 1, [], Kept(), lambda status, told: None) is None  # one at a time
            return super().__iter__()

    for _ in range(repeats.MOST + 3):
        kept = Kept()
        alive.append(weakref.ref(kept))
        made.add(0, 1, Facts([Fact("integer")]), kept, lambda status, told: None)
        del kept
    before, last = seen[repeats.MOST], [r() is not None for r in alive]
    assert all(before) and last.count(False) == 3


def test_a_launch_that_stopped_is_not_started_before_its_record_is_new(library: mt.Library) -> None:
    kernel, at, out = library["far"], np.arange(16, dtype=np.uint32), floats(0)
    for _ in range(80):  # until its code is settled
        kernel(at, out, grid=8, threadgroup=8, guard=True)
    plan, found = plan_of(kernel), []
    assert plan.repeats((at, out))
    stopped = plan._repeats.stopped

    def told(*given) -> None:
        found.append(plan.repeats((at, out)))  # as another thread would ask
        stopped(*given)

    plan._repeats.stopped = told
    at[3] = 1 << 20
    with pytest.raises(KernelFault):
        kernel(at, out, grid=8, threadgroup=8, guard=True)
    assert found == [None]
    at[3] = 3
    assert plan.repeats((at, out))
    kernel(at, out, grid=8, threadgroup=8, guard=True)
    assert (out == np.arange(8)).all()


def test_a_buffer_that_is_released_while_it_is_used_lasts_as_long(library: mt.Library) -> None:
    kernel, buffer = library["slow"], mt.device("cpu").buffer(floats(1))
    for n in (10, 10, 10, 8_000_000, 8_000_000):
        kernel(buffer, n, grid=8, threadgroup=8)
    assert plan_of(kernel).repeats((buffer, 8_000_000))
    array, ended = weakref.ref(buffer.memory()), threading.Event()
    found: list[bool] = []

    def run() -> None:
        kernel(buffer, 8_000_000, grid=8, threadgroup=8)
        found.append(True)
        ended.set()

    thread = threading.Thread(target=run)
    thread.start()
    while plan_of(kernel).repeats((buffer, 8_000_000)):  # not begun
        time.sleep(0.001)
    buffer.release()
    assert not ended.is_set() and array() is not None
    thread.join()
    assert found and array() is None


def test_a_launch_that_was_interrupted_runs_the_next_time(library: mt.Library) -> None:
    """The interpreter raises before anybody has heard that the launch has stopped: it was once spent for good."""
    kernel, out, right = library["slow"], floats(1), floats(1)
    for array in (right, out, out):
        array.fill(1)
        kernel(array, 8_000_000, grid=8, threadgroup=8)
    plan = plan_of(kernel)
    assert plan.repeats((out, 8_000_000))

    def interrupt() -> None:
        while plan.repeats((out, 8_000_000)):  # not begun
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        kernel(out, 8_000_000, grid=8, threadgroup=8)
    thread.join()
    for _ in range(3):
        out.fill(1)
        kernel(out, 8_000_000, grid=8, threadgroup=8)
        np.testing.assert_array_equal(out, right)


def test_threads_that_launch_one_kernel(library: mt.Library) -> None:
    """It crashed within a second."""
    kernel, wrong, end = library["add"], [], time.perf_counter() + 2

    def work(number: int) -> None:
        arrays = [floats(100 * number + n) for n in range(6)]
        while time.perf_counter() < end and not wrong:
            for place, a in enumerate(arrays):
                out = floats(-1)
                for n in (number, number, number + 1):
                    kernel(a, out, n, grid=8, threadgroup=8)
                    wrong.extend([(number, place)] if not (out == a + n).all() else [])
            arrays[number % 6] = floats(number)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors")
def test_a_short_launch_is_run_both_ways_and_a_long_one_with_others(
    library: mt.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METALLOID_THREADS", "2")
    out = np.zeros(64 * 64, np.float32)

    def record(name: str, *more: object) -> LaunchRecord:
        for _ in range(150):
            library[name](*more, grid=out.size, threadgroup=64)
        one = plan_of(library[name])._repeats._found._made[-1][0]
        return LaunchRecord.from_address(one.launch)

    short = record("add", np.ones(64 * 64, np.float32), out, 2)
    assert (out == 3).all()
    assert short.runs > 100 and all(0 < took < 100_000 for took in short.took)
    long = record("slow", out, 3000)
    assert long.took[0] == 0 and long.took[1] > 100_000 and not long.alone
