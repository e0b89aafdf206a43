"""Work that is begun early changes nothing but the time things take."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from metalloid import background

KERNEL = """
import metalloid as mt, numpy as np
source = "kernel void k(device float* a, uint i [[thread_position_in_grid]]) { a[i] = 2 * i; }"
def run():
    a = np.zeros(64, np.float32)
    mt.device("cpu").library(source)["k"](a, grid=64)
    assert (a == 2 * np.arange(64)).all()
"""


def python(code: str, cache: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", KERNEL + code],
        env=os.environ | {"METALLOID_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_is_done_once_and_can_be_waited_for() -> None:
    done: list[int] = []
    go = threading.Event()

    def work() -> None:
        go.wait(10)
        done.append(1)

    background.begin("test once", work)
    background.begin("test once", work)
    assert not done
    go.set()
    background.wait("test once")
    assert done == [1]
    background.wait("never begun")


def test_errors_are_left_to_whoever_needs_the_result(capfd: pytest.CaptureFixture[str]) -> None:
    background.begin("test error", lambda: 1 / 0)
    background.wait("test error")
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_right_after_the_first_kernel_was_asked_for(tmp_path: Path) -> None:
    """Nothing is built yet: the parent's threads hold locks that the child must not inherit."""
    done = python(
        """
import os
mt.device("cpu").library(source).kernel("k")
if os.fork() == 0:
    run()
    os._exit(7)
assert os.waitpid(-1, 0)[1] >> 8 == 7
run()
""",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr


def test_a_program_that_only_asks_for_a_kernel_ends_quietly(tmp_path: Path) -> None:
    done = python('mt.device("cpu").library(source)["k"]', tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_many_processes_start_with_an_empty_cache_together(tmp_path: Path) -> None:
    """All build the header, the runtime and the code; each gets what works."""
    command = [sys.executable, "-W", "error", "-c", KERNEL + "run()"]
    running = [
        subprocess.Popen(command, env=os.environ | {"METALLOID_CACHE_DIR": str(tmp_path)}) for _ in range(4)
    ]
    assert [process.wait(60) for process in running] == [0, 0, 0, 0]
    assert python("run()", tmp_path).returncode == 0
