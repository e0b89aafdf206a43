"""`metalloid activate`: METALLOID=1 reaches programs that never heard of metalloid, and costs nothing unset."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

import metalloid
from metalloid.cli.startup import LINE, NAME

MLX = """import mlx.core as mx
print("metal", mx.metal.is_available())
if mx.metal.is_available():
    kernel = mx.fast.metal_kernel(name="half", input_names=["x"], output_names=["out"],
        source="uint i = thread_position_in_grid.x; if (i < 5) out[i] = x[i];")
    (out,) = kernel(inputs=[mx.ones((10,))], output_shapes=[(10,)], output_dtypes=[mx.float32],
                    grid=(10, 1, 1), threadgroup=(10, 1, 1))
    print(out[0].item())
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The Python of a new environment that sees this one's packages."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    paths = [str(Path(metalloid.__file__).parents[1]), *(p for p in sys.path if p.endswith("site-packages"))]
    (site / "packages.pth").write_text("\n".join(paths) + "\n")
    return folder / "bin" / "python"


def run(python, *words, **variables):
    clean = {k: v for k, v in os.environ.items() if k not in ("METALLOID", "METALLOID_CHECK", "PYTHONPATH")}
    command = [str(python), *words]
    return subprocess.run(
        command, env={**clean, **variables}, capture_output=True, text=True, check=True, timeout=200
    )


@pytest.fixture
def activated(python):
    said = run(python, "-m", "metalloid", "activate").stdout
    assert said.startswith("wrote ") and NAME in said
    yield python
    assert run(python, "-m", "metalloid", "deactivate").stdout.startswith("removed ")
    assert "was not activated" in run(python, "-m", "metalloid", "deactivate").stdout


needs_mlx = pytest.mark.skipif(find_spec("mlx") is None, reason="mlx is not installed")


@needs_mlx
def test_variables_reach_programs_after_activation_and_not_before(python):
    assert run(python, "-c", MLX, METALLOID="1").stdout == "metal False\n"


@needs_mlx
def test_the_variables_serve_and_check_any_program(activated):
    assert run(activated, "-c", MLX).stdout == "metal False\n"
    assert run(activated, "-c", MLX, METALLOID="0").stdout == "metal False\n"
    assert run(activated, "-c", MLX, METALLOID="torch").stdout == "metal False\n"
    for words in ("1", "mlx", "mlx,torch", "torch mlx"):
        done = run(activated, "-c", MLX, METALLOID=words)
        assert (done.stdout, done.stderr) == ("metal True\n1.0\n", "")
    done = run(activated, "-c", MLX, METALLOID_CHECK="1")
    assert done.stdout == "metal True\n1.0\n" and "M106 5 of 10 elements of 'out'" in done.stderr


@needs_mlx
def test_programs_that_a_program_starts_are_served_too(activated, tmp_path):
    (tmp_path / "child.py").write_text(MLX)
    (tmp_path / "parent.py").write_text(
        "import subprocess, sys, pathlib\n"
        "subprocess.run([sys.executable, str(pathlib.Path(__file__).with_name('child.py'))], check=True)\n"
    )
    done = run(activated, "-m", "metalloid", "run", str(tmp_path / "parent.py"))
    assert done.stdout == "metal True\n1.0\n"


def test_a_wrong_variable_is_a_sentence_and_the_program_runs(activated):
    done = run(activated, "-c", "print('ran')", METALLOID="cuda")
    assert done.stdout == "ran\n"
    assert done.stderr == "metalloid: METALLOID: there is no form 'cuda'; the forms are mlx, torch, metal.\n"


def test_a_start_imports_nothing_while_the_variables_are_unset_and_little_while_they_are_set(activated):
    asked = "import sys; print(*sorted(m for m in sys.modules))"
    plain = run(activated, "-c", asked).stdout.split()
    assert not any(m.startswith("metalloid") for m in plain)
    for variables in ({"METALLOID": "1"}, {"METALLOID_CHECK": "1"}):
        loaded = run(activated, "-c", asked, **variables).stdout.split()
        assert "metalloid.start" in loaded
        assert not {"numpy", "llvmlite", "rich", "click", "mlx", "torch", "metalloid.checker"} & set(loaded)


def test_the_line_is_silent_where_metalloid_has_gone(tmp_path):
    (tmp_path / "metalloid").mkdir()  # a package without the module, in front of the real one
    (tmp_path / "metalloid" / "__init__.py").touch()
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{LINE}print('ran')"
    done = run(sys.executable, "-S", "-c", code, METALLOID="1")
    assert (done.stdout, done.stderr) == ("ran\n", "")


def test_a_place_that_cannot_be_written_is_a_sentence(monkeypatch, tmp_path):
    from metalloid.cli import startup

    (tmp_path / "file").touch()
    monkeypatch.setattr(startup, "place", lambda: tmp_path / "file" / NAME)
    with pytest.raises(metalloid.MetalloidError, match="cannot be written: Not a directory"):
        startup.write()
