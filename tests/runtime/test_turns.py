"""Whoever waits for committed work may run it himself: nothing is lost, nothing runs twice or out of order."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import metalloid as mt
from metalloid.runtime import executor

DEVICE = mt.device("cpu")


def host_call(queue: mt.Queue, call: Callable[[], None]) -> mt.CommandBuffer:
    commands = queue.command_buffer()
    with commands.compute_encoder() as encoder:
        encoder.add_host_call(call)
    return commands


def until(what: Callable[[], bool], seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.001)
    return what()


def test_a_forgotten_place_holds_nobody_up():
    queue, seen = DEVICE.queue(), []
    first, second, third = (host_call(queue, lambda n=n: seen.append(n)) for n in range(3))
    for commands in (first, second, third):
        commands.enqueue()
    first.told = second.told = True  # nobody hears of them at exit
    third.commit()
    del first, commands
    gc.collect()
    assert not until(lambda: bool(seen), 0.02), "the second has a place before it"
    assert until(lambda: not queue._running)  # the thread has gone by now
    del second
    gc.collect()
    third.wait_until_completed(timeout=30)
    last = host_call(queue, lambda: seen.append(3))
    last.commit()
    last.wait_until_completed()
    assert seen == [2, 3] and not queue._waiting


def test_a_place_is_kept_while_others_run():
    queue, seen = DEVICE.queue(), []
    before, late, after = (host_call(queue, lambda n=n: seen.append(n)) for n in range(3))
    before.commit()
    late.enqueue()
    after.commit()
    before.wait_until_completed()
    assert not after.done
    late.commit()
    after.wait_until_completed()
    assert seen == [0, 1, 2]


def test_work_that_nobody_waits_for_runs_though_the_thread_comes_and_goes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(executor, "_LINGER", 0.0)
    monkeypatch.setattr(executor, "_TICK", 1e-5)
    queue, count = DEVICE.queue(), [0]

    def one() -> None:
        count[0] += 1

    for n in range(300):
        host_call(queue, one).commit()
        if n % 3:
            time.sleep(2e-5 * (n % 17))
    queue.wait_until_idle()
    assert until(lambda: count[0] == 300) and until(lambda: not queue._running)


def test_several_threads_commit_and_wait_on_one_queue(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(executor, "_LINGER", 0.0)
    monkeypatch.setattr(executor, "_TICK", 1e-4)
    queue, running, ran, wrong = DEVICE.queue(), [], [0], []

    def alone() -> None:
        running.append(1)
        if len(running) != 1:
            wrong.append("two at once")
        ran[0] += 1
        running.pop()

    def work(waits: int) -> None:
        for n in range(100):
            commands = host_call(queue, alone)
            commands.commit()
            if n % waits == 0:
                commands.wait_until_completed(timeout=None if n % 2 else 30)

    threads = [threading.Thread(target=work, args=(waits,)) for waits in (1, 1, 2, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    queue.wait_until_idle()
    assert until(lambda: ran[0] == 400) and not wrong


def test_a_label_given_later_is_heard():
    text = "kernel void far(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 1; }"
    kernel, x = DEVICE.library(text)["far"], DEVICE.buffer(np.zeros(64, np.float32))
    for label in ("", "", "", "late"):
        commands = DEVICE.queue().command_buffer()
        encoder = commands.compute_encoder()
        encoder.label = label
        encoder.dispatch(kernel, x, grid=128, threadgroup=32)
        encoder.end_encoding()
        commands.commit()
        with pytest.raises(mt.KernelFault) as caught:
            commands.wait_until_completed()
        assert ("late" in str(caught.value)) == bool(label)


def test_the_line_of_a_forgotten_command_buffer_is_that_of_the_call():
    def make(  # several lines: which one it is comes from the instruction
        queue: mt.Queue,
    ) -> mt.CommandBuffer:
        _ = [
            1,
        ]
        return queue.command_buffer()

    commands = make(DEVICE.queue())
    line = make.__code__.co_firstlineno + 6
    assert commands._where == f"{__file__}:{line}"
    assert any(r.place == commands._where for r in mt.leaks())
    commands.commit()
    assert not any(r.place == commands._where for r in mt.leaks())
