"""Recorded launches: in order, over memory as it is at each run, stopped by faults, seen by watchers."""

import signal
import threading

import numpy as np
import pytest

import metalloid as mt
from metalloid.errors import KernelFault, LaunchError
from metalloid.runtime.recording import Recording

SOURCE = """#include <metal_stdlib>
using namespace metal;
kernel void add(device float* x, constant float& a, uint i [[thread_position_in_grid]]) { x[i] += a; }
kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }
kernel void shift(device const float* x, device float* y, constant uint& n, uint i [[thread_position_in_grid]]) {
    y[i] = x[(i + 1) % n]; }
"""


@pytest.fixture(scope="module")
def library():
    return mt.device("cpu").library(SOURCE)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_launches_run_in_order_each_after_the_other(library, monkeypatch, threads):
    """Every element moves through the whole array: one launch that starts too early would be seen."""
    monkeypatch.setenv("METALLOID_THREADS", str(threads))
    monkeypatch.setattr("metalloid.runtime.recording._WORTH_SHARING", 0)  # however small
    n = 1000
    x, y = np.arange(n, dtype=np.float32), np.full(n, np.nan, np.float32)
    recording = Recording()
    for _ in range(50):
        recording.add(library["shift"], x, y, n, grid=n, threadgroup=16)
        recording.add(library["shift"], y, x, n, grid=n, threadgroup=32)
    assert len(recording) == 100
    for run in range(1, 21):
        recording.run()
        assert np.array_equal(x, (np.arange(n) + 100 * run) % n)


def test_arrays_are_read_at_each_run_and_numbers_are_kept(library):
    x, a = np.zeros(7, np.float32), np.ones(1, np.float32)
    recording = Recording()
    recording.add(library["add"], x, a, grid=7, threadgroup=4)
    recording.add(library["add"], x, 0.5, grid=7, threadgroup=4)
    recording.run()
    a[0] = 10
    recording.run()
    assert (x == 12).all()
    with pytest.raises(LaunchError, match=r"'a' is an array of float64 that is converted now"):
        recording.add(library["add"], x, np.ones(1), grid=7, threadgroup=4)


def test_a_recording_can_grow(library):
    x = np.ones(3, np.float32)
    recording = Recording()
    recording.run()
    recording.add(library["twice"], x, grid=3, threadgroup=3)
    recording.run()
    recording.add(library["add"], x, 1.0, grid=3, threadgroup=3)
    recording.run()
    assert (x == 5).all()


def test_a_fault_stops_the_rest_and_the_next_run_starts_anew(library):
    x, y, a = np.ones(8, np.float32), np.ones(4, np.float32), np.ones(1, np.float32)
    recording = Recording()
    recording.add(library["add"], x, a, grid=8, threadgroup=8)
    recording.add(library["add"], y, a, grid=5, threadgroup=8)
    recording.add(library["twice"], x, grid=8, threadgroup=8)
    for run in (1, 2):
        with pytest.raises(KernelFault, match=r"M10\d .* 'x' \(16 bytes\)"):
            recording.run()
        assert (x == 1 + run).all()


def test_what_cannot_be_launched_is_refused_when_it_is_recorded(library):
    with pytest.raises(LaunchError, match="float64"):
        Recording().add(library["twice"], np.ones(3), grid=3, threadgroup=3)


def test_watchers_see_each_launch(library):
    x = np.ones(3, np.float32)
    recording = Recording()
    recording.add(library["twice"], x, grid=3, threadgroup=3)
    recording.add(library["add"], x, 1.0, grid=3, threadgroup=3)
    with mt.device("cpu").trace() as trace:
        recording.run()
    assert (x == 3).all()
    assert "twice" in trace.text()


def test_several_python_threads_with_recordings_of_their_own(library):
    arrays = [np.zeros(300, np.float32) for _ in range(4)]

    def work(x: np.ndarray) -> None:
        recording = Recording()
        for _ in range(20):
            recording.add(library["add"], x, 1.0, grid=300, threadgroup=32)
        for _ in range(50):
            recording.run()

    running = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert all((x == 1000).all() for x in arrays)


def test_an_interrupt_stops_a_recording():
    busy = mt.device("cpu").library("""#include <metal_stdlib>
using namespace metal;
kernel void busy(device float* x, uint i [[thread_position_in_grid]]) {
    for (uint k = 0; k < 2000000000u; k++) x[i] = fma(x[i], 0.999f, 0.001f); }
""")["busy"]
    recording = Recording()
    recording.add(busy, np.zeros(32, np.float32), grid=32, threadgroup=32)
    recording.add(busy, np.zeros(32, np.float32), grid=32, threadgroup=32)
    recording.prepare()
    timer = threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        recording.run()
    timer.join()
