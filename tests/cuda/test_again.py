"""A launch that is repeated as it was: not looked at again, and never with what has changed since."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from unittest import mock

import numpy as np
import pytest

import metalloid as mt
from metalloid.runtime.plan import Plan
from tests.cuda.simulator.gpu import installed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="contexts of threads are made by glibc")
ADD = """#include <metal_stdlib>
using namespace metal;
kernel void add(device float* y, device const float* x, constant uint& n, uint i [[thread_position_in_grid]]) {
    y[i] = x[i] + float(n);
}"""


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with installed():
        yield


def test_what_repeats_is_not_looked_at_and_what_changed_is() -> None:
    device = mt.device("cuda")
    add = device.library(ADD, math="safe")["add"]
    x, y, z = device.buffer(np.arange(64, dtype=np.float32)), device.zeros(64), device.zeros(64)

    def run(out: mt.Buffer, n: int) -> None:
        add(out, x, n, grid=64, threadgroup=64)

    for _ in range(4):
        run(y, 3)
    with mock.patch.object(Plan, "bind", side_effect=AssertionError("looked at")):
        run(y, 3)
    assert (y.numpy() == np.arange(64) + 3).all()
    for out, n in ((y, 4), (z, 3), (y, 3), (z, 5)):
        run(out, n)
        assert (out.numpy() == np.arange(64) + n).all()
    run(y, 3)
    run(y, 3)
    x.numpy()[:] = 100  # the host writes: the next launch has to bring it
    run(y, 3)
    assert (y.numpy() == 103).all()
    with pytest.raises(mt.LaunchError):
        add(y, x, 3.5, grid=64, threadgroup=64)
    for _ in range(3):
        run(y, 3)
    y.release()
    with pytest.raises(mt.LaunchError, match="M309"):
        run(y, 3)


def test_a_fault_of_a_repeated_launch_is_told() -> None:
    device = mt.device("cuda")
    text = ADD.replace("y[i] =", "y[i + (x[0] > 5 ? 1 : 0)] =")
    add = device.library(text, math="safe")["add"]
    x, y = device.zeros(64), device.zeros(64)
    for _ in range(3):
        add(y, x, 3, grid=64, threadgroup=64)
    x.numpy()[:] = 9
    for _ in range(3):
        with pytest.raises(mt.KernelFault, match="M102"):
            add(y, x, 3, grid=64, threadgroup=64)


def test_a_plan_keeps_no_buffer_alive() -> None:
    device = mt.device("cuda")
    add = device.library(ADD, math="safe")["add"]
    x, y = device.zeros(64), device.zeros(64)
    for _ in range(4):
        add(y, x, 3, grid=64, threadgroup=64)
    seen = weakref.ref(y)
    del y
    gc.collect()
    assert seen() is None
