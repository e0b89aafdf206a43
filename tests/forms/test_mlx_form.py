"""`metal_kernel` behaves as MLX's does, on numpy arrays and, where MLX is installed, on its own."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from metalloid import config
from metalloid.errors import CompileError, KernelFault, LaunchError
from metalloid.mlx import metal_kernel
from metalloid.runtime import places
from metalloid.runtime.guarding import OutsideWarning
from metalloid.runtime.places import LaunchWarning

MLX = find_spec("mlx") is not None


class Numpy:
    """numpy, in MLX's words."""

    float32, float16, int32, uint8, bool_, complex64 = (
        np.float32,
        np.float16,
        np.int32,
        np.uint8,
        np.bool_,
        np.complex64,
    )
    bfloat16 = ml_dtypes.bfloat16

    @staticmethod
    def array(values: Any, dtype: Any = None) -> Any:
        return np.array(values, dtype)


@pytest.fixture(
    params=["numpy", pytest.param("mlx", marks=pytest.mark.skipif(not MLX, reason="mlx is not installed"))]
)
def xp(request: pytest.FixtureRequest) -> Any:
    if request.param == "numpy":
        return Numpy
    import mlx.core as mx

    return mx


def to_numpy(array: Any) -> np.ndarray:
    if "bfloat16" in str(array.dtype):
        array = array.astype(
            np.float32 if isinstance(array, np.ndarray) else __import__("mlx.core").core.float32
        )
    return np.array(array)


def one(n: int) -> dict[str, Any]:
    return {"grid": (n, 1, 1), "threadgroup": (min(n, 256), 1, 1)}


DOUBLE = "uint i = thread_position_in_grid.x; out[i] = inp[i] + inp[i];"


def double(**options: Any) -> Any:
    return metal_kernel("double_it", ["inp"], ["out"], options.pop("source", DOUBLE), **options)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint8", "complex64"])
def test_every_type_goes_in_and_comes_out(xp, dtype):
    kind = getattr(xp, dtype)
    x = xp.array(list(range(20)), kind)
    for _ in range(3):
        (out,) = double()(inputs=[x], output_shapes=[(20,)], output_dtypes=[kind], **one(20))
    assert type(out) is type(x) and out.dtype == x.dtype and tuple(out.shape) == (20,)
    assert (to_numpy(out) == 2 * np.arange(20)).all()


def test_bools(xp):
    kernel = metal_kernel("negate", ["a"], ["out"], "uint i = thread_position_in_grid.x; out[i] = !a[i];")
    a = xp.array([True, False, True] * 4)
    (out,) = kernel(inputs=[a], output_shapes=[(12,)], output_dtypes=[xp.bool_], **one(12))
    assert to_numpy(out).tolist() == [False, True, False] * 4


def test_scalars_are_references_and_outputs_are_many(xp):
    kernel = metal_kernel(
        "mixed",
        ["x", "n", "a", "flag"],
        ["sum", "count"],
        "uint i = thread_position_in_grid.x; sum[i] = float(x[i]) * a + n; count[i] = flag ? 1 : 2;",
    )
    x = xp.array([1, 2, 3], xp.float16)
    for n, a, flag in ((3, 0.5, True), (3, 0.5, True), (-4, 2.0, False)):
        s, c = kernel(
            inputs=[x, n, a, flag],
            output_shapes=[(3,), (3,)],
            output_dtypes=[xp.float32, xp.int32],
            **one(3),
        )
        assert to_numpy(s).tolist() == [a * v + n for v in (1, 2, 3)]
        assert to_numpy(c).tolist() == [1 if flag else 2] * 3


def test_shapes_strides_and_ndim(xp):
    source = """
        uint i = thread_position_in_grid.x;
        out[i] = x[elem_to_loc(i, x_shape, x_strides, x_ndim)];
        info[0] = x_ndim; info[1] = x_shape[0]; info[2] = x_shape[1]; info[3] = x_strides[0]; info[4] = x_strides[1];
    """
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    x = xp.array(base).T
    for contiguous, strides in ((True, [4, 1]), (False, [1, 6])):
        kernel = metal_kernel("walk", ["x"], ["out", "info"], source, ensure_row_contiguous=contiguous)
        for _ in range(2):
            out, info = kernel(
                inputs=[x], output_shapes=[(6, 4), (5,)], output_dtypes=[xp.float32, xp.int32], **one(24)
            )
            assert (to_numpy(out) == base.T).all()
            assert to_numpy(info).tolist() == [2, 6, 4, *strides]


