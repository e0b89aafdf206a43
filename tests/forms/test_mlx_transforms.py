"""Under MLX's own names, inside its transformations, on its own arrays."""

from __future__ import annotations

import threading

import numpy as np
import pytest

mx = pytest.importorskip("mlx.core", reason="mlx is not installed")

import metalloid.mlx  # noqa: E402
from metalloid.errors import DeviceError, LaunchError  # noqa: E402

SQUARE = "uint i = thread_position_in_grid.x; out[i] = x[i] * x[i];"


@pytest.fixture(autouse=True)
def under_mlx():
    with metalloid.mlx.installed():
        yield


def square(x: mx.array) -> mx.array:
    kernel = mx.fast.metal_kernel(name="square", input_names=["x"], output_names=["out"], source=SQUARE)
    return kernel(
        inputs=[x],
        output_shapes=[x.shape],
        output_dtypes=[x.dtype],
        grid=(x.size, 1, 1),
        threadgroup=(32, 1, 1),
    )[0]


@mx.custom_function
def squared(x):
    return square(x)


@squared.vjp
def _(primals, cotangent, output):
    return cotangent * 2 * primals


@squared.vmap
def _(inputs, axes):
    return square(inputs), axes


def test_installing_can_be_undone():
    def state():
        return mx.fast.metal_kernel, mx.metal.is_available, mx.gpu, mx.vmap, mx.compile

    inside = state()
    assert mx.metal.is_available() and mx.default_device() == mx.gpu
    assert mx.fast.metal_kernel is metalloid.mlx.metal_kernel and metalloid.mlx.is_installed()
    with metalloid.mlx.installed():
        assert mx.metal.is_available()
    assert state() == inside
    metalloid.mlx.uninstall()
    try:
        assert not mx.metal.is_available() and mx.default_device() != mx.gpu
        assert not set(map(id, state())) & set(map(id, inside))
        with pytest.raises(DeviceError, match=r"without install"):
            metalloid.mlx.uninstall()
    finally:
        metalloid.mlx.install()


def test_a_stream_on_the_gpu_is_accepted():
    x = mx.arange(8, dtype=mx.float32)
    kernel = mx.fast.metal_kernel(name="square", input_names=["x"], output_names=["out"], source=SQUARE)
    with mx.stream(mx.gpu):
        out = kernel(
            inputs=[x],
            output_shapes=[x.shape],
            output_dtypes=[x.dtype],
            grid=(8, 1, 1),
            threadgroup=(8, 1, 1),
            stream=mx.gpu,
        )[0]
    assert out.tolist() == [i * i for i in range(8)]


def test_inputs_that_lie_in_rows_are_not_copied():
    x = mx.arange(1024, dtype=mx.float32)
    mx.eval(x)
    seen = []

    from metalloid.runtime.watch import Watcher, watchers

    class Watch(Watcher):
        def before(self, kernel, launch):
            seen.append(launch.buffers[0].ctypes.data)
            return False

    watch = Watch()
    watchers.append(watch)
    try:
        square(x)
    finally:
        watchers.remove(watch)
    assert seen == [np.array(x, copy=False).ctypes.data]


def test_lazy_inputs_are_evaluated_and_outputs_go_on_lazily():
    x = mx.arange(10, dtype=mx.float32) + 1
    y = square(x * 2) + 1
    assert y.tolist() == [4 * (i + 1) ** 2 + 1 for i in range(10)]
    x += 5  # the arrays of the past stay as they were
    assert y[0].item() == 5


def test_a_custom_function_under_grad():
    x = mx.arange(6, dtype=mx.float32)
    assert mx.grad(lambda a: (3 * squared(a)).sum())(x).tolist() == [6 * i for i in range(6)]
    value, gradient = mx.value_and_grad(lambda a: squared(squared(a)).sum())(x)
    assert value.item() == sum(i**4 for i in range(6))
    assert gradient.tolist() == [4 * i**3 for i in range(6)]


def test_a_custom_function_under_vmap():
    x = mx.arange(12, dtype=mx.float32).reshape(3, 4)
    assert mx.vmap(squared)(x).tolist() == (x * x).tolist()
    assert mx.vmap(squared, in_axes=1, out_axes=1)(x).tolist() == (x * x).tolist()
    per_row = mx.vmap(mx.grad(lambda a: squared(a).sum()))(x)
    assert per_row.tolist() == (2 * x).tolist()


