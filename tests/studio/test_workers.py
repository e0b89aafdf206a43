"""A hostile kernel cannot hurt: it runs in a process of its own, which has an end in time and memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from metalloid.studio import limits
from metalloid.studio.workers import Superseded, Worker

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
ADD = (
    HEAD
    + "kernel void add(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] += 1; }\n"
)
ENDLESS = HEAD + "kernel void spin(device float* x [[buffer(0)]]) { while (x[0] < 1) { x[1] = x[1] + 1; } }\n"


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.end()


def launched(worker: Worker, text: str, grid: str = "8", **inputs: dict[str, str]) -> dict[str, Any]:
    given = inputs or {"x": {"fill": "zeros", "shape": "8"}}
    return worker.job("launch", {"text": text, "grid": grid, "threadgroup": "8", "inputs": given})


def test_an_endless_kernel_is_ended_and_the_next_one_runs(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert launched(worker, ADD)["ok"]
    process = worker._process
    assert process is not None
    monkeypatch.setitem(limits.SECONDS, "launch", 1.5)
    start = time.monotonic()
    answer = launched(worker, ENDLESS)
    assert answer["stopped"] and "1 seconds" in answer["error"].replace("2 seconds", "1 seconds")
    assert time.monotonic() - start < 10
    assert process.poll() == -signal.SIGKILL
    monkeypatch.setitem(limits.SECONDS, "launch", 40.0)
    again = launched(worker, ADD)
    assert again["arrays"][0]["values"] == ["1"] * 8


def test_what_a_worker_started_is_ended_with_it(worker: Worker) -> None:
    assert launched(worker, ADD)["ok"]
    assert worker._process is not None
    pid = worker._process.pid
    assert os.getpgid(pid) == pid != os.getpgid(0)  # its own group, which is ended as a whole


def test_a_worker_that_falls_is_told_and_replaced(worker: Worker) -> None:
    assert launched(worker, ADD)["ok"]
    assert worker._process is not None
    victim = worker._process.pid
    threading.Timer(0.3, os.kill, (victim, signal.SIGSEGV)).start()
    answer = launched(worker, ENDLESS)
    assert answer["stopped"] and "SIGSEGV" in answer["error"]
    assert launched(worker, ADD)["ok"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not count private memory")
def test_a_worker_has_an_end_to_its_memory() -> None:
    code = (
        "from metalloid.studio import limits; limits.confine()\n"
        f"try:\n    bytearray({limits.MEMORY} + 1)\nexcept MemoryError:\n    print('refused')\n"
        "import subprocess, sys\n"
        f"took = 'try: bytearray({limits.MEMORY} + 1)\\nexcept MemoryError: print(\"refused too\")'\n"
        "print(subprocess.run([sys.executable, '-c', took], capture_output=True, text=True).stdout.strip())\n"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.split("\n")[:2] == ["refused", "refused too"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"x": {"fill": "zeros", "shape": "100000000000"}}, "take more than 256 MiB"),
        ({"x": {"fill": "output", "shape": "1000000x1000000"}}, "take more than 256 MiB"),
        ({"x": {"fill": "zeros", "shape": "-1"}}, "is no size"),
        ({"x": {"fill": "__class__", "shape": "8"}}, "no way to fill"),
        ({"x": {"fill": "value", "value": "[" * 50_000}}, "nested too deeply"),
    ],
)
def test_arrays_have_an_end(worker: Worker, given: dict[str, dict[str, str]], words: str) -> None:
    assert words in launched(worker, ADD, **given)["error"]


def test_grids_have_an_end(worker: Worker) -> None:
    assert "at most" in launched(worker, ADD, grid="100000,100000")["error"]


def test_of_jobs_that_wait_only_the_last_is_done(worker: Worker) -> None:
    assert worker.job("diagnose", {"text": ADD})["names"] == ["add"]
    found: list[object] = []

    def ask(n: int) -> None:
        try:
            found.append(worker.job("diagnose", {"text": f"// {n}\n{ADD}"}, last_only=True))
        except Superseded:
            found.append("superseded")

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    with worker._turn:
        for thread in threads:
            thread.start()
            time.sleep(0.02)
    for thread in threads:
        thread.join()
    assert found.count("superseded") == 3


def test_after_the_end_nothing_is_started(worker: Worker) -> None:
    """A page asks on while its studio ends; a job that waited used to start a process that nobody ended."""
    asked: list[dict[str, Any]] = []
    spinning = threading.Thread(target=lambda: asked.append(launched(worker, ENDLESS)))
    spinning.start()
    while worker._process is None:
        time.sleep(0.01)
    waiting = threading.Thread(target=lambda: asked.append(launched(worker, ADD)))
    waiting.start()
    worker.close()
    spinning.join()
    waiting.join()
    assert worker._process is None
    assert asked == [{"error": "the studio has ended"}] * 2
