"""What people see of a GPU: machine code, benches by its own clock, a comparison across devices, a Llama on it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import metalloid as mt
from metalloid.backends.cuda import sass
from metalloid.cli import group
from metalloid.kernels import families
from metalloid.llama.model import Llama
from metalloid.measure import machine
from tests.cuda.simulator.gpu import installed
from tests.llama import small

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
SCALE = HEADER + "kernel void scale(device float* y, device const float* x, uint i [[thread_position_in_grid]]) {" \
                 " y[i] = 3 * x[i]; }"  # fmt: skip
linux = pytest.mark.skipif(sys.platform != "linux", reason="contexts of threads are made by glibc")


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "scale.metal"
    path.write_text(SCALE)
    return str(path)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The imitated one, where there is none; what is kept for a process is made anew before and after."""
    monkeypatch.setenv("METALLOID_DEVICE", "")
    for kept in (families.target, machine.this_machine):
        kept.cache_clear()
    with installed():
        yield
    for kept in (families.target, machine.this_machine):
        kept.cache_clear()


def test_machine_code_needs_tools_and_says_so(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sass, "_found", lambda tool: None)
    shown = CliRunner().invoke(group, ["show", file, "--stage", "sass"])
    assert shown.exit_code != 0
    assert "nvdisasm or cuobjdump, and neither is on the PATH" in str(shown.exception or shown.output)


@pytest.mark.skipif(
    not (sass._found("ptxas") and sass._found("nvdisasm")), reason="NVIDIA's tools are missing"
)
def test_machine_code_is_shown(file: str) -> None:
    shown = CliRunner().invoke(group, ["show", file, "--stage", "sass"])
    assert shown.exit_code == 0, shown.output
    assert "LDG.E" in shown.output and "STG.E" in shown.output and "FMUL" in shown.output


@linux
@pytest.mark.usefixtures("gpu")
def test_a_bench_is_timed_by_the_device(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_LARGE", 1 << 16)
    monkeypatch.setattr(machine, "_ROUNDS", 4)
    monkeypatch.setattr("tests.cuda.simulator.gpu.Simulated.threads", 8)
    command = ["bench", file, "--device", "cuda", "--grid", "256", "--arg", "x=arange:256:float32"]
    said = CliRunner().invoke(group, [*command, "--out", "y:256:float32", "--seconds", "0.1", "--json"])
    assert said.exit_code == 0, said.output
    found = json.loads(said.output)
    assert found["machine"]["name"].startswith("cuda (") and "sm_" in found["machine"]["name"]
    assert found["kernels"][0]["kernel"] == "scale" and found["kernels"][0]["bytes"] == 2048


@linux
@pytest.mark.usefixtures("gpu")
def test_one_function_on_both_devices() -> None:
    def scaled(x: np.ndarray, device: mt.Device) -> np.ndarray:
        y = np.full_like(x, np.nan)
        device.library(SCALE)["scale"](y, x, grid=x.size, threadgroup=32)
        return y

    cases = [(np.arange(n, dtype=np.float32),) for n in (1, 33, 100)]
    found = mt.compare(scaled, lambda x: 3 * x, cases, devices=["cpu", "cuda"])
    assert found.ok, found


@linux
@pytest.mark.fuzz  # it takes long, in compiling a dozen kernels
@pytest.mark.usefixtures("gpu")
def test_a_llama_says_the_same_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small.write(tmp_path, num_hidden_layers=1)
    said, logits = [], []
    for name in ("cuda", "cpu"):
        monkeypatch.setenv("METALLOID_DEVICE", name)
        families.target.cache_clear()
        session = Llama.load(tmp_path).session(16)
        logits.append(session.prefill([5, 7, 11]).copy())
        token = session.choose()
        said.append([token, *(session.step(token) for _ in range(2))])
    assert said[0] == said[1]
    np.testing.assert_allclose(logits[0], logits[1], rtol=1e-5, atol=1e-5)
