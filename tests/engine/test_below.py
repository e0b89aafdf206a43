"""A buffer that is bound with an offset may be read below it, as negative strides do: bounds are the allocation's."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.errors import KernelFault
from tests.engine.both import HEADER, program, scalar_ir

REVERSED = """kernel void k(device const float* x, device float* y, constant int& stride, constant uint& n,
                         uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = x[int(i) * stride]; }"""


def encoded(x: object, offset: int, stride: int, threads: int) -> np.ndarray:
    device = mt.device("cpu")
    kernel, y = device.library(HEADER + REVERSED)["k"], np.full(threads, np.nan, np.float32)
    commands = device.queue().command_buffer()
    with commands.compute_encoder() as encoder:
        encoder.set_pipeline(kernel)
        encoder.set_buffer(x, offset=offset, index=0)
        encoder.set_buffer(y, index=1)
        encoder.set_bytes(np.int32(stride), index=2)
        encoder.set_bytes(np.uint32(threads), index=3)
        encoder.dispatch_threads(threads, 32)
    commands.commit()
    commands.wait_until_completed()
    if commands.error:
        raise commands.error
    return y


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("threads", [50, 64, 97])
def test_negative_strides(own: bool, threads: int) -> None:
    x = np.arange(100, dtype=np.float32)
    got = encoded(mt.device("cpu").buffer(x) if own else x, 4 * 98, -1, threads)
    np.testing.assert_array_equal(got, x[98::-1][:threads])


@pytest.mark.parametrize(
    ("offset", "stride", "message"), [(4 * 40, -1, "164 bytes before 'x'"), (4 * 90, 1, "4 bytes past 'x'")]
)
def test_the_ends_of_the_allocation_still_hold(offset: int, stride: int, message: str) -> None:
    with pytest.raises(KernelFault, match=message) as caught:
        encoded(np.arange(100, dtype=np.float32), offset, stride, 64)
    assert caught.value.finding.rule == "M101"


@pytest.mark.parametrize("width", [1, 8, 32])
def test_gathers_and_the_oracle(width: int) -> None:
    text = """kernel void k(device const int* x, device const int* at, device int* y,
                             uint i [[thread_position_in_grid]]) {
        y[i] = x[at[i]] + x[int(i & 7) - 8]; }"""
    memory = np.arange(200, dtype=np.int32) * 3
    at = np.random.default_rng(0).integers(-100, 100, 64, dtype=np.int32)
    results = []
    for run in (lambda one: interpret.run(scalar_ir(text, "k")[0], one), program(text, "k", width).run):
        y = np.zeros(64, np.int32)
        run(Launch((64, 1, 1), (32, 1, 1), {0: memory[100:], 1: at, 2: y}, below={0: 400}))
        results.append(y)
    np.testing.assert_array_equal(results[0], 3 * (100 + at) + 3 * (92 + np.arange(64) % 8))
    np.testing.assert_array_equal(results[1], results[0])
    at[5] = -101
    for run in (lambda one: interpret.run(scalar_ir(text, "k")[0], one), program(text, "k", width).run):
        with pytest.raises(KernelFault, match="offset -404"):
            run(Launch((64, 1, 1), (32, 1, 1), {0: memory[100:], 1: at, 2: results[1]}, below={0: 400}))
