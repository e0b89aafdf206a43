"""The command line as a user types it."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from metalloid.cli import COMMANDS, group
from metalloid.errors import MetalloidError

ADD = """#include <metal_stdlib>
using namespace metal;
struct Params { uint n; float scale; };
kernel void add(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                device float* out [[buffer(2)]], constant Params& p [[buffer(3)]],
                uint i [[thread_position_in_grid]]) {
    if (i < p.n) out[i] = a[i] + p.scale * b[i];
}
"""
SCALE = """kernel void scale(device float* x, constant float& s, uint i [[thread_position_in_grid]]) {
    x[i] *= s;
}
"""


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Write files, run the command in their folder, give its result; errors are raised."""
    monkeypatch.chdir(tmp_path)

    def run(*words, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.metal").write_text(text)
        return CliRunner().invoke(group, words, catch_exceptions=False)

    return run


def test_demo_runs_every_kernel_right(call):
    result = call("demo")
    assert result.exit_code == 0
    table, _, _ = result.output.partition("And one that is wrong")
    assert table.count("right") == 7
    assert "WRONG" not in table


def test_demo_ends_with_a_broken_kernel_explained(call):
    broken = call("demo").output.partition("And one that is wrong")[2]
    assert "shared[i] = x[row * 64 + i];" in broken and "M201 race in threadgroup memory" in broken
    assert "hint: put threadgroup_barrier" in broken
    commands = re.findall(r"^metalloid (\w+)", broken, re.MULTILINE)
    assert commands and set(commands) <= set(COMMANDS)


def test_run_prints_what_the_kernel_wrote(call):
    words = ("run", "scale.metal", "--grid", "5", "--arg", "x=arange:5:float32", "--arg", "s=2.5", "--json")
    result = json.loads(call(*words, scale=SCALE).stdout)
    assert result["outputs"]["x"] == [0, 2.5, 5, 7.5, 10]


def test_run_saves_outputs(call, tmp_path):
    call(
        "run",
        "scale.metal",
        "--grid",
        "3",
        "--arg",
        "x=ones:3:float32",
        "--arg",
        "s=4",
        "--save",
        "o",
        scale=SCALE,
    )
    assert np.load(tmp_path / "o" / "x.npy").tolist() == [4, 4, 4]


def test_unwritten_outputs_do_not_look_like_zeros(call):
    kernel = (
        "kernel void one(device uint* out, uint i [[thread_position_in_grid]]) { if (i == 1) out[i] = 7; }"
    )
    result = json.loads(
        call("run", "one.metal", "--grid", "3", "--out", "out:3:uint32", "--json", one=kernel).stdout
    )
    assert result["outputs"]["out"] == [0xCDCDCDCD, 7, 0xCDCDCDCD]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--grid", "4", "--arg", "x=arange:4:float32"), "'s' (constant float& s [[buffer(1)]]) is missing"),
        (("--grid", "4", "--arg", "x=arange:4:floaty", "--arg", "s=1"), "'floaty' is no dtype"),
        (("--grid", "4", "--arg", "x", "--arg", "s=1"), "expected NAME=VALUE"),
        (("--grid", "four", "--arg", "x=ones:4", "--arg", "s=1"), "'four' is no size"),
        (("--grid", "5", "--arg", "x=ones:4:float32", "--arg", "s=1"), "out-of-bounds"),
    ],
)
def test_a_wrong_run_says_what_is_wrong(call, words, says):
    with pytest.raises(MetalloidError) as error:
        call("run", "scale.metal", *words, scale=SCALE)
    assert says in str(error.value)


def test_run_says_which_guards_there_are(call):
    words = ("run", "scale.metal", "--grid", "8", "--arg", "x=ones:4:float32", "--arg", "s=2.0")
    result = call(*words, "--guard", "soft", scale=SCALE)
    assert result.exit_code == 2 and "'soft' is not one of 'stop', 'robust', 'off'" in result.output
    with pytest.raises(MetalloidError, match="M10"):
        call(*words, "--guard", "stop")
    with pytest.warns(UserWarning, match="The launch went on"):
        assert call(*words, "--guard", "robust").exit_code == 0


def test_lint_tells_a_missing_brace_once(call):
    result = call(
        "lint", "scale.metal", scale=SCALE.replace("    x[i] *= s;", "    if (i < 3) {\n    x[i] *= s;")
    )
    assert result.output.count("error:") == 1 and "M601 this '{' is never closed" in result.output


def test_show_gives_every_stage(call):
    show = ("show", "add.metal", "--kernel", "add", "--stage")
    assert call(*show, "metal", add=ADD).output.startswith("#include <metal_stdlib>")
    assert "__mt_entry" in call(*show, "rewritten").output
    assert "define dso_local void @__mt_entry()" in call(*show, "ll").output
    signature = call(*show, "signature").output
    assert "device const float* a [[buffer(0)]]" in signature
    assert "+4    float scale" in signature
    assert "buffer 2: out, float (4 bytes), write" in signature
    assert "x float>" in call(*show, "vec.ll").output
    assert "mt_threadgroup" in call(*show, "asm", "--threadgroup", "64").output


def test_show_asks_which_kernel_where_there_are_several(call):
    with pytest.raises(MetalloidError, match="2 kernels; choose one with --kernel: add, scale"):
        call("show", "two.metal", two=ADD + SCALE)


def test_lint_is_silent_about_right_kernels(call):
    result = call("lint", "add.metal", add=ADD)
    assert (result.exit_code, result.output) == (0, "add.metal: 1 kernel, no mistakes\n")


def test_lint_points_at_each_mistake(call):
    wrong = ADD.replace("p.scale", "p.scal").replace("[thread_position", "[thread_pos")
    result = call("lint", "add.metal", add=wrong)
    assert result.exit_code == 1
    assert "add.metal:6" in result.output


def test_lint_reads_functions_no_kernel_uses(call):
    result = call("lint", "add.metal", add=ADD + "float unused(float x) { return x + y; }\n")
    assert result.exit_code == 1
    assert "'y' is not declared" in result.output


def test_lint_finds_kernels_in_python(call, tmp_path):
    (tmp_path / "model.py").write_text(
        "import mlx.core as mx\n"
        "kernel = mx.fast.metal_kernel(name='double_it', input_names=['x'], output_names=['out'],\n"
        "    source='''\n"
        "        uint i = thread_position_in_grid.x;\n"
        "        out[i] = x[i] * tow;\n"
        "    ''')\n"
    )
    result = call("lint", "model.py")
    assert result.exit_code == 1
    assert "model.py:5:25: error: M602 'tow' is not declared" in result.output


def test_rule_explains_and_lists(call):
    assert "simd_shuffle_xor" in call("rule", "M603").output
    assert "M601" in call("rule").output
    with pytest.raises(MetalloidError, match="there is no rule"):
        call("rule", "M999")


def test_devices_lists_what_there_is(call):
    (device,) = json.loads(call("devices", "--json").stdout)
    assert device["name"] == "cpu" and device["max_threads_per_threadgroup"] == 1024
    assert call("devices").output.startswith("cpu (default)\n")


def test_python_can_be_told_to_run_the_command():
    done = subprocess.run([sys.executable, "-m", "metalloid", "rule", "M999"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "M999" in done.stderr and "Traceback" not in done.stderr
