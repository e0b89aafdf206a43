"""Room in a heap is free when nobody has its buffer any more: commands that have not run have theirs, as in Metal."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt

TEXT = """#include <metal_stdlib>
kernel void copy(device const float* x, device float* y, uint i [[thread_position_in_grid]]) { y[i] = x[i]; }
kernel void follow(constant ulong* address, device float* y, uint i [[thread_position_in_grid]]) {
    y[i] = reinterpret_cast<device const float*>(address[0])[i]; }
"""
DEVICE = mt.device("cpu")
HEAP = DEVICE.heap(4096)


@pytest.fixture(scope="module")
def library():
    return DEVICE.library(TEXT)


def of_heap(value, count=8, dtype=np.float32):
    made = HEAP.buffer(count, dtype)
    made.numpy()[:] = value
    return made


def copied(library, commands, out):
    with commands.compute_encoder() as encoder:
        encoder.dispatch(library["copy"], of_heap(7), out, grid=8)


def followed(library, commands, out):
    with commands.compute_encoder() as encoder:
        x = of_heap(7)
        encoder.use_resource(x)
        encoder.dispatch(library["follow"], np.array([x.address], np.uint64), out, grid=8)


def counted(library, commands, out):
    with commands.compute_encoder() as encoder:
        encoder.set_pipeline(library["copy"])
        encoder.set_buffer(np.full(8, 7, np.float32), index=0)
        encoder.set_buffer(out, index=1)
        encoder.dispatch_threadgroups_indirect(of_heap((2, 1, 1), 3, np.uint32), 4)


def blitted(library, commands, out):
    with commands.blit_encoder() as encoder:
        encoder.copy(of_heap(7), out)


@pytest.mark.parametrize("encode", [copied, followed, counted, blitted])
def test_commands_keep_the_room_of_their_buffers(library, encode):
    out, commands = DEVICE.zeros(8), DEVICE.queue().command_buffer()
    encode(library, commands, out)
    other = of_heap(0)
    commands.commit()
    commands.wait_until_completed()
    assert (out.numpy() == 7).all() and (other.numpy() == 0).all()
    del other, commands
    assert HEAP.used_size == 0
