"""Lanes that store every second, third, ... element: vectors with gaps, between which nothing is touched."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.lower.access import patterns

TYPES = {"float": np.float32, "half": np.float16, "ushort": np.uint16, "int": np.int32, "long": np.int64}

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
GUARDS = (True, False, "robust")

DEVICE = """kernel void k(device const {T}* x, device {T}* y, constant uint& n, uint i [[thread_position_in_grid]]) {{
    if (i < n) y[{step} * i + {first}] = x[i] + {T}(1);
}}"""

# Through threadgroup memory, by the lower lanes only, in the steps of a tree; from a place that is looked up, or the
# array would live in registers.
TREE = """kernel void k(device const {T}* x, device {T}* y, constant uint& at,
                      uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {{
    threadgroup {T} s[2048];
    for (uint j = t; j < 2048; j += 256) s[j] = x[g * 2048 + j];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < {lanes}) s[at + {step} * t + {first}] += s[at + {step} * t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = t; j < 2048; j += 256) y[g * 2048 + j] = s[j];
}}"""

ROWS = """kernel void k(device const {T}* x, device {T}* y, uint i [[thread_position_in_grid]]) {{
    {T} a = x[i];
    {parts}
}}"""


def _numbers(count, kind):
    return (np.arange(count) * 7 % 251).astype(TYPES[kind])


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("step, first", [(2, 1), (5, 2), (9, 0)])
def test_every_so_many_elements(kind, step, first):
    kernel = mt.device("cpu").library(HEAD + DEVICE.format(T=kind, step=step, first=first))["k"]
    for guard, n in itertools.product(GUARDS, (256 * 3, 1000, 37)):
        x, y = _numbers(n, kind), np.full(step * n + 16, 99, TYPES[kind])
        kernel(x, y, np.uint32(n), grid=n, threadgroup=256, guard=guard)
        wanted = np.full_like(y, 99)
        wanted[first : first + step * n : step] = x + TYPES[kind](1)
        np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("step, lanes, first", [(2, 256, 1), (4, 128, 2), (8, 100, 5)])
def test_lower_lanes_of_a_threadgroup(kind, step, lanes, first):
    kernel = mt.device("cpu").library(HEAD + TREE.format(T=kind, step=step, lanes=lanes, first=first))["k"]
    for guard in GUARDS:
        x, y = _numbers(3 * 2048, kind), np.full(3 * 2048, 99, TYPES[kind])
        kernel(x, y, np.uint32(0), grid=3 * 256, threadgroup=256, guard=guard)
        wanted = x.copy().reshape(3, 2048)
        wanted[:, first : first + step * lanes : step] += wanted[:, : step * lanes : step].copy()
        np.testing.assert_array_equal(y.reshape(3, 2048), wanted)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("count", [2, 3])
def test_neighbours_of_each_lane(kind, count):
    parts = "\n    ".join(f"y[{count} * i + {c}] = a * {kind}({c + 1});" for c in range(count))
    kernel = mt.device("cpu").library(HEAD + ROWS.format(T=kind, parts=parts))["k"]
    for guard, n in itertools.product(GUARDS, (512, 333)):
        x, y = _numbers(n, kind) % 16, np.full(count * n, 99, TYPES[kind])
        kernel(x, y, grid=n, threadgroup=128, guard=guard)
        wanted = x[:, None] * np.arange(1, count + 1).astype(TYPES[kind])
        np.testing.assert_array_equal(y.reshape(n, count), wanted)


def test_such_vectors_are_written(monkeypatch, tmp_path):
    if not codegen.host().info.scatters:
        pytest.skip("a processor that stores vectors with gaps")
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path))
    real, written = patterns._store_with_gaps, []
    monkeypatch.setattr(patterns, "_store_with_gaps", lambda *given: (written.append(1), real(*given))[1])
    kernel = mt.device("cpu").library(HEAD + TREE.format(T="float", step=2, lanes=256, first=1))["k"]
    x, y = _numbers(2048, "float"), np.zeros(2048, np.float32)
    kernel(x, y, np.uint32(0), grid=256, threadgroup=256)
    assert written
