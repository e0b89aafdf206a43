"""Everything that starts with `pip install metalloid`, from an empty environment with the wheel: `make installed`.

Needs the network, a minute for the packages, and more where PyTorch is installed for its test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.installed
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


def test_nothing_is_served_before_it_is_asked_for(say):
    done = say("python job.py 8", METALLOID="1")
    assert (done.returncode, done.stdout) == (5, "metal False\n")


def test_a_script_and_a_module_run_without_edits(say):
    for line in ("metalloid run job.py 80", "metalloid run -m job 80"):
        done = say(line)
        assert (done.returncode, done.stdout) == (0, "metal True\n160.0\n"), done.stderr
        assert "compiled functions run uncompiled" in done.stderr


def test_a_script_and_its_tests_are_checked_without_edits(say):
    done = say("metalloid check job.py 100")
    assert done.returncode == 1
    assert "M106 10 of 100 elements of 'out' were never written" in done.stdout
    assert say("metalloid check job.py 90").returncode == 0
    done = say("metalloid check -m pytest -q -p no:cacheprovider")
    assert done.returncode == 1 and "1 passed" in done.stdout and "M106" in done.stdout


def test_pytest_has_its_options_and_its_setting(say, place):
    assert "1 passed" in say("pytest -q -p no:cacheprovider --metalloid").stdout
    done = say("pytest -q -p no:cacheprovider --metalloid-check")
    assert "1 failed" in done.stdout and "M106" in done.stdout
    (place / "pyproject.toml").write_text('[tool.pytest.ini_options]\nmetalloid = "mlx torch check"\n')
    assert "1 failed" in say("pytest -q -p no:cacheprovider").stdout
    (place / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nmetalloid = "mlx check"\n[tool.metalloid]\nignore = ["M106"]\n'
    )
    assert "1 passed" in say("pytest -q -p no:cacheprovider").stdout
    (place / "pyproject.toml").unlink()


def test_an_environment_is_activated_and_deactivated(say):
    assert say("metalloid activate").returncode == 0
    assert say("python job.py 80", METALLOID="1").stdout == "metal True\n160.0\n"
    done = say("python job.py 100", METALLOID_CHECK="1")
    assert "M106" in done.stderr
    assert say("python job.py 80").stdout == "metal False\n"
    assert say("metalloid deactivate").returncode == 0
    assert say("python job.py 80", METALLOID="1").stdout == "metal False\n"


def test_lint_points_home_in_four_formats(say, place):
    (place / "wrong.py").write_text(MLX.replace("2 * x[i]", "2 * y[i]"))
    assert "wrong.py:9:30: error: M602 'y' is not declared" in say("metalloid lint wrong.py").stdout
    assert say("metalloid lint --format github wrong.py").stdout.startswith("::error file=wrong.py,line=9")
    assert json.loads(say("metalloid lint --format sarif wrong.py").stdout)["version"] == "2.1.0"
    assert json.loads(say("metalloid lint --format json wrong.py").stdout)[0]["diagnostics"][0]["line"] == 9
    assert say("metalloid lint nothing.metal").returncode == 2
    (place / "wrong.py").unlink()


def test_torch_for_a_mac_runs_without_edits(say):
    if os.environ.get("METALLOID_TEST_TORCH", "") == "":
        pytest.skip("METALLOID_TEST_TORCH=1 installs PyTorch for it")
    say("pip install -q torch numpy")
    done = say("metalloid run mps.py")
    assert done.stdout == "[1.0, 2.0, 5.0, 10.0] [1.0, 2.0, 5.0, 10.0] mps:0\n", done.stderr
