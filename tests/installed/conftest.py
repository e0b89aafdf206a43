"""An empty environment with the wheel, MLX and pytest, and lines as a user types them there."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

MLX = '''import sys
import mlx.core as mx

print("metal", mx.metal.is_available())
if not mx.metal.is_available():
    sys.exit(5)
kernel = mx.fast.metal_kernel(name="twice", input_names=["x"], output_names=["out"], source="""
    uint i = thread_position_in_grid.x;
    if (i < 90) out[i] = 2 * x[i];
""")


@mx.compile
def twice(x):
    return kernel(inputs=[x], output_shapes=[x.shape], output_dtypes=[x.dtype], grid=(x.size, 1, 1),
                  threadgroup=(32, 1, 1))[0]


if __name__ == "__main__":
    print(twice(mx.ones((int(sys.argv[1]),)))[:90].sum().item())
'''
TESTS = "import mlx.core as mx\nfrom job import twice\n\ndef test_it():\n    assert twice(mx.ones((100,)))[0] == 2\n"
TORCH = '''import torch

assert torch.backends.mps.is_available()
x = torch.arange(4.0, device="mps", requires_grad=True)
library = torch.mps.compile_shader("""
kernel void add_one(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }
""")
y = (x * x).detach()
library.add_one(y)
(x * y).sum().backward()
print(y.tolist(), x.grad.tolist(), x.grad.device)
'''


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with an environment that holds the wheel, MLX and pytest, and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    run = {"check": True, "capture_output": True, "text": True, "timeout": 600}
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)], **run
    )
    (wheel,) = folder.glob("metalloid-*.whl")
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "-q", str(wheel), "mlx[cpu]", "pytest"], **run)
    (folder / "job.py").write_text(MLX)
    (folder / "test_job.py").write_text(TESTS)
    (folder / "mps.py").write_text(TORCH)
    return folder


@pytest.fixture
def say(place):
    def run(line, **variables):
        """A line as a user types it, in the folder; ($0: the environment's programs come first)."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "METALLOID", "VIRTUAL"))}
        path = f"{place / 'env' / 'bin'}{os.pathsep}{clean['PATH']}"
        environment = {**clean, "PATH": path, "METALLOID_CACHE_DIR": str(place / "cache"), **variables}
        return subprocess.run(
            line, shell=True, cwd=place, env=environment, capture_output=True, text=True, timeout=600
        )

    return run