def test_a_custom_function_with_a_derivative_only_under_vmap():
    """MLX maps such a function by tracing it again, when the one around it has been traced."""

    @mx.custom_function
    def own(a):
        return square(a)

    @own.vjp
    def _(primals, cotangent, output):
        return 2 * primals * cotangent

    x = mx.arange(12.0).reshape(3, 4)
    assert mx.vmap(own)(x).tolist() == (x * x).tolist()
    assert mx.vmap(mx.grad(lambda a: own(a).sum()))(x).tolist() == (2 * x).tolist()


def test_a_kernel_under_vmap_runs_for_each():
    x = mx.arange(12, dtype=mx.float32).reshape(3, 4)
    assert mx.vmap(square)(x).tolist() == (x * x).tolist()
    assert (
        mx.vmap(lambda a, b: square(a) + b, in_axes=(0, None))(x, mx.ones(4)).tolist() == (x * x + 1).tolist()
    )
    assert mx.vmap(mx.vmap(square))(x[None]).tolist() == (x * x)[None].tolist()
    constant = mx.full((4,), 3.0)
    assert mx.vmap(lambda a: a + square(constant))(x).tolist() == (x + 9).tolist()


def test_vmap_without_installing():
    metalloid.mlx.uninstall()
    try:
        kernel = metalloid.mlx.metal_kernel("square", ["x"], ["out"], SQUARE)

        def own(x):
            sizes = {"grid": (x.size, 1, 1), "threadgroup": (32, 1, 1)}
            return kernel(inputs=[x], output_shapes=[x.shape], output_dtypes=[x.dtype], **sizes)[0]

        x = mx.arange(12, dtype=mx.float32).reshape(3, 4)
        assert metalloid.mlx.vmap(own)(x).tolist() == (x * x).tolist()
        assert metalloid.mlx.vmap(own, in_axes=1, out_axes=1)(x).tolist() == (x * x).tolist()
        with pytest.raises(LaunchError, match="it works with metalloid"):
            mx.vmap(own)(x)
        with pytest.raises(LaunchError, match="cannot run inside mx"):
            mx.compile(own)(x)
    finally:
        metalloid.mlx.install()


def test_a_kernel_alone_has_no_derivative_and_says_so():
    x = mx.arange(4, dtype=mx.float32)
    with pytest.raises(LaunchError, match=r"square\] has no vjp"):
        mx.grad(lambda a: square(a).sum())(x)
    with pytest.raises(LaunchError, match=r"has no jvp"):
        mx.jvp(square, [x], [x])


def test_a_derivative_that_does_not_go_through_the_kernel_is_fine():
    x = mx.arange(4, dtype=mx.float32)
    assert mx.grad(lambda a: (a * mx.stop_gradient(square(a))).sum())(x).tolist() == [0, 1, 4, 9]
    constant = mx.ones(4)
    assert mx.grad(lambda a: (a * square(constant)).sum())(x).tolist() == [1] * 4


def test_inside_compile_it_runs_uncompiled_and_says_so_once(capsys):
    from metalloid.forms import mlx_trace

    mlx_trace._told.clear()
    x = mx.arange(4, dtype=mx.float32)
    assert mx.compile(lambda a: squared(a) + 1)(x).tolist() == [1, 2, 5, 10]
    assert mx.compile(mx.grad(lambda a: squared(a).sum()))(x).tolist() == [0, 2, 4, 6]
    assert mx.compile(mx.vmap(square))(x[None]).tolist() == [[0, 1, 4, 9]]
    assert mx.vmap(mx.compile(square))(x[None]).tolist() == [[0, 1, 4, 9]]
    mx.enable_compile()  # waits for uninstall
    assert mx.compile(squared)(x).tolist() == [0, 1, 4, 9]
    assert mx.compile(lambda a: a + 1)(x).tolist() == [1, 2, 3, 4]
    said = capsys.readouterr().err
    assert said == (
        "metalloid: kernel 'square' is called inside mx.compile; compiled functions run uncompiled here.\n"
    )


