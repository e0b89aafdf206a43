"""Memory that is known by several names, or that others write on the GPU: kernels see what is there."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cuda import program
from metalloid.backends.cuda.variant import Variant
from metalloid.runtime.recording import Recording
from tests.cuda.simulator.gpu import Simulated, installed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="contexts of threads are made by glibc")
TEXT = """#include <metal_stdlib>
using namespace metal;
struct Pointer { device int* at; };
kernel void twice(device float* y, constant float* x, uint i [[thread_position_in_grid]]) { y[i] = x[i % 4] * 2; }
kernel void more(device float* y, device const float* x, uint i [[thread_position_in_grid]]) { y[i] = x[i] + 1; }
kernel void grow(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }
kernel void count(device float* y, device const float* x, uint i [[thread_position_in_grid]]) {
    for (int k = 0; k < 5; k++) y[i] = x[i] + 1;
}
kernel void ends(device Pointer& p, constant int* n, device int* y) {
    int c = 0;
    for (int k = 0; k < n[0] && k < 20; k++) {
        if (k == 3) *p.at = 5;
        c++;
    }
    y[0] = c;
}
kernel void fours(device const float4* x, device const float* y, device float* z, uint i [[thread_position_in_grid]]) {
    z[i] = dot(x[i], float4(1)) + y[i];
}"""


class Theirs:
    """An array of another library on the GPU."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": "<f4", "data": (address, False), "version": 3,
        }  # fmt: skip


@pytest.fixture
def device() -> Iterator[mt.Device]:
    with installed():
        if not isinstance(program.memory().gpu, Simulated):
            pytest.skip("memory of a GPU is not written from here")
        yield mt.device("cuda")


def on_gpu(address: int, size: int) -> np.ndarray[Any, Any]:
    return np.ctypeslib.as_array((ctypes.c_float * size).from_address(address))


def test_a_small_buffer_that_a_kernel_changed_does_not_travel_as_it_was(device: mt.Device) -> None:
    library = device.library(TEXT)
    x, y = device.buffer(np.arange(4, dtype=np.float32)), device.zeros(64)
    for _ in range(8):
        library["twice"](y, x, grid=64, threadgroup=64)
        library["grow"](x, grid=4, threadgroup=4)
    library["twice"](y, x, grid=64, threadgroup=64)
    assert (y.numpy()[:4] == (np.arange(4) + 8) * 2).all()


def test_a_slice_that_is_written_beside_one_that_travels_comes_back(device: mt.Device) -> None:
    whole = device.buffer(np.ones(68, np.float32))
    device.library(TEXT)["twice"](whole[:64], whole[64:], grid=64, threadgroup=64)
    assert whole.numpy().tolist() == [2] * 64 + [1] * 4


def test_arrays_of_others_that_overlap_are_the_same_memory(device: mt.Device) -> None:
    count = device.library(TEXT)["count"]
    address = program.memory().gpu.take(64)
    seen = on_gpu(address, 16)
    seen[:] = 0
    count(Theirs(address, 8), Theirs(address, 4), grid=4, threadgroup=4, overlap=True)
    assert seen[:5].tolist() == [5, 5, 5, 5, 0]


def test_pages_that_stood_for_arrays_of_others_stand_for_others(
    device: mt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code for two arrays that lie apart is not that for two which overlap, where the same pages stand for them."""
    count, memory = device.library(TEXT)["count"], program.memory()
    far, near = memory.gpu.take(4096), memory.gpu.take(64)
    pages = itertools.cycle([mmap.mmap(-1, 4096), mmap.mmap(-1, 4096)])
    monkeypatch.setattr("metalloid.backends.cuda.memory.mmap.mmap", lambda _, size: next(pages))
    sizes = {"grid": 4, "threadgroup": 4}
    for _ in range(4):
        count(device.buffer(Theirs(far, 8)), device.buffer(Theirs(far + 1024, 4)), **sizes)
    memory._foreign.update({(-n, 1): np.zeros(1, np.uint8) for n in range(300)})  # too many: none is kept
    seen = on_gpu(near, 16)
    seen[:] = 0
    count(device.buffer(Theirs(near, 8)), device.buffer(Theirs(near, 4)), **sizes)
    assert seen[:5].tolist() == [5, 5, 5, 5, 0]


def test_a_recording_waits_for_what_others_know_by_another_name(
    device: mt.Device, made: list[Variant]
) -> None:
    library = device.library(TEXT)
    address = program.memory().gpu.take(64)
    y, run = device.zeros(4), Recording()
    run.add(library["grow"], Theirs(address, 8), grid=8, threadgroup=8)
    run.add(library["more"], y, Theirs(address, 4), grid=4, threadgroup=4)
    run.run()
    assert made[-1].early == frozenset({0})


def test_what_others_write_is_seen(device: mt.Device) -> None:
    library = device.library(TEXT)
    address = program.memory().gpu.take(64)
    given = device.zeros(4)
    mine = on_gpu(given.__cuda_array_interface__["data"][0], 4)
    y = device.zeros(4)
    for seen, buffer in ((on_gpu(address, 4), device.buffer(Theirs(address, 4))), (mine, given)):
        for n in range(3):
            seen[:] = n
            library["twice"](y, buffer, grid=4, threadgroup=4)
            assert (y.numpy() == 2 * n).all()
        for n in range(3, 6):
            seen[:] = n
            assert (buffer.numpy() == n).all()
            seen[:] = n + 10
            library["more"](y, buffer, grid=4, threadgroup=4)  # the host has looked, and changed nothing
            assert (y.numpy() == n + 11).all() and (seen == n + 10).all()
        view = buffer.numpy()
        view[:] = 7
        library["more"](y, buffer, grid=4, threadgroup=4)
        assert (y.numpy() == 8).all() and (seen == 7).all()
        seen[:] = 9
        library["grow"](buffer, grid=4, threadgroup=4)
        assert (view == 10).all()


def test_what_pointers_lead_to_does_not_travel(device: mt.Device) -> None:
    n, y = device.buffer(np.array([9], np.int32)), device.zeros(1, np.int32)
    device.library(TEXT)["ends"]({"at": n}, n, y, grid=1, threadgroup=1, overlap=True)
    assert (y.numpy()[0], n.numpy()[0]) == (5, 5)


@pytest.mark.parametrize("recorded", [False, True])
def test_copies_of_arrays_that_overlap_are_aligned_as_they_are_said_to_be(
    recorded: bool, device: mt.Device, made: list[Variant]
) -> None:
    fours = device.library(TEXT)["fours"]
    x, z = np.arange(80, dtype=np.float32), np.zeros(13, np.float32)
    one, two = (x[13:77], x[:13]) if recorded else (x[1:65], x[:13])  # side by side; over each other
    if recorded:
        run = Recording()
        run.add(fours, one, two, z, grid=13, threadgroup=13)
        run.run()
    else:
        fours(one, two, z, grid=13, threadgroup=13)
    assert np.allclose(z, one[:52].reshape(13, 4).sum(1) + two)
    # Four floats are four loads: a GPU ends for good at an address that is not aligned.
    assert not made[-1].even
