"""The `metalcompute` package's interface."""

from __future__ import annotations

from array import array

import numpy as np
import pytest

import metalloid.metal

PROGRAM = """#include <metal_stdlib>
using namespace metal;
kernel void test(const device float *in [[ buffer(0) ]], device float *out [[ buffer(1) ]],
                 uint id [[ thread_position_in_grid ]]) { out[id] = sin(in[id]); }
"""


@pytest.fixture(scope="module")
def mc():
    with metalloid.metal.installed():
        import metalcompute

        yield metalcompute


def test_a_function_runs_over_any_python_buffer(mc):
    device = mc.Device()
    assert str(device).startswith("metalcompute.Device(metalloid") and mc.get_devices()[0].hasUnifiedMemory
    function = device.kernel(PROGRAM).function("test")
    values = array("f", [0.0, 1.0, 2.0, 3.0])
    out = device.buffer(16)
    function(4, values, out)
    assert np.allclose(np.frombuffer(out, np.float32), np.sin(values), rtol=1e-6)
    assert len(memoryview(out)) == 16 and str(out) == "metalcompute.Buffer(length=16)"
    handles = [function(4, out, out) for _ in range(3)]
    del handles
    assert np.allclose(np.frombuffer(out, np.float32), np.sin(np.sin(np.sin(np.sin(values)))), rtol=1e-5)
    memoryview(out)[:] = bytes(16)
    assert not out.any()


def test_a_piece_of_a_buffer_is_that_piece_and_what_numpy_makes_of_one_is_no_buffer(mc):
    device = mc.Device()
    function, values = device.kernel(PROGRAM).function("test"), np.arange(8, dtype=np.float32)
    given, out = device.buffer(values), device.buffer(32)
    function(4, given[16:], out[16:])
    function(4, given.view(np.float32) * 2, out)
    assert np.allclose(out.view(np.float32), np.sin([0, 2, 4, 6, 4, 5, 6, 7]), rtol=1e-5)


def test_the_simple_functions(mc):
    mc.init()
    mc.compile(PROGRAM, "test")
    out = array("f", [9.0] * 3)
    mc.run(array("f", [0.0, 1.0, 2.0]), out, 3)
    assert np.allclose(out, np.sin([0.0, 1.0, 2.0]), rtol=1e-6)
    mc.rerun(3)
    mc.release()
    with pytest.raises(mc.error, match="Not ready to compute"):
        mc.run(out, out, 3)


def test_what_goes_wrong_is_its_error(mc):
    device = mc.Device(0)
    with pytest.raises(mc.error, match="Cannot create device"):
        mc.Device(7)
    with pytest.raises(mc.error, match="program_source:1"):
        device.kernel("kernel void f(device float* x) { y[0] = 1; }")
    with pytest.raises(mc.error, match="Failed to find function"):
        device.kernel(PROGRAM).function("none")
    function = device.kernel(PROGRAM).function("test")
    with pytest.raises(mc.error, match="Buffer not found"):
        function(4)
    with pytest.raises(mc.error, match="integer kernel count"):
        function("x", b"1234", b"1234")
    with pytest.raises(mc.error, match="Unsupported input format"):
        device.buffer("text")
