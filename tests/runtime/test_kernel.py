"""Calling a kernel: arguments by order and by name, scalars by signature, grids of both kinds."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import metalloid as mt
from metalloid.errors import LaunchError

TEXT = """#include <metal_stdlib>
using namespace metal;
struct Args { float scale; int shift; };
kernel void axpy(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], constant float& a [[buffer(2)]],
                 constant uint& n [[buffer(3)]], uint i [[thread_position_in_grid]]) { if (i < n) y[i] += a * x[i]; }
kernel void scale(device float* x, constant Args& args, uint i [[thread_position_in_grid]]) {
    x[i] = x[i] * args.scale + args.shift; }
kernel void local(device int* out, threadgroup int* s [[threadgroup(0)]], uint t [[thread_index_in_threadgroup]],
                  uint g [[threadgroup_position_in_grid]]) {
    s[t] = int(t); threadgroup_barrier(mem_flags::mem_threadgroup); out[g * 64 + t] = s[63 - t]; }
"""


@pytest.fixture(scope="module")
def library():
    return mt.device().library(TEXT)


def test_kernels_are_listed(library):
    assert set(library.kernels) == {"axpy", "scale", "local"}


def test_arguments_in_order_and_by_name(library):
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    library["axpy"](x, y, 2.0, 100, grid=128, threadgroup=64)
    library["axpy"](x, y=y, a=1, n=50, grid=100)
    expected = 1 + 2 * x
    expected[:50] += x[:50]
    np.testing.assert_array_equal(y, expected)


def test_structs_buffers_and_threadgroup_memory(library):
    device = mt.device("cpu")
    b = device.buffer(np.arange(10, dtype=np.float32))
    library["scale"](b, {"scale": 0.5, "shift": 3}, grid=10)
    np.testing.assert_array_equal(b.numpy(), np.arange(10) * 0.5 + 3)
    out = device.zeros(128, np.int32)
    library["local"](out, threadgroups=2, threadgroup=64, threadgroup_memory={0: 256})
    np.testing.assert_array_equal(out.numpy(), np.tile(np.arange(63, -1, -1), 2))


@pytest.mark.parametrize(
    ("arguments", "more", "says"),
    [
        ((np.zeros(4), np.zeros(4, np.float32), 1, 4), {"grid": 4}, "array of float64"),
        ((np.zeros(4, np.float32),), {"grid": 4}, "'y'"),
        ((np.zeros(8, np.float32)[::2], np.zeros(4, np.float32), 1, 4), {"grid": 4}, "not contiguous"),
        ((np.zeros(4, np.float32), np.zeros(4, np.float32), 1, -4), {"grid": 4}, "-4 does not fit"),
        ((np.zeros(4, np.float32), np.zeros(4, np.float32), 1, 4), {}, "needs either grid="),
        (
            (np.zeros(4, np.float32), np.zeros(4, np.float32), 1, 4),
            {"grid": 4, "threadgroup": 2048},
            "2048 threads",
        ),
        ((np.zeros(4, np.float32), np.zeros(4, np.float32), 1, 4, 5), {"grid": 4}, "takes 4 arguments"),
    ],
)
def test_mistakes_are_refused_before_anything_runs(library, arguments, more, says):
    with pytest.raises(LaunchError, match=says):
        library["axpy"](*arguments, **more)


def test_importing_is_quick_and_loads_no_compiler():
    code = "import sys, metalloid; assert 'llvmlite' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_fault_shows_the_line_and_says_what_to_do():
    text = """#include <metal_stdlib>
using namespace metal;
kernel void scale(device float* y [[buffer(0)]], device const float* x [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
    y[i] = 2 * x[i];
}
"""
    scale = mt.device().library(text, name="scale.metal")["scale"]
    for _ in range(2):  # the long road and the short one
        with pytest.raises(mt.KernelFault) as caught:
            scale(np.zeros(16, np.float32), np.zeros(17, np.float32), grid=17)
        assert str(caught.value) == (
            "scale.metal:5:5: M102 out-of-bounds write, 4 bytes past 'y' (64 bytes)\n"
            "    y[i] = 2 * x[i];\n"
            "    ^ thread (16,0,0), threadgroup (0,0,0)\n"
            "    hint: the grid has 17 threads and y 16 elements; return before this line where the index is"
            " not below 16"
        )
    finding = caught.value.finding
    assert (finding.rule, finding.buffer, finding.thread) == ("M102", "y", (16, 0, 0))
    endless = mt.device().library(text.replace("y[i] = 2 * x[i]", "while (x[i] == 0) { y[i] += 1; }"))[
        "scale"
    ]
    with pytest.raises(mt.KernelFault, match=r"(?s)still running after 0.2 s.*hint: look for a loop"):
        endless(np.zeros(16, np.float32), np.zeros(16, np.float32), grid=16, timeout=0.2)


@pytest.mark.parametrize("threads", [32, 100, 1024])
def test_a_loop_that_is_closed_by_barriers_alone_can_be_stopped(threads: int):
    """More threads than one gang holds: the loop is not inside any region, only the driver goes round."""
    kernel = mt.device().library(
        "#include <metal_stdlib>\nusing namespace metal;\n"
        "kernel void waits(device int* x, uint i [[thread_position_in_threadgroup]]) {\n"
        "    threadgroup int f;\n    if (i == 0) f = x[0];\n    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
        "    while (f == 0) threadgroup_barrier(mem_flags::mem_threadgroup);\n    x[i] = f;\n}\n"
    )["waits"]
    with pytest.raises(mt.KernelFault, match=r"still running after 0\.3 s"):
        kernel(np.zeros(threads, np.int32), grid=threads, threadgroup=threads, timeout=0.3)
