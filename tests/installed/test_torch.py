"""PyTorch for a Mac, from an empty environment with the wheel: METALLOID_TEST_TORCH=1 installs PyTorch for it."""

from __future__ import annotations

import os

import pytest

pytestmark = [
    pytest.mark.installed,
    pytest.mark.skipif(
        os.environ.get("METALLOID_TEST_TORCH", "") == "",
        reason="METALLOID_TEST_TORCH=1 installs PyTorch for it",
    ),
]
WRONG = '''import torch

for text, call in (
    ("kernel void f(device float* x) { x[0] = y; }", None),
    ("kernel void f(device float* x) { x[0] = exp(1.0f); }", None),
    ("kernel void f(device float* x) { x[0] = 1; }", lambda f: f()),
    ("kernel void f(device float* x) { x[0] = 1; }", lambda f: f(torch.zeros(1, device="mps"), threads="many")),
):
    try:
        kernel = torch.mps.compile_shader(text).f
        call(kernel)
    except (RuntimeError, ValueError, SyntaxError, TypeError) as error:
        print(type(error).__name__, str(error).splitlines())
start, end = torch.mps.event.Event(enable_timing=True), torch.mps.event.Event(enable_timing=True)
start.record()
rows = torch.arange(12.0, device="mps").reshape(3, 4)
torch.mps.compile_shader("""
kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }
""").twice(rows.t())
end.record()
torch.mps.synchronize()
print(rows.tolist(), start.elapsed_time(end) >= 0, torch.device("mps").type, torch.mps.current_allocated_memory() >= 0)
'''


@pytest.fixture(scope="module", autouse=True)
def torch(place):
    import subprocess

    python = str(place / "env" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", "torch", "numpy"], check=True, timeout=900)


def test_torch_for_a_mac_runs_without_edits(say):
    done = say("metalloid run mps.py")
    assert done.stdout == "[1.0, 2.0, 5.0, 10.0] [1.0, 2.0, 5.0, 10.0] mps:0\n", done.stderr


def test_errors_are_those_of_pytorch_and_a_transposed_tensor_is_recognised(say, place):
    (place / "wrong_mps.py").write_text(WRONG)
    done = say("metalloid run wrong_mps.py")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("SyntaxError") and "'y' is not declared" in lines[0], done.stdout + done.stderr
    assert lines[1].startswith("SyntaxError") and "metal::exp" in lines[1]
    assert lines[2].startswith(("RuntimeError", "ValueError"))
    assert lines[-1].startswith("[[0.0, 2.0,") and lines[-1].endswith("True mps True")
