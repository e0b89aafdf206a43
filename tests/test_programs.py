"""`metalloid run` and `metalloid check` of programs that never heard of metalloid: scripts, modules, pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

needs_mlx = pytest.mark.skipif(find_spec("mlx") is None, reason="mlx is not installed")
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")

MLX = """import sys
import mlx.core as mx

assert mx.metal.is_available()
kernel = mx.fast.metal_kernel(name="twice", input_names=["x"], output_names=["out"], source='''
    uint i = thread_position_in_grid.x;
    if (i < 90) out[i] = 2 * x[i];
''')


def twice(size):
    (out,) = kernel(inputs=[mx.ones((size,))], output_shapes=[(size,)], output_dtypes=[mx.float32],
                    grid=(size, 1, 1), threadgroup=(32, 1, 1))
    return out


if __name__ == "__main__":
    print(__name__, sys.argv, twice(int(sys.argv[1])).sum().item())
"""
TORCH = """import torch

library = torch.mps.compile_shader('''
kernel void fill(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 1 + i; }
''')
x = torch.zeros(4)
library.fill(x)
print(x.tolist())
"""


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Write files, run the command in their folder as a user does: in a process of its own."""

    def run(*words, stdin="", variables=None, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        environment = {**os.environ, **(variables or {})}
        return subprocess.run(
            [sys.executable, "-m", "metalloid", *words],
            cwd=tmp_path,
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=200,
        )

    return run


@needs_mlx
def test_a_script_runs_without_edits_and_gets_its_own_words(call):
    done = call("run", "job.py", "80", "--json", "--grid", "-m", "x", job=MLX)
    assert done.stderr == ""
    assert done.stdout == "__main__ ['job.py', '80', '--json', '--grid', '-m', 'x'] 160.0\n"
    assert done.returncode == 0


@needs_mlx
def test_a_module_runs_without_edits(call):
    done = call("run", "-m", "job", "80", "-m", "--help", job=MLX)
    assert done.stdout.startswith("__main__ [") and "job.py', '80', '-m', '--help'] 160.0" in done.stdout


@needs_torch
def test_torch_runs_without_edits(call):
    assert call("run", "job.py", job=TORCH).stdout == "[1.0, 2.0, 3.0, 4.0]\n"


def test_a_file_that_pip_wrote_is_a_script_too(call, tmp_path):
    (tmp_path / "tool").write_text(f"#!{sys.executable}\nimport sys\nprint('tool', *sys.argv[1:])\n")
    assert call("run", "tool", "--version").stdout == "tool --version\n"


def test_the_programs_own_ending_is_kept(call):
    assert call("run", "job.py", job="import sys; sys.exit(7)").returncode == 7
    done = call("run", "job.py", job="import sys; sys.exit('too late')")
    assert (done.returncode, done.stderr) == (1, "too late\n")
    done = call("run", "job.py", job="print(input())", stdin="hello\n")
    assert done.stdout == "hello\n"


def test_a_traceback_shows_the_programs_frames_only(call):
    text = """import numpy as np
import metalloid as mt

def launch():
    kernel = mt.device().library('''
kernel void fill(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 1; }
''')["fill"]
    kernel(np.zeros(4, np.float32), grid=5, guard=True)

launch()
"""
    done = call("run", "job.py", job=text)
    assert done.returncode == 1
    assert 'File "job.py", line 8, in launch\n    kernel(np.zeros' in done.stderr
    assert "KernelFault" in done.stderr and "M102 out-of-bounds write" in done.stderr
    assert done.stderr.count("File ") == 2


@needs_mlx
def test_a_test_suite_is_checked_without_edits(call):
    tests = "from job import twice\ndef test_small():\n    assert twice(90).sum() == 180\n"
    done = call("check", "--json", "-m", "pytest", "-q", "-p", "no:cacheprovider", job=MLX, test_job=tests)
    assert done.returncode == 0 and '"kernel": "custom_kernel_twice"' in done.stdout
    assert "1 passed" in done.stderr
    tests = "from job import twice\ndef test_large():\n    assert twice(100)[0] == 2\n"
    done = call("check", "-m", "pytest", "-q", "-p", "no:cacheprovider", test_job=tests)
    assert "1 passed" in done.stdout
    assert done.returncode == 1 and "M106 10 of 100 elements of 'out' were never written" in done.stdout


def test_a_suite_that_takes_warnings_for_errors_runs(call):
    """pytest warns of modules that were imported before it, and metalloid is, where it starts pytest."""
    tests = "def test_nothing():\n    import metalloid as mt\n    assert mt.device().name\n"
    done = call("run", "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", test_job=tests)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def test_native_programs_and_missing_ones_are_refused_in_a_sentence(call, tmp_path):
    (tmp_path / "tool").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(64))
    (tmp_path / "tool").chmod(0o755)
    for command in ("run", "check"):
        done = call(command, "tool", "--fast")
        assert done.returncode == 2
        assert (
            "tool is not linked to metalloid's Metal" in done.stderr and "metalloid cc or c++" in done.stderr
        )
        done = call(command, "pytest")
        assert done.returncode == 2 and f"metalloid {command} -m pytest" in done.stderr
        done = call(command, "nothing.py", "--fast")
        assert done.returncode == 2 and "there is no file 'nothing.py'." in done.stderr
        assert "name a .metal file, a Python script" in call(command).stderr
        assert "-m needs the name of a module" in call(command, "-m").stderr
    done = call("run", "-m", "nothing_of_this_name")
    assert done.returncode == 1
    assert done.stderr.startswith("No module named nothing_of_this_name\n") and "Traceback" not in done.stderr


@needs_mlx
def test_forms_come_with_the_import_and_go_with_the_program():
    code = """import sys
from metalloid.forms.attach import attached
before = set(sys.modules)
with attached():
    assert not {"numpy", "mlx.core", "llvmlite"} & (set(sys.modules) - before)
    import mlx.core as mx
    assert mx.metal.is_available()
    assert type(mx.__spec__.loader).__module__ != "metalloid.imports"
assert not mx.metal.is_available()
with attached():  # imported before it began
    assert mx.metal.is_available()
assert not mx.metal.is_available()
assert all(type(finder).__module__ != "metalloid.imports" for finder in sys.meta_path)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
