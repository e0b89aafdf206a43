"""The commonest mistakes of beginners in each form, and what they are told."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from click.testing import CliRunner

import metalloid as mt
import metalloid.mlx
from metalloid.cli import group

WHOLE = "kernel void add(device float* out, uint i [[thread_position_in_grid]]) { out[i] = 1; }"


def mlx(source, size=8, **more):
    kernel = metalloid.mlx.metal_kernel(name="k", input_names=["x"], output_names=["out"], source=source)
    call = {"grid": (8, 1, 1), "threadgroup": (8, 1, 1), "output_shapes": [(size,)], **more}
    return kernel(inputs=[np.ones(8, np.float32)], output_dtypes=[np.float32], **call)


def library(text):
    return mt.device().library(text)


def torch(text):
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    from metalloid.torch import compile_shader

    return compile_shader(text)


def script(body):
    return mt.metal_kernel(body, out=np.zeros(8, np.float32))


ATOMIC = "atomic_fetch_add_explicit(&out[0], x[thread_position_in_grid.x], memory_order_relaxed);"
TOLD = {
    "atomics": (lambda: mlx(ATOMIC), "pass atomic_outputs=True to metal_kernel"),
    "template": (lambda: mlx("out[0] = T(x[0]);"), r"template=\[\('T', dtype\)\]"),
    "template type": (lambda: mlx("T v = x[0]; out[0] = v;"), r"template=\[\('T', dtype\)\]"),
    "attribute mlx": (
        lambda: mlx("out[thread_position_in_gird.x] = 1;"),
        "did you mean 'thread_position_in_grid'",
    ),
    "attribute": (
        lambda: library(WHOLE.replace("in_grid", "in_gird")),
        r"did you mean \[\[thread_position_in_grid\]\]",
    ),
    "whole mlx": (lambda: mlx(WHOLE), "'add' is a whole kernel, and the body of one is expected"),
    "whole script": (lambda: script(WHOLE), "'add' is a whole kernel, and the body of one is expected"),
    "namespace": (
        lambda: library("kernel void f(device float* x) { x[0] = exp(x[0]); }"),
        "write `metal::exp`",
    ),
    "namespace torch": (
        lambda: torch("kernel void f(device float* x) { x[0] = max(x[0], 1.0f); }"),
        "`metal::max`",
    ),
    "file mlx": (lambda: mlx("kernels/add.metal"), "'kernels/add.metal' is the name of a file"),
    "file": (lambda: library("add.metal"), r"device.library takes pathlib.Path\('add.metal'\) itself"),
    "file torch": (
        lambda: torch("add.metal"),
        r"pass its contents: pathlib.Path\('add.metal'\).read_text\(\)",
    ),
    "file script": (lambda: script("add.metal"), "'add.metal' is the name of a file"),
    "small output": (
        lambda: mlx("uint i = thread_position_in_grid.x; out[i] = x[i];", size=4),
        "or make it larger: output_shapes",
    ),
    "size": (
        lambda: library(WHOLE)["add"](np.zeros(8, np.float32), grid=8, threadgroup_size=8),
        "has no argument 'threadgroup_size'.* Did you mean threadgroup=",
    ),
    "size mlx": (lambda: mlx("out[0] = 1;", threadgroup_size=(8, 1, 1)), "Did you mean threadgroup="),
}


@pytest.mark.parametrize(("mistake", "told"), TOLD.values(), ids=TOLD)
def test_a_beginner_is_told_what_to_do(mistake, told):
    with pytest.raises(Exception, match=told):
        mistake()


def test_a_torch_call_in_other_words():
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    import torch as pytorch

    with pytest.raises(TypeError, match=r"no argument 'grid'\. Did you mean threads="):
        torch(WHOLE).add(pytorch.zeros(8), grid=8)


def test_names_that_are_right_are_not_guessed_at():
    with pytest.raises(mt.CompileError) as caught:
        library(
            "#include <metal_stdlib>\nusing namespace metal;\nkernel void f(device float* x) { x[0] = exq(x[0]); }"
        )
    assert (
        "did you mean 'exp'" in caught.value.diagnostics[0].hint or "exp" in caught.value.diagnostics[0].hint
    )


STRUCT = """typedef struct { int ne00; float scale; } Args;
kernel void f(device float* x, constant Args& args, uint i [[thread_position_in_grid]]) {
    x[i] = args.ne00 * args.scale;
}
"""


def test_a_struct_without_a_name_has_its_typedefs():
    kernel = library(STRUCT)["f"]
    assert kernel.parameters[1].type.name == "Args"
    with pytest.raises(mt.LaunchError, match=r"struct Args: 8 bytes(.|\n)*constant Args& args"):
        kernel(np.zeros(4, np.float32), 3, grid=4)


def test_structs_come_from_json_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.metal").write_text(STRUCT)
    words = ("run", "a.metal", "--grid", "2", "--out", "x:2:float32", "--json", "--arg")
    result = CliRunner().invoke(group, (*words, 'args={"ne00": 128, "scale": 0.5}'), catch_exceptions=False)
    assert '"x": [64.0, 64.0]' in result.stdout
    with pytest.raises(mt.LaunchError, match="unknown: scal; missing: scale"):
        CliRunner().invoke(group, (*words, 'args={"ne00": 128, "scal": 0.5}'), catch_exceptions=False)
    with pytest.raises(mt.LaunchError, match="this is no JSON: Expecting"):
        CliRunner().invoke(group, (*words, 'args={"ne00": 128,'), catch_exceptions=False)
