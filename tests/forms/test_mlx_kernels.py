"""Kernels written for MLX, run on the oracle: the generated text, the order of its buffers, MLX's helpers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.errors import CompileError
from metalloid.forms.mlx_source import ArrayLike, Binding, Dtype, KernelText, TemplateValue, generate
from metalloid.frontend import compile_kernel


def call(
    source: str,
    inputs: dict[str, Any],
    out: Any,
    header: str = "",
    template: tuple[tuple[str, TemplateValue], ...] = (),
    grid: int = 1,
) -> Any:
    """What MLX does in one call: generate, compile, bind in order, run."""
    text = KernelText("k", tuple(inputs), ("out",), source, header)
    likes = [ArrayLike(a.dtype.name, a.shape) for a in inputs.values()]
    made = generate(text, likes, [out.dtype.name], template)
    kernel = compile_kernel(made.source, made.kernel)
    assert [p.index for p in kernel.signature.buffers] == [b.index for b in made.bindings]
    buffers = {b.index: memory(b, list(inputs.values()), out) for b in made.bindings}
    interpret.run(kernel.ir, Launch((grid, 1, 1), (1, 1, 1), buffers, {}))
    return out


def memory(binding: Binding, inputs: list[Any], out: Any) -> Any:
    if binding.kind == "output":
        return out
    array = inputs[binding.position]
    base = array if array.base is None else array.base
    return {
        "input": base.reshape(-1) if base.ndim == 0 else base,
        "shape": np.array(array.shape, np.int32),
        "strides": np.array(array.strides, np.int64) // array.itemsize,
        "ndim": np.array([array.ndim], np.int32),
    }[binding.kind]


def test_a_template_kernel_runs() -> None:
    x = np.arange(10, dtype=np.float16)
    got = call(
        "uint i = thread_position_in_grid.x;\nT v = inp[i];\nout[i] = v * T(N) + bias;",
        {"inp": x, "bias": np.float32(0.5).reshape(())},
        np.zeros(10, np.float16),
        template=(("T", Dtype("float16")), ("N", 3)),
        grid=10,
    )
    assert (got == x * 3 + 0.5).all()


def test_elem_to_loc_walks_strided_memory() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(2, 0, 1)
    source = "uint i = thread_position_in_grid.x;\nout[i] = x[elem_to_loc(i, x_shape, x_strides, x_ndim)];"
    got = call(source, {"x": x}, np.zeros(24, np.float32), grid=24)
    assert (got == x.reshape(-1)).all()


def test_the_looped_walk_agrees() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(1, 2, 0)
    source = """
        LoopedElemToLoc<3> walk(x_ndim);
        for (int i = 0; i < 24; i++) {
            out[i] = x[walk.location()];
            walk.next(x_shape, x_strides);
        }
    """
    assert (call(source, {"x": x}, np.zeros(24, np.float32)) == x.reshape(-1)).all()


HELPERS: list[tuple[str, float]] = [
    ("Limits<float>::max", math.inf),
    ("Limits<half>::min", -math.inf),
    ("Limits<float>::finite_max", float(np.finfo(np.float32).max)),
    ("Limits<int8_t>::min", -128),
    ("Limits<bool>::max", 1),
    ("ceildiv(7, 2)", 4),
    ("ceildiv(8, 2)", 4),
    ("log1p(x[0])", math.log1p(1e-6)),
    ("log1p(x[1])", math.inf),
    ("hypot(x[2], x[3])", 5e30),
    ("(complex64_t(1, 2) * complex64_t(3, 4)).imag", 10),
    ("(complex64_t(-5, 10) / complex64_t(3, 4)).real", 1),
    ("(complex64_t(1, 2) + 1.0f).real", 2),
    ("float(complex64_t(1, 2) < complex64_t(1, 3))", 1),
    ("WorkPerThread<half>::n", 4),
    ("float(cast_to<bool>(complex64_t(0, 1)))", 1),
    ("float(float16_t(0.5)) + float(bfloat16_t(0.25))", 0.75),
]


def test_helpers_are_in_scope_and_right() -> None:
    x = np.array([1e-6, math.inf, 3e30, 4e30] + [0] * 4, np.float32)
    source = "\n".join(f"out[{i}] = {text};" for i, (text, _) in enumerate(HELPERS))
    got = call(source, {"x": x}, np.zeros(len(HELPERS), np.float32))
    np.testing.assert_allclose(got, [value for _, value in HELPERS], rtol=1e-6)


def test_wide_integers_can_be_shuffled() -> None:
    source = "out[0] = simd_shuffle(x[0], ushort(0)) + simd_shuffle_down(x[1], ushort(0));"
    got = call(source, {"x": np.array([2**40, 3] * 4, np.uint64)}, np.zeros(1, np.uint64))
    assert got[0] == 2**40 + 3


def test_mistakes_are_told_in_the_lines_of_source_and_header() -> None:
    def first(source: str, header: str) -> tuple[str, int, str]:
        with pytest.raises(CompileError) as caught:
            call(source, {"x": np.zeros(8, np.float32)}, np.zeros(8, np.float32), header)
        found = caught.value.diagnostics[0]
        return found.file, found.line, found.excerpt.strip()

    assert first("\nout[0] = y;", "") == ("k source", 2, "out[0] = y;")
    header = "inline int f() {\n    return z;\n}"
    assert first("out[0] = f();", header) == ("k header", 2, "return z;")
