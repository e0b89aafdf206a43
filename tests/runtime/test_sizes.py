"""Grids, threadgroups and threadgroup memory: what is refused, what is warned about."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import metalloid as mt
from metalloid.errors import LaunchError
from metalloid.runtime.places import LaunchWarning

TEXT = """#include <metal_stdlib>
using namespace metal;
kernel void fill(device int* out, uint i [[thread_position_in_grid]]) { out[i] = int(i); }
kernel void rows(device int* out, uint i [[thread_position_in_grid]]) {
    for (uint k = 0; k < 64; k++) out[i * 64 + k] = int(i); }
kernel void groups(device int* out, uint g [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    if (t == 0) out[g] = int(g); }
[[max_total_threads_per_threadgroup(64)]]
kernel void narrow(device int* out, uint i [[thread_position_in_grid]]) { out[i] = int(i); }
kernel void local(device int* out, threadgroup int* a [[threadgroup(0)]], threadgroup int* b [[threadgroup(1)]],
                  uint t [[thread_index_in_threadgroup]]) {
    threadgroup int own[16]; own[t % 16] = 1; a[t] = int(t); b[t] = 2;
    threadgroup_barrier(mem_flags::mem_threadgroup); out[t] = a[t] + b[t] + own[0] - 1; }
"""


@pytest.fixture(scope="module")
def library():
    return mt.device().library(TEXT)


@pytest.fixture
def out():
    return np.full(64, -1, np.int32)


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({"grid": 0}, "M301 grid is 0: no thread would run"),
        ({"grid": (8, 0)}, "M301"),
        ({"threadgroups": 0, "threadgroup": 8}, "M301 threadgroups is 0"),
        ({"grid": 8, "threadgroup": 0}, "M301 threadgroup is 0"),
        ({"grid": -8}, "grid is -8; no axis can be negative"),
        ({"grid": 8, "threadgroup": (8, -1)}, "negative"),
        ({"grid": 8.0}, "grid is 8.0; pass 1 to 3 whole numbers"),
        ({"grid": "8"}, "whole numbers"),
        ({"grid": True}, "whole numbers"),
        ({"grid": (1, 2, 3, 4)}, "1 to 3"),
        ({"grid": ()}, "1 to 3"),
        ({"grid": 2**32}, "fewer than 2\\^32"),
        ({"threadgroups": 2**31, "threadgroup": 8}, "fewer than 2\\^32"),
        ({"grid": 8, "threadgroup": 1025}, "M302 .* 1025 threads; this device allows 1024"),
        ({"grid": 8, "threadgroup": (32, 32, 2)}, "2048 threads"),
        ({}, "needs either grid="),
        ({"grid": 8, "threadgroups": 1}, "needs either grid="),
        ({"threadgroups": 1}, "needs threadgroup="),
        ({"grid": 8, "threadgroup_memory": {0: 64}}, "entry for 0; the kernel takes none"),
    ],
)
def test_sizes_that_cannot_be(library, out, sizes, says):
    with pytest.raises(LaunchError, match=says) as caught:
        library["fill"](out, **sizes)
    assert "kernel void fill(" in str(caught.value), "a refusal shows the signature"
    assert (out == -1).all()


def test_a_size_that_was_fine_before_is_still_looked_at(library, out):
    library["fill"](out, grid=64, threadgroup=64)
    library["fill"](out, grid=(64, 1, 1), threadgroup=(64, 1, 1))
    library["fill"](out, threadgroups=1, threadgroup=64)
    for sizes in (
        {"grid": 64.0, "threadgroup": 64},
        {"grid": 64, "threadgroup": 64.0},
        {"grid": (64.0, 1, 1), "threadgroup": (64, 1, 1)},
        {"grid": (64, True, 1), "threadgroup": (64, 1, 1)},
        {"grid": (64, 1, 1), "threadgroup": (64, 1.0, 1)},
        {"threadgroups": 1.0, "threadgroup": 64},
    ):
        with pytest.raises(LaunchError, match="whole numbers"):
            library["fill"](out, **sizes)


def test_the_pipelines_own_limit_holds(library, out):
    assert library["narrow"].max_threads_per_threadgroup == 64
    with pytest.raises(LaunchError, match="128 threads; this kernel's limit is 64"):
        library["narrow"](out, grid=64, threadgroup=128)
    library["narrow"](out, grid=64)
    assert (out == np.arange(64)).all()


@pytest.mark.parametrize(
    ("memory", "says"),
    [
        (None, "M108 'a' is threadgroup memory"),
        ({0: 256}, "M108 'b'"),
        ({0: 256, 1: 256, 2: 16}, "entry for 2; the kernel takes 0 \\('a'\\), 1 \\('b'\\)"),
        ({0: 256, "c": 256}, "entry for 'c'"),
        ({0: 0, 1: 256}, "is 0; pass a number of bytes"),
        ({0: -4, 1: 256}, "is -4"),
        ({0: 2.5, 1: 256}, "is 2.5"),
        ({0: 32768, 1: 16}, "M303 threadgroup memory is 32848 bytes \\(64 declared"),
    ],
)
def test_threadgroup_memory_that_cannot_be(library, out, memory, says):
    with pytest.raises(LaunchError, match=says):
        library["local"](out, grid=64, threadgroup=64, threadgroup_memory=memory)
    assert (out == -1).all()


def test_threadgroup_memory_by_index_and_by_name(library, out):
    for memory in ({0: 256, 1: 256}, {"a": 256, "b": 256}):
        out[:] = -1
        library["local"](out, grid=64, threadgroup=64, threadgroup_memory=memory)
        assert (out == np.arange(64) + 2).all()


def test_a_grid_that_looks_like_a_count_of_threadgroups(library):
    out = np.zeros(1024, np.int32)

    def launch() -> None:
        library["fill"](out, grid=4, threadgroup=256)

    with pytest.warns(LaunchWarning, match="M304 .*grid=\\(4, 1, 1\\) looks like a count of threadgroups"):
        launch()
    with warnings.catch_warnings(record=True) as again:
        warnings.simplefilter("always")
        launch()
    assert not again, "once per place"
    with pytest.warns(LaunchWarning, match="the kernel works by threadgroups"):
        library["groups"](np.zeros(4, np.int32), grid=4, threadgroup=256)


def test_grids_that_only_look_a_little_like_it_are_left_alone(library):
    out = np.zeros(1024, np.int32)
    library["fill"](out, grid=1024, threadgroup=256)
    library["fill"](out, threadgroups=4, threadgroup=256)
    library["fill"](out, grid=100, threadgroup=256)
    library["rows"](out, grid=16, threadgroup=64)  # every thread writes 64 elements
    library["groups"](np.zeros(4, np.int32), grid=1024, threadgroup=256)
