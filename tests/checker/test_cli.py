"""`metalloid check` as a user types it."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec

import pytest
from click.testing import CliRunner

from metalloid.cli import group

ADD = """#include <metal_stdlib>
using namespace metal;
kernel void add(device const float* a [[buffer(0)]], device float* out [[buffer(1)]],
                uint i [[thread_position_in_grid]]) {
    out[i] = a[i] + 1;
}
"""
SCRIPT = """import sys
from pathlib import Path
import numpy as np
import metalloid as mt
from helper import size

add = mt.device().library(Path(__file__).with_name("add.metal"))["add"]
out = np.zeros(size, np.float32)
for step in range(3):
    add(np.ones(65, np.float32), out, grid=int(sys.argv[1]))
print("done", *sys.argv[1:])
"""
LAUNCH = ("--grid", "64", "--arg", "a=ones:64:float32")


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "add.metal").write_text(ADD)
    (tmp_path / "helper.py").write_text("size = 64\n")

    def run(*words, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        return CliRunner().invoke(group, ("check", *words), catch_exceptions=False)

    return run


def test_hints_of_one_launch_are_options(tmp_path):
    file = tmp_path / "scale.metal"
    file.write_text(
        "kernel void scale(device const float* x, device float* y, constant float& a,\n"
        "                  uint i [[thread_position_in_grid]]) { y[i] = a * x[i]; }\n"
        "kernel void turn(device float* x, threadgroup float* t [[threadgroup(0)]],\n"
        "                 uint i [[thread_position_in_threadgroup]]) { t[i] = x[i]; x[i] = t[i]; }\n"
    )

    def hint(*options):
        result = CliRunner().invoke(group, ["check", str(file), *options, "--json"])
        return json.loads(result.stdout)["findings"][0]["hint"]

    scale = ("--kernel", "scale", "--arg", "x=arange:200:float32", "--out", "y:200:float32")
    assert hint(*scale, "--grid", "200") == "Pass --arg a=VALUE."
    assert hint(*scale, "--arg", "a=2", "--grid", "100").startswith("launch --grid 200, or")
    assert "pass --threadgroups 4 if" in hint(*scale, "--arg", "a=2", "--grid", "4", "--threadgroup", "50")
    turn = ("--kernel", "turn", "--arg", "x=arange:64:float32", "--grid", "64")
    assert hint(*turn) == "Pass --threadgroup-memory 0=bytes; an element takes 4."


def test_a_clean_launch_exits_with_0(call):
    result = call("add.metal", *LAUNCH, "--out", "out:64:float32")
    assert (result.exit_code, result.stdout) == (0, "no findings (1 launch, 64 threads checked)\n")


def test_findings_exit_with_1_in_text_without_colours(call):
    result = call("add.metal", *LAUNCH, "--out", "out:60:float32")
    assert result.exit_code == 1
    assert "add.metal:5:5: M102 out-of-bounds write, 4 bytes past 'out' (240 bytes)\n" in result.stdout
    assert "\x1b" not in result.stdout


def test_outputs_start_as_memory_that_nobody_has_set(call, tmp_path):
    (tmp_path / "sum.metal").write_text(ADD.replace("out[i] = a[i] + 1", "out[i] += a[i]"))
    result = call("sum.metal", *LAUNCH, "--out", "out:64:float32")
    assert result.exit_code == 1 and "M105" in result.stdout


def test_a_refused_launch_and_text_that_does_not_compile_are_findings_too(call, tmp_path):
    result = call("add.metal", *LAUNCH, "--threadgroup", "2048", "--out", "out:64:float32")
    assert result.exit_code == 1
    assert result.stdout.startswith("add.metal:3: M302 threadgroup is (2048, 1, 1), 2048 threads;")
    (tmp_path / "bad.metal").write_text(ADD.replace("a[i]", "b[i]"))
    result = call("bad.metal", *LAUNCH, "--out", "out:64:float32", "--json")
    assert result.exit_code == 1
    (finding,) = json.loads(result.stdout)["findings"]
    assert (finding["rule"], finding["location"]["line"]) == ("M602", 5)


def test_json_sarif_and_html_say_the_same(call, tmp_path):
    words = (
        "add.metal",
        *LAUNCH,
        "--out",
        "out:60:float32",
        "--json",
        "--sarif",
        "r.sarif",
        "--html",
        "r.html",
    )
    result = call(*words)
    (finding,) = json.loads(result.stdout)["findings"]
    (outcome,) = json.loads((tmp_path / "r.sarif").read_text())["runs"][0]["results"]
    assert finding["rule"] == outcome["ruleId"] == "M102"
    assert finding["message"].replace("'", "&#x27;") in (tmp_path / "r.html").read_text()
    assert result.stderr == "wrote r.sarif\nwrote r.html\n"


def test_every_launch_of_a_script_is_checked(call):
    result = call("job.py", "65", "--quick", job=SCRIPT)
    assert result.exit_code == 1
    assert result.stdout.startswith("done 65 --quick\n")
    assert result.stdout.count("M102") == 1 and "(3 launches, 195 threads checked)" in result.stdout
    assert call("job.py", "64").exit_code == 0


def test_with_json_nothing_else_is_on_stdout(call):
    result = call("job.py", "65", "--json", job=SCRIPT)
    assert len(json.loads(result.stdout)["launches"]) == 3 and result.stderr == "done 65\n"
    result = call("job.py", "65", "--", "--json")
    assert result.stdout.startswith("done 65 --json\n")


def test_a_scripts_own_ending_is_kept(call):
    assert call("job.py", job="import sys; sys.exit(3)").exit_code == 3
    result = call("job.py", job="def f():\n    raise KeyError('lost')\nf()\n")
    assert result.exit_code == 1
    assert re.fullmatch(
        r'Traceback \(most recent call last\):\n  File "job.py", line 3.*KeyError: .lost.\n',
        result.stderr,
        re.DOTALL,
    )


def test_errors_of_a_launch_are_findings_at_the_scripts_line(call):
    result = call("job.py", "64", job=SCRIPT.replace("np.ones(65, np.float32)", "np.ones(65)"))
    assert result.exit_code == 1
    assert "job.py:10: M306 'a' is declared float; got an array of float64\n" in result.stdout
    assert "Traceback" not in result.output


def test_options_of_a_launch_make_no_sense_for_a_script(call):
    result = call("job.py", "--grid", "3", job=SCRIPT)
    assert result.exit_code == 2
    assert "--grid describes the launch of a .metal file; job.py makes its own" in result.stderr
    result = call("add.metal", "--gird", "3")
    assert result.exit_code == 2 and "No such option '--gird'" in result.stderr


def test_launches_in_mlx_form_are_checked(call):
    if find_spec("mlx") is None:
        pytest.skip("mlx is not installed")
    text = """import mlx.core as mx
kernel = mx.fast.metal_kernel(name="half_of_it", input_names=["x"], output_names=["out"], source='''
    uint i = thread_position_in_grid.x;
    if (i < 50) out[i] = 2 * x[i];
''')
(out,) = kernel(inputs=[mx.ones((100,))], output_shapes=[(100,)], output_dtypes=[mx.float32],
                grid=(100, 1, 1), threadgroup=(32, 1, 1))
print(out[0].item(), mx.metal.is_available())
"""
    result = call("job.py", job=text)
    assert result.exit_code == 1 and result.stdout.startswith("2.0 True\n")
    assert "M106 50 of 100 elements of 'out' were never written" in result.stdout


def test_launches_in_torch_form_are_checked(call):
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    text = """import torch
library = torch.mps.compile_shader('''
kernel void shift(device float* x, uint i [[thread_position_in_grid]]) { x[i + 1] = i; }
''')
library.shift(torch.zeros(99))
"""
    result = call("job.py", job=text)
    assert result.exit_code == 1 and "M102 out-of-bounds write, 4 bytes past 'x'" in result.stdout
