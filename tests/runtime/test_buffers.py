"""Buffers share memory where they can; the pool uses memory again; devices leave nothing behind."""

from __future__ import annotations

import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

import metalloid as mt
from metalloid.errors import DeviceError, LaunchError
from metalloid.runtime.pool import PAGE, Pool, size_class

DOUBLE = """#include <metal_stdlib>
kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }
kernel void bf(device bfloat* x, uint i [[thread_position_in_grid]]) { x[i] = bfloat(float(x[i]) * 2.0f); }
"""


@pytest.fixture(scope="module")
def library():
    return mt.device().library(DOUBLE)


def test_host_and_kernel_see_the_same_bytes(library):
    array = np.arange(8, dtype=np.float32)
    buffer = mt.device().buffer(array)
    assert buffer.shared and buffer.numpy() is array
    for _ in range(2):
        library["twice"](buffer, grid=8)
    assert (array == np.arange(8) * 4).all()


@pytest.mark.parametrize(
    "array", [np.ones(16, np.float32)[::2], np.frombuffer(bytes(32), np.float32), [1.0, 2.0], np.float32(3)]
)
def test_memory_that_cannot_be_shared_is_copied(array):
    device = mt.device()
    buffer = device.buffer(array)
    assert not buffer.shared and buffer.dtype == np.float32 and (buffer.numpy() == np.asarray(array)).all()
    assert buffer.address % PAGE == 0
    with pytest.raises(DeviceError, match="copy=False"):
        device.buffer(array, copy=False)


def test_copies_are_made_when_asked_for():
    array = np.ones(4, np.float32)
    buffer = mt.device().buffer(array, copy=True)
    buffer.copy_from(np.arange(4, dtype=np.float32))
    assert (array == 1).all() and buffer.copy_to().tolist() == [0, 1, 2, 3]
    out = np.zeros((2, 2), np.float32)
    assert buffer.copy_to(out) is out and out.tolist() == [[0, 1], [2, 3]]
    with pytest.raises(LaunchError, match="holds float32"):
        buffer.copy_from(np.arange(4))


def test_slices_and_views_share_memory(library):
    buffer = mt.device().zeros(16, np.float32)
    buffer.numpy()[:] = 1
    library["twice"](buffer[4:8], grid=4)
    assert buffer.numpy().tolist() == [1] * 4 + [2] * 4 + [1] * 8
    half = buffer.view(np.uint16, offset=16, nbytes=16)
    assert half.shape == (8,) and half.numpy()[1] == np.float32(2).view(np.uint32) >> 16
    for copied in (slice(None, None, 2), [1, 2], np.arange(16) > 12):
        with pytest.raises(LaunchError, match="not a contiguous piece"):
            buffer[copied]
    with pytest.raises(LaunchError, match="no whole, aligned number"):
        buffer.view(np.float32, offset=2)


def test_numpy_copies_where_it_is_asked_to(library):
    buffer = mt.device().buffer([1.0, 2.0])
    before, same = np.array(buffer), np.asarray(buffer)
    library["twice"](buffer, grid=2)
    assert before.tolist() == [1, 2] and same.tolist() == [2, 4]
    assert np.array(buffer, np.float64).tolist() == [2, 4]
    with pytest.raises(ValueError, match="no float64 without a copy"):
        np.array(buffer, np.float64, copy=False)


def test_bfloat16_and_structs(library):
    buffer = mt.device().zeros(4, "bfloat16")
    assert buffer.dtype == ml_dtypes.bfloat16
    buffer.numpy()[:] = 1.5
    library["bf"](buffer, grid=4)
    assert (buffer.numpy() == 3).all()
    assert mt.device().zeros(3, [("a", "f4"), ("b", "i4")]).nbytes == 24


def test_a_released_buffer_cannot_be_used(library):
    buffer = mt.device().zeros(4)
    piece = buffer[:2]
    buffer.release()
    for thing in (buffer, piece):
        with pytest.raises(LaunchError, match="used after release"):
            library["twice"](thing, grid=2)
        with pytest.raises(LaunchError, match="used after release"):
            thing.numpy()
    assert repr(buffer) == "Buffer(released)"


def test_a_buffer_of_another_device_is_refused(library):
    buffer = mt.Device("cpu").zeros(4)
    with pytest.raises(LaunchError, match="is a buffer of <device cpu>"):
        library["twice"](buffer, grid=4)


def test_memory_is_used_again_by_size_class():
    pool = Pool()
    first = pool.allocate(5000)
    address = first.ctypes.data
    assert address % PAGE == 0 and first.nbytes == 5000
    del first
    again = pool.allocate(6000)
    assert again.ctypes.data == address
    stats = pool.stats()
    assert (stats.hits, stats.misses, stats.bytes_in_use, stats.bytes_held) == (1, 1, 2 * PAGE, 0)
    assert size_class(1) == PAGE and all(
        size_class(n) >= n and size_class(n) < 1.26 * n + PAGE for n in range(1, 10**6, 997)
    )


def test_an_array_keeps_its_memory_from_being_used_again():
    device = mt.Device("cpu")
    buffer = device.zeros(1000)
    array = buffer.numpy()[10:20]
    buffer.release()
    del buffer
    other = device.empty(1000)
    other.numpy().fill(7)
    assert (array == 0).all()
    del array, other
    assert device.pool.stats().bytes_in_use == 0


def test_a_pool_holds_no_more_than_its_capacity():
    pool = Pool(capacity=10 * PAGE)
    blocks = [pool.allocate(n * PAGE) for n in (1, 2, 3, 4, 5)]
    assert pool.stats().peak == 15 * PAGE
    del blocks
    assert 0 < pool.stats().bytes_held <= 10 * PAGE
    pool.capacity = 0
    assert pool.stats().bytes_held == 0
    pool.allocate(PAGE)
    assert pool.stats().bytes_held == 0


def test_a_thousand_devices_leave_nothing_behind():
    gone = []
    for _ in range(1000):
        device = mt.Device("cpu")
        buffer = device.zeros(1 << 18)  # a megabyte each: a gigabyte if nothing were freed
        gone += [weakref.ref(device), weakref.ref(device.pool), weakref.ref(buffer)]
    del device, buffer
    gc.collect()
    assert not any(reference() for reference in gone)


@pytest.mark.parametrize("numbers", [1 << 50, [1, -(1 << 40)], [[1 << 31]]])
def test_whole_numbers_that_do_not_fit_are_refused(numbers):
    with pytest.raises(DeviceError, match="does not fit int32"):
        mt.device("cpu").buffer(numbers)
    wide = mt.device("cpu").buffer(numbers, dtype="int64").numpy()
    assert np.array_equal(wide, np.array(numbers))