def test_broadcast_and_reversed_inputs_keep_their_values(xp):
    source = "uint i = thread_position_in_grid.x; out[i] = x[elem_to_loc(i, x_shape, x_strides, x_ndim)];"
    kernel = metal_kernel("walk_any", ["x"], ["out"], source, ensure_row_contiguous=False)
    row = xp.array([1.0, 2.0, 3.0], xp.float32)
    wide = np.broadcast_to(row, (4, 3)) if xp is Numpy else xp.broadcast_to(row, (4, 3))
    for x, expected in ((wide, [1, 2, 3] * 4), (row[::-1], [3, 2, 1])):
        n = len(expected)
        (out,) = kernel(inputs=[x], output_shapes=[(n,)], output_dtypes=[xp.float32], **one(n))
        assert to_numpy(out).tolist() == expected


def test_a_call_is_guarded_as_calls_are_at_the_time(monkeypatch):
    monkeypatch.delenv("METALLOID_GUARD", raising=False)
    kernel = double(source="uint i = thread_position_in_grid.x; out[i] = inp[i + 2];")
    call = {"inputs": [np.ones(8, np.float32)], "output_shapes": [(8,)], "output_dtypes": [np.float32]}
    undo = config.guard_as_hardware()
    try:
        with pytest.warns(OutsideWarning):
            for _ in range(2):
                assert kernel(**call, **one(8))[0].tolist() == [1] * 6 + [0] * 2
    finally:
        undo()
    with pytest.raises(KernelFault):
        kernel(**call, **one(8))


def test_numpys_other_layouts_keep_their_values():
    """Bytes in another order, and a field of packed records: its strides count no elements."""
    packed = np.zeros(8, [("flag", "u1"), ("value", "f4")])
    packed["value"] = np.arange(8)
    kernel = double(
        source="uint i = thread_position_in_grid.x; out[i] = 2 * inp[i * inp_strides[0]];",
        ensure_row_contiguous=False,
    )
    for x in (np.arange(8, dtype=">f4"), packed["value"]):
        for _ in range(2):
            (out,) = kernel(inputs=[x], output_shapes=[(8,)], output_dtypes=[np.float32], **one(8))
            assert (out == 2 * np.arange(8)).all()


def test_templates(xp):
    source = "uint i = thread_position_in_grid.x; T v = x[i]; out[i] = (flag ? v : -v) * T(N);"
    kernel = metal_kernel("templated", ["x"], ["out"], source)
    x = xp.array([1, 2, 3], xp.float32)
    for dtype in (xp.float32, xp.float16):
        for flag, n in ((True, 3), (False, 5), (True, -1)):
            (out,) = kernel(
                inputs=[x],
                template=[("T", dtype), ("flag", flag), ("N", n)],
                output_shapes=[(3,)],
                output_dtypes=[dtype],
                **one(3),
            )
            assert to_numpy(out).tolist() == [(v if flag else -v) * n for v in (1, 2, 3)]
    with pytest.raises(ValueError, match=r"'T' is 1.5; pass a bool, an int or a dtype"):
        kernel(inputs=[x], template=[("T", 1.5)], output_shapes=[(3,)], output_dtypes=[xp.float32], **one(3))


def test_outputs_can_start_from_a_value_and_be_atomic(xp):
    source = "atomic_fetch_add_explicit(&out[thread_position_in_grid.x % 2], 1, memory_order_relaxed);"
    kernel = metal_kernel("counted", ["x"], ["out"], source, atomic_outputs=True)
    x = xp.array([0.0], xp.float32)
    for init, expected in ((0, [50, 50]), (7, [57, 57])):
        (out,) = kernel(
            inputs=[x], output_shapes=[(2,)], output_dtypes=[xp.int32], init_value=init, **one(100)
        )
        assert to_numpy(out).tolist() == expected


@pytest.mark.parametrize("shape", [(3,), (1 << 20,)])
@pytest.mark.parametrize(
    ("value", "dtype", "found"),
    [
        (-1, "uint32", 0),
        (1 << 31, "int32", (1 << 31) - 1),
        ((1 << 24) + 1, "int32", 1 << 24),
        (float("nan"), "int32", 0),
        (2.7, "int8", 2),
        (-0.0, "float32", -0.0),
        (0.5, "bool_", True),
    ],
)
def test_a_first_value_is_a_float_of_cpp(xp, value, dtype, found, shape):
    kernel = metal_kernel("idle", ["x"], ["out"], "if (x < 0) { out[0] = 1; }")
    kind = getattr(xp, dtype, None) or getattr(np, dtype)
    (out,) = kernel(inputs=[1], output_shapes=[shape], output_dtypes=[kind], init_value=value, **one(1))
    assert str(to_numpy(out)[1]) == str(to_numpy(out).dtype.type(found))


