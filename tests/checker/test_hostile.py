"""A broken or malicious kernel under check neither crashes nor hangs the process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends import interpret
from metalloid.checker import engines
from metalloid.checker.orders import order_matters
from tests.checker import hostile
from tests.checker.triplet import HEADER, compiled

WILD = """kernel void wild(device int* x, uint i [[thread_position_in_grid]]) {
    device int* p = x + 1000000 * i;
    p[0] = 1;
    p[-1] = x[0x7fffffff] + *(device int*)(0x123456789aul + i);
    ((device int*)0)[i] = 3;
}
"""
ENDLESS = """kernel void endless(device int* x, uint i [[thread_position_in_grid]]) {
    while (x[0] == 0) {
        x[1] += 1;
    }
}
"""
SPINS = """kernel void spins(device atomic_uint* x, uint i [[thread_position_in_grid]]) {
    while (atomic_load_explicit(x, memory_order_relaxed) != 77u) {
    }
}
"""
DOWN = """kernel void down(device const half* x, device half* out, uint i [[thread_position_in_grid]]) {
    half n = x[i];
    while (n != 0.0h) {
        n -= 2.0h;
        out[i] += n;
    }
}
"""
PRIVATE = """kernel void private_array(device int* x, uint i [[thread_position_in_grid]]) {
    int a[4] = {1, 2, 3, 4};
    a[x[1]] = 5;
    x[i] = a[x[2]] + a[x[3]];
}
"""


def test_wild_pointers_are_findings():
    x = np.zeros(64, np.int32)
    report = mt.check(compiled(HEADER + WILD), x, grid=8)
    assert {f.rule for f in report.findings} <= {"M101", "M102", "M107", "M404"} and not report.ok
    assert not x[1:].any() and x[0] in (0, 1)


def test_a_loop_without_an_end_ends():
    kernel = compiled(HEADER + ENDLESS)
    launch = kernel.launch(np.zeros(4, np.int32), grid=2)
    start = time.monotonic()
    seen = interpret.observe(kernel.checked_ir, launch, step_limit=20_000)
    assert "limit of instructions" in seen.stopped and time.monotonic() - start < 30
    seen = interpret.observe(kernel.checked_ir, launch, step_limit=20_000, seconds=0.0)
    assert "still running" in seen.stopped


@pytest.mark.parametrize("engine", ["vector", "oracle"])
def test_numbers_of_a_launch_that_does_not_end_are_followed_for_seconds_only(
    engine: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("METALLOID_CHECK_ENGINE", engine)
    x, kernel = np.arange(1, 129, 2).astype(np.float16), compiled(HEADER + DOWN)
    assert kernel.checked_ir
    start = time.process_time()
    report = mt.check(kernel, x, np.zeros(64, np.float16), grid=64, timeout=1)
    assert "M209" in {f.rule for f in report.findings} and report.stopped
    assert time.process_time() - start < 15  # 600,000 instructions with exact twins took 40


def test_examined_numbers_and_other_orders_end_when_their_time_is_up():
    x, out = np.arange(1, 65).astype(np.float16), np.zeros(64, np.float16)
    kernel = compiled(HEADER + DOWN)
    launch = kernel.launch(x, out, grid=64)
    wanted = interpret.Wanted(until=time.monotonic() - 1)
    assert interpret.examine(kernel.checked_ir, launch, [(0, 0, 0)], wanted)[1] == 0
    tried = order_matters(kernel, lambda: launch, [1], None, until=time.monotonic() - 1)
    assert not tried.records and "time was up" in tried.left


def test_a_launch_that_was_stopped_is_not_in_order(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engines, "SECONDS", 0.5)
    report = mt.check(compiled(HEADER + SPINS), np.zeros(4, np.uint32), grid=2)
    (found,) = report.findings
    assert found.rule == "M209" and found.location.line == 4 and not report.ok
    assert "waits until 'x' changes" in found.message and "still running" in report.text()
    assert '"ok": false' in report.json()


@pytest.mark.parametrize("engine", ["vector", "oracle"])
def test_private_arrays_have_their_name_and_size(engine: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("METALLOID_CHECK_ENGINE", engine)
    report = mt.check(compiled(HEADER + PRIVATE), np.array([0, 4, 1, 1], np.int32), grid=1)
    assert [f.message for f in report.findings] == ["out-of-bounds write, 4 bytes past 'a' (16 bytes)"]


@pytest.mark.parametrize("index", [4, -1, 1 << 20])
def test_private_arrays_are_guarded_too(index: int):
    x = np.array([0, index, index, 1], np.int32)
    report = mt.check(compiled(HEADER + PRIVATE), x, grid=1)
    assert {f.rule for f in report.findings} <= {"M101", "M102"} and not report.ok


def test_a_grid_of_billions_stops_in_time():
    kernel = compiled(HEADER + ENDLESS)
    launch = kernel.launch(np.ones(4, np.int32), grid=(1 << 31, 1, 1), threadgroup=32)
    start = time.monotonic()
    seen = interpret.observe(kernel.checked_ir, launch, seconds=1.0)
    assert "still running" in seen.stopped and time.monotonic() - start < 30


def in_a_child(how: str, **environment: str) -> dict[str, list[str]]:
    """What came of each hostile kernel, in a process of its own; it must neither die nor hang."""
    done = subprocess.run(
        [sys.executable, str(Path(hostile.__file__)), how],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout[-300:] + done.stderr[-3000:]
    return {name: rest.split() for name, rest in (line.split(": ") for line in done.stdout.splitlines())}


@pytest.mark.parametrize("engine", ["vector", "oracle"])
def test_hostile_kernels_under_check_end_with_findings(engine: str):
    came = in_a_child("check", METALLOID_CHECK_ENGINE=engine)
    assert came.keys() == hostile.KERNELS.keys()
    for name, one in hostile.KERNELS.items():
        loop = {"M209"} if "stopped" in one.outcome else set()  # the loop that it was in
        assert set(came[name]) <= one.outcome | {"stopped"} | loop, (name, came[name])
        assert bool(came[name]) == bool(one.outcome), name


def test_hostile_kernels_in_a_program_that_is_checked_leave_it_running():
    came = in_a_child("call", METALLOID_CHECK="1")
    assert came.keys() == hostile.KERNELS.keys()
    for name, one in hostile.KERNELS.items():
        assert came[name] == ["refused" if one.outcome == {"refused"} else "ran"], name


@pytest.mark.fuzz
def test_a_switch_of_two_thousand_cases_is_checked_in_time():
    cases = "".join(f"case {n}: o[i] = x[i] * {7 * n + 1} + {n}; break;\n" for n in range(2000))
    text = f"""kernel void k(device const uint* x, device uint* o, uint i [[thread_position_in_grid]]) {{
        switch (x[i]) {{ {cases} default: o[i] = 0; }}
    }}"""
    kernel, o = compiled(HEADER + text), np.zeros(256, np.uint32)
    start = time.process_time()
    assert mt.check(kernel, np.arange(256, dtype=np.uint32) * 8, o, grid=256).ok
    assert time.process_time() - start < 25  # 13 when it was written; 29 before
    assert (o == np.arange(256) * 8 * (np.arange(256) * 56 + 1) + np.arange(256) * 8).all()