def test_a_function_that_was_compiled_before_installing_runs_too_and_is_compiled_again_afterwards():
    metalloid.mlx.uninstall()
    traced = []
    try:
        early = mx.compile(lambda a: (traced.append(1), squared(a))[1])
        x = mx.arange(4, dtype=mx.float32)
        with metalloid.mlx.installed():
            assert early(x).tolist() == [0, 1, 4, 9] and early(x).tolist() == [0, 1, 4, 9]
            assert len(traced) == 2  # it ran each time
        plain = mx.compile(lambda a: (traced.append(1), a + 1)[1])
        assert plain(x).tolist() == plain(x).tolist() and len(traced) == 3  # traced once
    finally:
        metalloid.mlx.install()


def test_checkpoint_runs_the_kernel_again_for_the_gradient():
    x = mx.arange(4, dtype=mx.float32)
    assert mx.checkpoint(squared)(x).tolist() == [0, 1, 4, 9]
    assert mx.grad(mx.checkpoint(lambda a: (squared(a) * a).sum()))(x).tolist() == [0, 3, 12, 27]


def test_what_is_exported_cannot_hold_a_kernel_and_says_so(tmp_path):
    x = mx.arange(4, dtype=mx.float32)
    with pytest.raises(LaunchError, match=r"square\] cannot be exported"):
        mx.export_function(str(tmp_path / "f.mlxfn"), squared, x)
    mx.export_function(str(tmp_path / "g.mlxfn"), lambda a: a + 1, x)
    assert mx.import_function(str(tmp_path / "g.mlxfn"))(x)[0].tolist() == [1, 2, 3, 4]


def test_streams_and_asynchronous_evaluation_keep_their_order():
    streams = [mx.new_stream(mx.gpu) for _ in range(3)]
    x = mx.full((1000,), 2.0)
    for step in range(6):
        with mx.stream(streams[step % 3]):
            x = square(x * 0.5) + 1  # needs what the stream before it made
            mx.async_eval(x)
    for stream in streams:
        mx.synchronize(stream)
    expected = 2.0
    for _ in range(6):
        expected = (expected * 0.5) ** 2 + 1
    assert np.allclose(np.array(x), expected)


def test_what_a_kernel_logs_is_printed(capsys):
    kernel = mx.fast.metal_kernel(
        name="talk",
        input_names=["x"],
        output_names=["out"],
        header="#include <metal_logging>\n",
        source="""
            uint i = thread_position_in_grid.x;
            if (i == 3) metal::os_log_default.log("thread %u has %f", i, x[i]);
            out[i] = x[i];
        """,
    )
    x = mx.arange(8, dtype=mx.float32)
    for _ in range(2):  # the first launch of a size, and a warm one
        kernel(
            inputs=[x], output_shapes=[(8,)], output_dtypes=[x.dtype], grid=(8, 1, 1), threadgroup=(8, 1, 1)
        )
    assert capsys.readouterr().err == "thread 3 has 3.000000\n" * 2


def test_without_install_vmap_and_compile_are_refused_with_advice():
    metalloid.mlx.uninstall()
    try:
        kernel = metalloid.mlx.metal_kernel("square", ["x"], ["out"], SQUARE)

        def call(x):
            return kernel(
                inputs=[x],
                output_shapes=[x.shape],
                output_dtypes=[x.dtype],
                grid=(4, 1, 1),
                threadgroup=(4, 1, 1),
            )[0]

        x = mx.arange(4, dtype=mx.float32)
        assert call(x).tolist() == [0, 1, 4, 9]
        for transform in (mx.compile, mx.vmap):
            with pytest.raises(LaunchError, match=r"mx.compile or mx.vmap(.|\n)*metalloid.mlx.vmap"):
                transform(call)(x if transform is mx.compile else x[None])
        with pytest.raises(LaunchError, match=r"has no vjp"):
            mx.grad(lambda a: call(a).sum())(x)
    finally:
        metalloid.mlx.install()


def test_eight_threads_at_once():
    wrong = []

    def work(n: int) -> None:
        x = mx.full((64,), float(n))
        for _ in range(50):
            if square(x).tolist() != [float(n * n)] * 64:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