def test_a_first_value_has_to_fit_a_small_type(xp):
    with pytest.raises(ValueError, match="init_value is 300; uint8 holds 0 to 255"):
        double()(
            inputs=[xp.array([1], xp.uint8)],
            output_shapes=[(1,)],
            output_dtypes=[xp.uint8],
            init_value=300,
            **one(1),
        )


def test_large_outputs_are_written_in_place(xp):
    n = 1 << 20
    x = xp.array(np.arange(n, dtype=np.float32))
    for init in (None, 5):
        (out,) = double()(
            inputs=[x], output_shapes=[(n,)], output_dtypes=[xp.float32], init_value=init, **one(n)
        )
        assert (to_numpy(out) == 2 * np.arange(n, dtype=np.float32)).all()
    few = metal_kernel("few", [], ["out"], "out[thread_position_in_grid.x] = 1;")
    (out,) = few(inputs=[], output_shapes=[(n,)], output_dtypes=[xp.float32], init_value=5, **one(3))
    assert to_numpy(out)[:5].tolist() == [1, 1, 1, 5, 5]


def test_empty_and_zero_dimensional_arrays(xp):
    kernel = metal_kernel("maybe", ["x", "e"], ["out"], "out[0] = x; if (e_shape[0] > 0) out[0] += e[0];")
    (out,) = kernel(
        inputs=[xp.array(2.5, xp.float32), xp.array([], xp.float32)],
        output_shapes=[()],
        output_dtypes=[xp.float32],
        **one(1),
    )
    assert tuple(out.shape) == () and float(out) == 2.5
    (none,) = double()(
        inputs=[xp.array([], xp.float32)],
        output_shapes=[(0,)],
        output_dtypes=[xp.float32],
        grid=(0, 1, 1),
        threadgroup=(1, 1, 1),
    )
    assert tuple(none.shape) == (0,)


def test_the_threadgroup_is_no_larger_than_the_grid(xp):
    source = "out[thread_position_in_grid.x] = threads_per_threadgroup.x * 100 + threadgroups_per_grid.x;"
    kernel = metal_kernel("sizes", [], ["out"], source)
    (out,) = kernel(
        inputs=[], output_shapes=[(10,)], output_dtypes=[xp.int32], grid=(10, 1, 1), threadgroup=(256, 1, 1)
    )
    assert to_numpy(out).tolist() == [1001] * 10
    with pytest.raises(LaunchError, match=r"M302 threadgroup is \(2048, 1, 1\)"):  # what MLX looks at
        kernel(
            inputs=[],
            output_shapes=[(10,)],
            output_dtypes=[xp.int32],
            grid=(10, 1, 1),
            threadgroup=(2048, 1, 1),
        )


def test_a_grid_that_counts_threadgroups_is_warned_about(xp):
    kernel = metal_kernel(
        "rows",
        ["x"],
        ["out"],
        "uint r = threadgroup_position_in_grid.x; float s = simd_sum(x[r * 32 + thread_index_in_simdgroup]);"
        "if (thread_index_in_simdgroup == 0) out[r] = s;",
    )
    x = xp.array([1.0] * 128, xp.float32)
    call: dict[str, Any] = {"inputs": [x], "output_shapes": [(4,)], "output_dtypes": [xp.float32]}
    (out,) = kernel(**call, grid=(128, 1, 1), threadgroup=(32, 1, 1))
    assert to_numpy(out).tolist() == [32] * 4
    places._warned.clear()
    with pytest.warns(LaunchWarning, match=r"M304 (.|\n)*multiply the grid by the threadgroup"):
        kernel(**call, grid=(4, 1, 1), threadgroup=(32, 1, 1))


def test_verbose_prints_the_source(xp, capsys):
    x = xp.array([1.0] * 8, xp.float32)
    kernel = double()
    for verbose in (True, False):
        kernel(inputs=[x], output_shapes=[(8,)], output_dtypes=[xp.float32], verbose=verbose, **one(8))
        said = capsys.readouterr().out
        assert (
            "```" in said and DOUBLE in said and "[[buffer(0)]]" in said and "#line" not in said
        ) == verbose


