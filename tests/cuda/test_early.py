"""Launches of a recording that begin before the one before them has ended: what they read before they wait."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cuda import code, graph
from metalloid.backends.cuda.ptx import compile_ptx
from metalloid.backends.cuda.variant import Variant
from metalloid.compile import scalar
from metalloid.runtime.recording import Recording
from metalloid.source import Source
from tests.cuda.simulator.gpu import installed

linux = pytest.mark.skipif(sys.platform != "linux", reason="contexts of threads are made by glibc")
SCALE = """
#include <metal_stdlib>
using namespace metal;
kernel void scale(device const float* weights, device const float* x, device float* y,
                  uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup float kept[32];
    WAY
    float w = weights[i];
    for (uint n = 0; n < 3; n++) w = w * w + x[i + n];
    kept[t] = w;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = kept[31 - t];
}"""


def ptx(way: str, early: frozenset[int] | None) -> str:
    ir = scalar(Source(SCALE.replace("WAY", way), name="k.metal"), "scale")[0]
    return compile_ptx(ir, "sm_90", Variant((32, 1, 1), False, False, True, even=True, early=early)).text


def test_a_launch_waits_before_it_reads_what_others_write() -> None:
    text = ptx("", frozenset({0}))
    lines = re.findall(r"griddepcontrol\.\w+|(?:ld|st)\.global\S*", text)
    assert lines[:3] == ["griddepcontrol.launch_dependents", "ld.global.nc.b32", "griddepcontrol.wait"]
    assert lines.count("griddepcontrol.wait") == 1  # before the loop
    assert set(lines[3:]) == {"ld.global.b32", "st.global.b32"}  # past no cache that may be older


def test_who_ends_early_waits_too() -> None:
    text = ptx("if (i % 7 == 0) return;", frozenset({0, 1}))
    assert text.count("griddepcontrol.wait") == 2


def test_alone_it_waits_for_nobody() -> None:
    assert "griddepcontrol" not in ptx("", None)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[frozenset[int] | None]]:
    """What code was made to read early, on an imitated GPU."""
    found: list[frozenset[int] | None] = []
    load = code.KernelCode.load

    def told(self: code.KernelCode, variant: Variant) -> Any:
        found.append(variant.early)
        return load(self, variant)

    monkeypatch.setattr(code.KernelCode, "load", told)
    with installed():
        yield found


def twice(name: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A recording of two launches, the second of which reads what the first writes: what came out, and what should."""
    kernel = mt.device("cuda").library(SCALE.replace("WAY", "").replace("scale", name))[name]
    w = np.linspace(0.1, 0.5, 64, dtype=np.float32)
    x, y, z = np.linspace(0, 1, 68, dtype=np.float32), *(np.full(68, 0.5, np.float32) for _ in range(2))
    run = Recording()
    for one, other in ((x, y), (y, z)):
        run.add(kernel, w, one, other, grid=64, threadgroup=32)
    run.run()
    right = x
    for _ in range(2):
        s = w.copy()
        for n in range(3):
            s = s * s + right[n : n + 64]
        right = np.concatenate([s.reshape(2, 32)[:, ::-1].reshape(-1), np.full(4, 0.5, np.float32)])
    return z, right


@linux
def test_a_recording_knows_what_nobody_writes(made: list[frozenset[int] | None]) -> None:
    assert np.allclose(*twice("soon"), rtol=1e-5)
    # The first has nobody to wait for; y is written by the first, weights by nobody, z by the second alone.
    assert set(made) == {None, frozenset({0, 2})}


@linux
def test_what_an_earlier_launch_reads_is_not_written_early(made: list[frozenset[int] | None]) -> None:
    kernel = mt.device("cuda").library(SCALE.replace("WAY", ""))["scale"]
    w = np.ones(64, np.float32)
    x, y = (np.ones(68, np.float32) for _ in range(2))
    run = Recording()
    run.add(kernel, w, x, y, grid=64, threadgroup=32)
    run.add(kernel, w, y, x, grid=64, threadgroup=32)
    run.run()
    assert set(made) == {None, frozenset({0})}


@linux
@pytest.mark.parametrize("small", [0, 1 << 16])
def test_arrays_of_the_callers_come_and_go(
    made: list[frozenset[int] | None], monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    monkeypatch.setattr(graph, "SMALL", small)
    kernel = mt.device("cuda").library(SCALE.replace("WAY", ""))["scale"]
    w, x, y = np.ones(32, np.float32), np.zeros(34, np.float32), np.full(32, -1, np.float32)
    run = Recording()
    run.add(kernel, w, x, y, grid=32, threadgroup=32)
    for value in (0, 1):
        x[:] = value
        run.run()
        assert (y == (1, 26)[value]).all()


@linux
def test_a_long_launch_begins_when_the_one_before_has_ended(
    made: list[frozenset[int] | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "FEW", 0)
    assert np.allclose(*twice("later"), rtol=1e-5)
    assert set(made) == {None}
