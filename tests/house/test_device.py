"""A device is one folder: this one, made in a temporary place, hands launches to the oracle, and all of metalloid
finds it without another file being touched."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner, Result

import metalloid as mt
from metalloid import backends
from metalloid.cli import group
from metalloid.runtime import device as devices
from metalloid.runtime.guarding import OutsideWarning
from metalloid.runtime.recording import Recording
from tests.house.imports import files, imports

ECHO = '''"""Paper: what a launch would do, the oracle does."""

from __future__ import annotations

from metalloid.backends.backend import Backend, Limits
from metalloid.backends.slow_way import run_interpreted
from metalloid.errors import KernelFault, NotWatched

ran = []


class EchoProgram:
    def __init__(self, ir):
        self.ir = ir

    def run(self, launch, guard=True, timeout=None, threads=1, backwards=False, on_log=None):
        ran.append(launch.kernel)
        try:
            on_outside = self.noted if guard == "robust" else None
            run_interpreted(self.ir, launch, timeout, on_log, on_outside)
        except KernelFault as fault:
            raise self.told(fault.finding, launch) from None

    def prepare(self, launch, guard, threads):
        pass

    def quick(self, launch, guard, threads):
        return None


class EchoBatch:
    def __init__(self, launches, guard):
        self.launches, self.guard = launches, guard

    def run(self):
        for one in self.launches:
            one.program.run(one.launch, self.guard, on_log=one.on_log)


class Echo(Backend):
    name = "echo"
    limits = Limits(threads_per_threadgroup=16, threadgroup_memory=64)
    why = ""

    def missing(self):
        return self.why

    @property
    def stages(self):
        return {"paper": lambda ir, size: f"paper for {size}", "asm": lambda ir, size: "echo's asm"}

    def program(self, ir, signature):
        return EchoProgram(ir)

    def checked(self, ir, signature):
        raise NotWatched("paper watches nothing")

    def batch(self, launches, guard, threads):
        return EchoBatch(launches, guard)

    def facts(self):
        return {"processor": "paper", "threads": 1}


BACKEND = Echo()
'''

TWICE = """#include <metal_stdlib>
using namespace metal;
kernel void twice(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) { y[i] = 2 * x[i]; }
kernel void shared(device float* y [[buffer(0)]], threadgroup float* t [[threadgroup(0)]],
                   uint i [[thread_position_in_grid]]) { t[i] = 1; y[i] = t[i]; }
"""
X = np.arange(40, dtype=np.float32)


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The device's module, while its folder is there."""
    (tmp_path / "echo").mkdir()
    (tmp_path / "echo" / "__init__.py").write_text("")
    (tmp_path / "echo" / "device.py").write_text(ECHO)

    def forget() -> None:
        for cached in (backends.names, backends.named, devices._made):
            cached.cache_clear()
        for name in [
            n for n in sys.modules if n.startswith(("metalloid.backends.echo", "metalloid.cli.show"))
        ]:
            del sys.modules[name]
        importlib.invalidate_caches()

    monkeypatch.setattr(backends, "__path__", [*backends.__path__, str(tmp_path)])
    forget()
    yield importlib.import_module("metalloid.backends.echo.device")
    monkeypatch.undo()
    forget()


def call(*words: str) -> Result:
    return CliRunner().invoke(group, words, catch_exceptions=False)


def poisoned() -> np.ndarray:
    return np.full(40, -7, np.float32)


