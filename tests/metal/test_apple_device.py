"""The Apple device against metalloid's own module of PyObjC's shape: no Mac has run it."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
import metalloid.metal
from metalloid.backends.metal import objc
from metalloid.errors import CompileError, DeviceError, LaunchError

TEXT = """#include <metal_stdlib>
using namespace metal;
constant int power [[function_constant(0)]];
constant float bias [[function_constant(1)]];
kernel void axpy(device const float* x, device float* y, constant float& a, uint i [[thread_position_in_grid]]) {
    y[i] += a * x[i];
}
kernel void raise(device float* x, uint i [[thread_position_in_grid]]) {
    float r = 1;
    for (int n = 0; n < power; n++) r *= x[i];
    x[i] = r + bias;
}
kernel void turn(device int* out, threadgroup int* s [[threadgroup(0)]], uint t [[thread_index_in_threadgroup]]) {
    s[t] = int(t); threadgroup_barrier(mem_flags::mem_threadgroup); out[t] = s[31 - t];
}
"""


@pytest.fixture(autouse=True)
def apple():
    objc.allow_own[0] = True
    objc.gpu.cache_clear()
    objc.queue.cache_clear()
    with metalloid.metal.installed():
        yield mt.device("metal")
    objc.allow_own[0] = False
    objc.gpu.cache_clear()
    objc.queue.cache_clear()


def test_it_is_no_device_where_there_is_no_apple_gpu():
    objc.allow_own[0] = False
    assert "metal" not in [d.name for d in mt.devices()]
    with pytest.raises(DeviceError, match="'metal' cannot be used here: the module Metal is metalloid's own"):
        mt.device("metal")
    metalloid.metal.uninstall()
    try:
        with pytest.raises(DeviceError, match="there is no module Metal"):
            mt.device("metal")
    finally:
        metalloid.metal.install()


def test_it_compiles_and_runs_what_the_cpu_runs(apple):
    library = apple.library(TEXT)
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    library["axpy"](x, y, 2.0, grid=100, threadgroup=32)
    np.testing.assert_array_equal(y, 2 * x + 1)
    z = np.arange(8, dtype=np.float32)
    library.kernel("raise", constants={"power": 2, 1: 0.5})(z, grid=8)
    np.testing.assert_array_equal(z, np.arange(8) ** 2 + 0.5)
    out = np.zeros(32, np.int32)
    library["turn"](out, grid=32, threadgroup=32, threadgroup_memory={0: 128})
    np.testing.assert_array_equal(out, np.arange(32)[::-1])


def test_memory_that_overlaps_is_one_memory_there_too(apple):
    kernel, memory = apple.library(TEXT)["axpy"], np.arange(20, dtype=np.float32)
    kernel(memory[:10], memory[10:], 1.0, grid=10, overlap=True)
    np.testing.assert_array_equal(memory[10:], np.arange(10) + np.arange(10, 20))
    whole = np.ones(10, np.float32)
    kernel(whole, whole, 1.0, grid=10, overlap=True)
    np.testing.assert_array_equal(whole, np.full(10, 2))
    constant = np.ones(10, np.float32)
    constant.flags.writeable = False
    out = np.zeros(10, np.float32)
    kernel(constant, out, 3.0, grid=10)
    np.testing.assert_array_equal(out, np.full(10, 3))


def test_queues_and_buffers(apple):
    library = apple.library(TEXT)
    x, y = apple.buffer(np.arange(16, dtype=np.float32), copy=True), apple.zeros(16)
    commands = apple.queue().command_buffer()
    with commands.compute_encoder() as encoder:
        encoder.set_pipeline(library["axpy"])
        encoder.set_buffer(x, 32, 0)
        encoder.set_buffer(y, 16, 1)
        encoder.set_bytes(2.0, 2)
        encoder.dispatch_threads(8, 8)
    commands.commit()
    commands.wait_until_completed()
    np.testing.assert_array_equal(y.numpy()[4:12], 2 * np.arange(8, 16))
    assert not y.numpy()[:4].any() and not y.numpy()[12:].any()


def test_files_that_a_text_includes_travel_with_it(apple, tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "two.h").write_text("#pragma once\nconstant int TWO = 2;\n")
    (tmp_path / "one.h").write_text('#pragma once\n#include "deep/two.h"\n#include "deep/two.h"\n')
    (tmp_path / "k.metal").write_text(
        '#include "one.h"\n#include "one.h"\n'
        "kernel void k(device int* x, uint i [[thread_position_in_grid]]) { x[i] = TWO * MORE; }\n"
    )
    out = np.zeros(4, np.int32)
    apple.library(tmp_path / "k.metal", defines={"MORE": 21})["k"](out, grid=4)
    np.testing.assert_array_equal(out, np.full(4, 42))
    (tmp_path / "k.metal").write_text('kernel void k(device int* x) { x[0] = 1; }\n#include "none.h"\n')
    with pytest.raises(CompileError, match=r"'none.h' was not found"):
        apple.library(tmp_path / "k.metal")["k"](out, grid=1)


def test_checks_stay_here(apple):
    x, y = np.ones(4, np.float32), np.ones(4, np.float32)
    report = mt.check(apple.library(TEXT)["axpy"], x, y, 1.0, grid=5)
    assert [f.rule for f in report.findings] == ["M102"]


def test_what_metal_refuses_is_told(apple):
    library = apple.library(TEXT)
    with pytest.raises(LaunchError, match="power"):
        library["raise"](np.ones(4, np.float32), grid=4)
    with pytest.raises(DeviceError, match=r"\[launch axpy\] Metal: Caused GPU Address Fault"):
        library["axpy"](np.ones(4, np.float32), np.ones(4, np.float32), 1.0, grid=8)


def axpy(x, y, device):
    out = np.array(y, order="C")
    if out.size:
        device.library(TEXT)["axpy"](np.ascontiguousarray(x), out, 2.0, grid=out.size)
    return out


def test_devices_are_compared_with_each_other():
    cases = mt.cases({"x": "n", "y": "n"}, sizes={"n": (1, 31, 64)}, random=2)
    result = mt.compare(axpy, lambda x, y: 2 * x + y, cases, devices=["cpu", "metal"], length=2)
    assert result.ok, result.text()

    def broken(x, y, device):
        return axpy(x, y, device) + (device.name == "metal")

    wrong = mt.compare(broken, lambda x, y: 2 * x + y, cases, devices=["cpu", "metal"], length=2)
    assert not wrong.ok and "result on metal" in wrong.text()

    def asked(x, y):
        return axpy(x, y, mt.device()) + (mt.device().name == "cpu")

    wrong = mt.compare(asked, lambda x, y: 2 * x + y, cases, devices=["cpu", "metal"], length=2)
    assert not wrong.ok and "result on cpu" in wrong.text()
    with pytest.raises(DeviceError, match="there is no device 'vulkan'"):
        mt.compare(axpy, axpy, cases, devices=["vulkan"])
