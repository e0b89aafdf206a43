"""Dispatches like one that has run go a short way through the queue: the same results, the same refusals."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import metalloid as mt
from metalloid.runtime.plan import Plan

TEXT = """
kernel void add(device const float* a, device const float* b, device float* c, constant uint& n,
                uint i [[thread_position_in_grid]]) { if (i < n) c[i] = a[i] + b[i]; }
kernel void back(device const float* a, device float* c, uint i [[thread_position_in_grid]]) { c[i] = a[int(i) - 4]; }
kernel void double_up(device float* a, device float* b, uint i [[thread_position_in_grid]]) { a[i] = b[i] * 2; }
kernel void scaled(device float* c, constant uint* shape, uint i [[thread_position_in_grid]]) {
    c[i] = shape[0] * 10 + shape[int(shape[1]) - 1];
}
"""


@pytest.fixture
def device() -> mt.Device:
    return mt.device()


@pytest.fixture
def library(device: mt.Device) -> mt.Library:
    return device.library(TEXT)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What went the short way."""
    gone: list[object] = []
    run = Plan.run

    def told(self: Plan, bound: object) -> None:
        gone.append(self)
        run(self, bound)  # type: ignore[arg-type]

    monkeypatch.setattr(Plan, "run", told)
    return gone


def dispatch(queue: mt.Queue, kernel: mt.Kernel, bindings: list[object], grid: int, **more: object) -> None:
    commands = queue.command_buffer()
    with commands.compute_encoder(**more) as encoder:
        encoder.set_pipeline(kernel)
        for index, bound in enumerate(bindings):
            if isinstance(bound, tuple):
                encoder.set_buffer(bound[0], bound[1], index)
            elif isinstance(bound, mt.Buffer):
                encoder.set_buffer(bound, 0, index)
            else:
                encoder.set_bytes(bound, index)
        encoder.dispatch_threads(grid, min(grid, 32))
    commands.commit()
    commands.wait_until_completed()


@pytest.mark.parametrize("raw", (False, True))
def test_numbers_and_memory_may_differ_each_time(device, library, short, raw):
    queue, rng = device.queue(), np.random.default_rng(1)
    for round in range(6):
        a, b, c = (device.buffer(rng.random(64, np.float32)) for _ in range(3))
        before = c.numpy().copy()
        n = 10 * round + 3
        count: object = np.uint32(n).tobytes() if raw else n
        dispatch(queue, library["add"], [a, b, c, count], 64, raw=raw)
        expected = np.where(np.arange(64) < n, a.numpy() + b.numpy(), before)
        np.testing.assert_array_equal(c.numpy(), expected)
    assert len(short) >= 4


def test_memory_below_an_offset_stays_readable(device, library, short):
    whole = device.buffer(np.arange(64, dtype=np.float32))
    for offset in (16, 32, 16, 48):  # in bytes
        c = device.buffer(np.full(32, -1, np.float32))
        dispatch(device.queue(), library["back"], [(whole, offset), c], 32)
        np.testing.assert_array_equal(c.numpy(), np.arange(32) + offset // 4 - 4)
    assert short
    c = device.buffer(np.full(32, -1, np.float32))
    with pytest.raises(mt.KernelFault, match="M101"):  # nothing lies below: the offset before is forgotten
        dispatch(device.queue(), library["back"], [whole, c], 32)
    with pytest.raises(mt.KernelFault, match=r"offset|before"):
        dispatch(device.queue(), library["back"], [(whole, 8), c], 32)


def test_parameters_that_are_read_below_their_offset(device, library):
    """They are copied where numbers decide about the code; a copy has nothing below it."""
    shape = device.buffer(np.array([7, 7, 3, 0], np.uint32))
    for _ in range(3):
        c = device.buffer(np.zeros(32, np.float32))
        dispatch(device.queue(), library["scaled"], [c, (shape, 8)], 32)
        np.testing.assert_array_equal(c.numpy(), np.full(32, 37))


def test_one_buffer_bound_twice(device, library, short):
    a = device.buffer(np.ones(64, np.float32))
    for _ in range(5):
        dispatch(device.queue(), library["double_up"], [a, a], 64)
    np.testing.assert_array_equal(a.numpy(), np.full(64, 32))
    assert short


def test_what_was_bound_is_what_counts(device, library, short):
    """Numbers and bindings of several dispatches of one encoder do not mix."""
    a, b = (device.buffer(np.arange(64, dtype=np.float32)) for _ in range(2))
    outs = [device.buffer(np.zeros(64, np.float32)) for _ in range(4)]
    queue = device.queue()
    for _ in range(2):
        commands = queue.command_buffer()
        with commands.compute_encoder() as encoder:
            encoder.set_pipeline(library["add"])
            encoder.set_buffer(a, 0, 0)
            encoder.set_buffer(b, 0, 1)
            for n, out in enumerate(outs):
                encoder.set_buffer(out, 0, 2)
                encoder.set_bytes(16 * n + 1, 3)
                encoder.dispatch_threads(64, 32)
        commands.commit()
        commands.wait_until_completed()
    assert len(short) >= 4
    for n, out in enumerate(outs):
        expected = np.where(np.arange(64) < 16 * n + 1, 2 * np.arange(64), 0)
        np.testing.assert_array_equal(out.numpy(), expected)


def test_refusals_are_those_of_the_long_way(device, library, short):
    a, b, c = (device.buffer(np.zeros(64, np.float32)) for _ in range(3))
    for _ in range(2):
        dispatch(device.queue(), library["add"], [a, b, c, 64], 64)
    with pytest.raises(mt.LaunchError, match="index 3"):
        dispatch(device.queue(), library["add"], [a, b, c], 64)
    with pytest.raises(mt.LaunchError):
        dispatch(device.queue(), library["add"], [a, b, device.buffer(np.zeros(64, np.int32)), 64], 64)
    c.release()
    with pytest.raises(mt.LaunchError, match="M309"):
        dispatch(device.queue(), library["add"], [a, b, c, 64], 64)


def test_checkers_see_every_dispatch(device, library):
    a, b, c = (device.buffer(np.zeros(64, np.float32)) for _ in range(3))
    for _ in range(2):
        dispatch(device.queue(), library["add"], [a, b, c, 64], 64)
    with mt.checked() as report:
        dispatch(device.queue(), library["add"], [a, b, c, 64], 64)
    assert report.launches == 1 if isinstance(report.launches, int) else len(report.launches) == 1


def test_a_handler_may_want_what_the_waiting_thread_holds(device, library):
    """Whoever waits may run the work himself, but not the handlers."""
    a, b, c = (device.buffer(np.zeros(64, np.float32)) for _ in range(3))
    lock, called = threading.Lock(), threading.Event()

    def handler(_: object) -> None:
        with lock:
            called.set()

    for _ in range(3):
        called.clear()
        with lock:
            commands = device.queue().command_buffer()
            with commands.compute_encoder() as encoder:
                encoder.dispatch(library["add"], a, b, c, 64, grid=64)
            commands.add_completed_handler(handler)
            commands.commit()
            commands.wait_until_completed()
        assert called.wait(20)


def test_many_threads_wait_for_work_of_one_queue(device, library):
    a, b = (device.buffer(np.ones(64, np.float32)) for _ in range(2))
    queue, right = device.queue(), []

    def work() -> None:
        c = device.buffer(np.zeros(64, np.float32))
        for n in range(50):
            dispatch(queue, library["add"], [a, b, c, n + 1], 64)
            right.append(c.numpy().sum() == 2 * (n + 1))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(right) == 200 and all(right)