def test_it_is_listed(echo: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert mt.devices()[0].name == "cpu" and "echo" in [d.name for d in mt.devices()]
    said = call("devices").output
    assert "cpu (default)" in said and "echo\n    processor    paper, 1 threads" in said
    assert "up to 16 threads" in said and "up to 64 bytes" in said
    monkeypatch.setenv("METALLOID_DEVICE", "echo")
    assert mt.device().name == "echo" and "echo (default)" in call("devices").output


def test_one_that_cannot_be_used_says_why(echo: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(echo.BACKEND, "why", "there is no paper.")
    assert mt.devices() and "echo" not in [d.name for d in mt.devices()]
    with pytest.raises(mt.DeviceError, match="'echo' cannot be used here: there is no paper"):
        mt.device("echo")


def test_it_runs_launches_and_recordings(echo: ModuleType) -> None:
    kernel = mt.device("echo").library(TWICE)["twice"]
    for _ in range(2):  # the second has no short way
        y = poisoned()
        kernel(X, y, grid=40, threadgroup=8)
        np.testing.assert_array_equal(y, 2 * X)
    recording, y = Recording(), poisoned()
    recording.add(kernel, X, y, grid=40, threadgroup=8)
    recording.run()
    np.testing.assert_array_equal(y, 2 * X)
    assert echo.ran == ["twice"] * 3


def test_it_runs_what_queues_are_given(echo: ModuleType) -> None:
    device = mt.device("echo")
    y = device.buffer(poisoned())
    commands = device.queue().command_buffer()
    with commands.compute_encoder() as encoder:
        encoder.dispatch(device.library(TWICE)["twice"], device.buffer(X), y, grid=40, threadgroup=8)
    commands.commit()
    commands.wait_until_completed()
    np.testing.assert_array_equal(y.numpy(), 2 * X)
    assert echo.ran == ["twice"]


def test_a_fault_names_line_and_buffer(echo: ModuleType) -> None:
    kernel = mt.device("echo").library(TWICE)["twice"]
    with pytest.raises(mt.KernelFault, match=r"test_device.py:\d+.*M101.*past 'x'") as caught:
        kernel(X, poisoned(), grid=41, threadgroup=8)
    assert isinstance(caught.value.finding, mt.Finding) and caught.value.finding.thread == (40, 0, 0)


def test_a_robust_launch_goes_on_and_tells(echo: ModuleType) -> None:
    kernel, y = mt.device("echo").library(TWICE)["twice"], poisoned()
    with pytest.warns(OutsideWarning) as told:
        kernel(X, y, grid=41, threadgroup=8, guard="robust")
    assert ["M101" in str(told[0].message), "M102" in str(told[1].message), len(told)] == [True, True, 2]
    np.testing.assert_array_equal(y, 2 * X)


def test_its_limits_are_those_of_launches(echo: ModuleType) -> None:
    device = mt.device("echo")
    library = device.library(TWICE)
    assert device.max_threads_per_threadgroup == library["twice"].max_threads_per_threadgroup == 16
    assert device.max_threadgroup_memory_length == 64
    with pytest.raises(mt.LaunchError, match=r"M302 .*this device allows 16"):
        library["twice"](X, poisoned(), grid=40, threadgroup=32)
    library["twice"](X, y := poisoned(), grid=40)  # the size that is chosen where none is given
    np.testing.assert_array_equal(y, 2 * X)
    with pytest.raises(mt.LaunchError, match=r"M303 .*this device allows 64"):
        library["shared"](poisoned(), grid=4, threadgroup=4, threadgroup_memory={0: 80})
    assert mt.device("cpu").max_threads_per_threadgroup == 1024


def test_checked_launches_are_watched_by_the_oracle(echo: ModuleType) -> None:
    kernel, y = mt.device("echo").library(TWICE)["twice"], poisoned()
    report = mt.check(kernel, X, y, grid=40, threadgroup=8)
    assert report.ok
    np.testing.assert_array_equal(y, 2 * X)
    wrong = mt.check(kernel, X, poisoned(), grid=41, threadgroup=8).findings
    same = mt.check(mt.device("cpu").library(TWICE)["twice"], X, poisoned(), grid=41, threadgroup=8).findings
    assert [f.rule for f in wrong] == [f.rule for f in same] == ["M102"]
    assert echo.ran == []  # none was run unwatched


def test_show_knows_its_stages(echo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "twice.metal"
    file.write_text(TWICE)
    show = ("show", str(file), "--kernel", "twice", "--threadgroup", "8", "--stage")
    assert call(*show, "paper").output.startswith("paper for (8, 1, 1)")
    assert "echo's" not in call(*show, "asm").output  # the default's own
    monkeypatch.setenv("METALLOID_DEVICE", "echo")
    monkeypatch.delitem(sys.modules, "metalloid.cli.show")
    assert call(*show, "asm").output == "echo's asm\n"
    assert "@mt_threadgroup" in call(*show, "vec.ll").output  # which only the CPU has


def test_nobody_else_names_a_device() -> None:
    here = "metalloid.backends."
    graph = imports(files(Path(mt.__file__).parent))
    found = [
        f"{one} imports {other}"
        for name in backends.names()
        for one, others in graph.items()
        for other in others
        if f"{other}.".startswith(f"{here}{name}.") and not f"{one}.".startswith(f"{here}{name}.")
    ]
    assert found == []
