"""An inline kernel's findings name the Python file and line it is written in, wherever they are told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from click.testing import CliRunner

import metalloid as mt
from metalloid.cli import group

NUMPY = '''import numpy as np
import metalloid as mt

x = np.zeros(8, np.float32)
library = mt.device().library("""
kernel void shift(device float* x, uint i [[thread_position_in_grid]]) {
    x[i + 1] = i;
}
""")
library["shift"](x, grid=8)
'''
MLX = '''import mlx.core as mx

BODY = """
    uint i = thread_position_in_grid.x;
    out[i + 1] = x[i];
"""


def make(shift):
    return mx.fast.metal_kernel(name="shift", input_names=["x"], output_names=["out"], source=f"""
        uint i = thread_position_in_grid.x;
        out[i + {shift}] = x[i];
    """)


def run(kernel):
    return kernel(inputs=[mx.ones((8,))], output_shapes=[(8,)], output_dtypes=[mx.float32],
                  grid=(8, 1, 1), threadgroup=(8, 1, 1))


run(mx.fast.metal_kernel(name="plain", input_names=["x"], output_names=["out"], source=BODY))
run(make(2))
'''
TORCH = """import torch

library = torch.mps.compile_shader(
    "kernel void shift(device float* x, uint i [[thread_position_in_grid]]) {"
    "    x[i + 1] = i;"
    "}"
)
library.shift(torch.zeros(8))
"""
FORMS = {
    "numpy": (NUMPY, [("job.py", 7, 5)], None),
    "mlx": (MLX, [("job.py", 5, 5), ("job.py", 12, 9)], "mlx"),
    "torch": (TORCH, [("job.py", 4, 0)], "torch"),
}


def locations(result):
    return [
        tuple(f["location"].values()) for f in json.loads(result.stdout)["findings"] if f["rule"] == "M102"
    ]


@pytest.mark.parametrize("form", FORMS)
def test_a_finding_is_at_the_python_line(form, tmp_path, monkeypatch):
    text, places, needed = FORMS[form]
    if needed and find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.py").write_text(text)
    words = ("check", "job.py", "--json", "--sarif", "r.sarif", "--html", "r.html")
    result = CliRunner().invoke(group, words, catch_exceptions=False)
    found = locations(result)
    if form == "torch":  # one literal in three lines: the line is known, the column is not a text's own
        assert [place[:2] for place in found] == [place[:2] for place in places]
    else:
        assert found == places
    told = json.loads((tmp_path / "r.sarif").read_text())["runs"][0]["results"]
    regions = [r["locations"][0]["physicalLocation"] for r in told if r["ruleId"] == "M102"]
    assert [(r["artifactLocation"]["uri"], r["region"]["startLine"]) for r in regions] == [
        p[:2] for p in places
    ]
    page = (tmp_path / "r.html").read_text()
    assert "<h2>job.py</h2>" in page and "kernel.metal" not in page


def test_pytest_and_tracebacks_name_it_too(tmp_path):
    (tmp_path / "test_job.py").write_text(
        NUMPY.replace('library["shift"](x, grid=8)', 'def test_it():\n    library["shift"](x, grid=8)')
    )
    (tmp_path / "job.py").write_text(NUMPY)
    environment = {**os.environ}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--metalloid-check"]
    from importlib.metadata import entry_points

    if not any(p.value == "metalloid.pytest_plugin" for p in entry_points(group="pytest11")):
        command[4:4] = ["-p", "metalloid.pytest_plugin"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200)
    assert "test_job.py:7:5: M102 out-of-bounds write, 4 bytes past 'x'" in done.stdout
    done = subprocess.run(
        [sys.executable, "job.py"], cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    assert "KernelFault: job.py:7:5: M102" in done.stderr


def test_text_that_does_not_compile_is_told_at_its_python_line():
    with pytest.raises(mt.CompileError) as caught:
        mt.device().library("""
kernel void f(device float* x) {
    x[0] = undeclared;
}
""")
    (said,) = caught.value.diagnostics
    line = said.excerpt
    assert said.file.endswith("test_homes.py") and line == "    x[0] = undeclared;" and said.column == 12


def test_a_text_that_was_put_together_is_told_at_the_call_with_its_own_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ["kernel void f(device float* x,", "uint i [[thread_position_in_grid]]) {", "x[i + 1] = 1; }"]
    text = "\n".join(word + " " for word in " ".join(lines).split())
    (tmp_path / "made.txt").write_text(text)
    code = (
        "import numpy as np, metalloid as mt, pathlib\n"
        "text = pathlib.Path('made.txt').read_text()\n"
        "mt.device().library(text)['f'](np.zeros(4, np.float32), grid=4)\n"
    )
    (tmp_path / "job.py").write_text(code)
    words = ("check", "job.py", "--json", "--sarif", "r.sarif")
    result = CliRunner().invoke(group, words, catch_exceptions=False)
    ((file, line, _),) = locations(result)
    assert file == "job.py:3 (kernel.metal)" and line > 1
    (told,) = json.loads((tmp_path / "r.sarif").read_text())["runs"][0]["results"]
    place = told["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("job.py", 3)


def test_a_name_that_was_given_is_kept():
    library = mt.device().library(
        "kernel void f(device float* x, uint i [[thread_position_in_grid]]) { x[i + 1] = 1; }",
        name="mine.metal",
    )
    (finding,) = mt.check(library["f"], np.zeros(4, np.float32), grid=4).findings
    assert (finding.location.file, finding.location.line) == ("mine.metal", 1)


def test_the_same_text_elsewhere_in_the_file_does_not_confuse():
    first = mt.device().library("""
kernel void g(device float* x, uint i [[thread_position_in_grid]]) {
    x[i + 1] = 1;
}
""")
    second = mt.device().library("""
kernel void g(device float* x, uint i [[thread_position_in_grid]]) {
    x[i + 1] = 1;
}
""")
    lines = [
        mt.check(k["g"], np.zeros(4, np.float32), grid=4).findings[0].location.line for k in (first, second)
    ]
    assert lines[1] - lines[0] == 5