def test_math_mode(xp):
    source = "out[thread_position_in_grid.x] = isnan(x[0] - x[0]) ? 1 : 0;"
    x = xp.array([np.inf] * 8, xp.float32)
    kernel = metal_kernel("nans", ["x"], ["out"], source, compile_options={"math_mode": "safe"})
    (out,) = kernel(inputs=[x], output_shapes=[(1,)], output_dtypes=[xp.int32], **one(1))
    assert to_numpy(out)[0] == 1
    for options, says in (({"math_mode": "quick"}, "math_mode is 'quick'"), ({"speed": 1}, "has no 'speed'")):
        with pytest.raises(ValueError, match=says):
            metal_kernel("bad", ["x"], ["out"], source, compile_options=options)
    with pytest.raises(ValueError, match="output_names is empty"):
        metal_kernel("bad", ["x"], [], source)


def test_the_same_name_with_another_source_is_another_kernel(xp):
    x = xp.array([3.0] * 8, xp.float32)
    for source, expected in ((DOUBLE, 6), (DOUBLE.replace("+", "*"), 9), (DOUBLE, 6)):
        (out,) = double(source=source)(inputs=[x], output_shapes=[(8,)], output_dtypes=[xp.float32], **one(8))
        assert to_numpy(out)[0] == expected


def test_mistakes_surface_at_the_call_with_the_kernels_own_line(xp):
    x = xp.array([1.0] * 8, xp.float32)
    call: dict[str, Any] = {"inputs": [x], "output_shapes": [(8,)], "output_dtypes": [xp.float32]}
    with pytest.raises(CompileError) as caught:
        double(source="\n\nout[0] = y;")(**call, **one(8))
    first = caught.value.diagnostics[0]
    assert first.file.endswith("test_mlx_form.py") and "out[0] = y;" in first.excerpt and "y" in first.message
    wide = double(source="uint i = thread_position_in_grid.x;\nout[i] = inp[i + 1];")
    for _ in range(2):  # the first launch of a size, and a warm one
        with pytest.raises(KernelFault, match=r"test_mlx_form\.py:\d+:\d+: M101 .*'inp' \(32 bytes\)"):
            wide(**call, **one(8))
    with pytest.raises(LaunchError, match="M301"):
        double()(**call, grid=(0, 1, 1), threadgroup=(1, 1, 1))
    with pytest.raises(LaunchError, match="2048 threads"):
        double()(**call, grid=(4096, 1, 1), threadgroup=(2048, 1, 1))
    with pytest.raises(ValueError, match="grid is 8; pass three numbers"):
        double()(**call, grid=8, threadgroup=(1, 1, 1))
    with pytest.raises(ValueError, match="inputs has 2 entries, expected 1"):
        double()(**{**call, "inputs": [x, x]}, **one(8))
    with pytest.raises(ValueError, match="output_shapes has 2 entries, expected 1"):
        double()(**{**call, "output_shapes": [(8,), (8,)]}, **one(8))


def test_numpy_has_float64_and_metal_has_not():
    with pytest.raises(ValueError, match="float64"):
        double()(inputs=[np.ones(8)], output_shapes=[(8,)], output_dtypes=[np.float32], **one(8))


def test_a_warm_call_sees_new_values(xp):
    kernel = double()
    for scale in range(5):
        x = xp.array([float(scale)] * 8, xp.float32)
        (out,) = kernel(inputs=[x], output_shapes=[(8,)], output_dtypes=[xp.float32], **one(8))
        assert to_numpy(out).tolist() == [2.0 * scale] * 8


@pytest.mark.parametrize(("mode", "fast"), [("safe", 0), ("relaxed", 0), ("fast", 1), (None, 0)])
def test_a_kernel_can_tell_its_math_mode(xp: Any, mode: str | None, fast: int) -> None:
    """The same name and text in every mode: a kernel of another mode must not be found in its place."""
    kernel = metal_kernel(
        name="mode",
        input_names=[],
        output_names=["out"],
        source="""
            #if defined(__FAST_MATH__) && __FAST_MATH__
            out[thread_position_in_grid.x] = 1;
            #else
            out[thread_position_in_grid.x] = 0;
            #endif
        """,
        compile_options={"math_mode": mode} if mode else None,
    )
    (out,) = kernel(
        inputs=[],
        output_shapes=[(3,)],
        output_dtypes=[xp.int32],
        grid=(3, 1, 1),
        threadgroup=(3, 1, 1),
        init_value=9,
    )
    assert to_numpy(out).tolist() == [fast] * 3
