"""Short vectors of lanes that lie anywhere: gathers and scatters of words."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends import interpret
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.errors import KernelFault
from metalloid.runtime.guarding import OutsideWarning
from tests.engine.both import HEADER, LESSER, WIDE, launch, same, scalar_ir

VECTORS = {
    "float2": (np.float32, 2),
    "int2": (np.int32, 2),
    "half2": (np.float16, 2),
    "half4": (np.float16, 4),
    "ushort2": (np.uint16, 2),
    "short4": (np.int16, 4),
    "uchar4": (np.uint8, 4),
    "float4": (np.float32, 4),
}

# `at` sends every lane to a place of its own.
MOVED = """kernel void k(device const {T}* x, device const uint* at, device {T}* y, constant uint& n,
                         uint i [[thread_position_in_grid]]) {{
    {T} a = x[at[i]], b = x[at[i] / 2 + 1];
    y[at[n - 1 - i]] = a + b * {T}(3);
}}"""

SHARED = """kernel void k(device const {T}* x, device const uint* at, device {T}* y, uint i [[thread_position_in_grid]],
                          uint t [[thread_position_in_threadgroup]]) {{
    threadgroup {T} s[128];
    s[at[t]] = x[i] * {T}(2);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    {T} a = s[at[127 - t]];
    if (at[i] % 3 != 0) a += s[(at[t] * 5 + 7) % 128];
    y[i] = a;
}}"""


def _data(vector: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    kind, parts = VECTORS[vector]
    random = np.random.default_rng(count)
    return random.integers(0, 9, (count, parts)).astype(kind), random.permutation(count).astype(np.uint32)


@pytest.mark.parametrize("vector", VECTORS)
@pytest.mark.parametrize("guard", [True, False])
def test_lanes_anywhere_in_a_buffer(vector, guard):
    for n in (256, 193):
        x, at = _data(vector, n)
        same(
            MOVED.format(T=vector), [x, at, np.full_like(x, 77), np.array([n], np.uint32)], n, 64, guard=guard
        )


@pytest.mark.parametrize("vector", VECTORS)
def test_lanes_anywhere_in_threadgroup_memory(vector):
    x, _ = _data(vector, 384)
    _, at = _data(vector, 128)
    same(SHARED.format(T=vector), [x, np.tile(at, 3), np.full_like(x, 77)], 384, 128)


def test_the_last_of_lanes_that_meet_stays():
    kernel = mt.device("cpu").library(HEADER + MOVED.format(T="int2"))["k"]
    x, _ = _data("int2", 256)
    at = np.arange(256, dtype=np.uint32) // 3
    y = np.full_like(x, 77)
    kernel(x, at, y, np.uint32(256), grid=256, threadgroup=256)
    wanted = np.full_like(x, 77)
    for i in range(256):
        wanted[at[255 - i]] = x[at[i]] + x[at[i] // 2 + 1] * 3
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("level", LESSER)
@pytest.mark.parametrize("vector", ["float2", "half4", "uchar4"])
def test_on_lesser_processors(level, vector):
    ir, signature = scalar_ir(MOVED.format(T=vector), "k")
    x, at = _data(vector, 193)
    arrays = [x, at, np.full_like(x, 77), np.array([193], np.uint32)]
    got = [a.copy() for a in arrays]
    cpu_program(ir, signature, target=codegen.limited(level)).run(launch(got, 193, 64))
    interpret.run(ir, launch(arrays, 193, 64))
    np.testing.assert_array_equal(got[2], arrays[2])


@pytest.mark.parametrize("vector", ["float2", "uchar4", "half2"])
def test_one_lane_outside(vector):
    """Of one thread's vector the first element is inside, and no other. With a robust guard they are 0."""
    kernel = mt.device("cpu").library(HEADER + MOVED.format(T=vector))["k"]
    kind, parts = VECTORS[vector]
    x, at = _data(vector, 256)
    thread = int(np.argmax(at == 255))
    short = x.reshape(-1)[: 255 * parts + 1].copy()
    y = np.full_like(x, 77)
    with pytest.raises(KernelFault, match=rf"\b{thread}\b"):
        kernel(short, at, y, np.uint32(256), grid=256, threadgroup=256)
    with pytest.warns(OutsideWarning):
        kernel(short, at, y, np.uint32(256), grid=256, threadgroup=256, guard="robust")
    whole = np.zeros((256, parts), kind)
    whole.reshape(-1)[: short.size] = short
    wanted = np.empty_like(x)
    wanted[at[::-1]] = whole[at] + whole[at // 2 + 1] * kind(3)
    np.testing.assert_array_equal(y, wanted)


def test_a_word_is_one_element_of_a_gather():
    ir, _ = scalar_ir(MOVED.format(T="float2"), "k")
    text = vector_stage(ir, (64, 1, 1), WIDE)
    assert "masked.gather.v64i64" in text
    assert "masked.scatter.v64i64" in text
    assert "masked.gather.v64f32" not in text


SOME = """kernel void k(device const {T}* x, device const uint* at, device {T}* y, constant uint& n,
                        uint i [[thread_position_in_grid]]) {{
    {T} sum = {T}(1);
    uint j = at[i];
    for (uint r = 0; r < j % 4; r++) {{
        sum += x[j];
        j = at[j];
    }}
    if (j % 3 != 0 || at[n - 1 - i] == n - 1) y[at[n - 1 - i]] = sum;
}}"""


@pytest.mark.parametrize("vector", VECTORS)
@pytest.mark.parametrize("guard", [True, False])
def test_some_lanes_only(vector, guard):
    for n in (256, 193):
        x, at = _data(vector, n)
        arrays = [x, at, np.full_like(x, 77), np.array([n], np.uint32)]
        same(SOME.format(T=vector), arrays, n, 64, guard=guard, widths=(0, 16, 64))


@pytest.mark.parametrize("vector", ["float2", "uchar4", "half2"])
def test_one_of_some_lanes_outside(vector):
    """Loads, then stores, of one thread end behind the last whole element, and it is the one that is told of."""
    kernel = mt.device("cpu").library(HEADER + SOME.format(T=vector))["k"]
    parts = VECTORS[vector][1]
    x, at = _data(vector, 256)
    y, part = np.full_like(x, 77), 255 * parts + 1
    with pytest.raises(KernelFault, match="read"):
        kernel(x.reshape(-1)[:part].copy(), at, y, np.uint32(256), grid=256, threadgroup=256)
    with pytest.raises(KernelFault, match="write") as told:
        kernel(x, at, y.reshape(-1)[:part].copy(), np.uint32(256), grid=256, threadgroup=256)
    thread = 255 - int(np.argmax(at == 255))
    assert f"thread ({thread},0,0)" in str(told.value)
    with pytest.warns(OutsideWarning):
        kernel(x, at, y.reshape(-1)[:part], np.uint32(256), grid=256, threadgroup=256, guard="robust")


def test_words_of_some_lanes_are_gathered():
    plain, some = "{T} a = x[at[i]], b = x[at[i] / 2 + 1];\n", "if (at[i] % 3 == 0) return;\n"
    ir, _ = scalar_ir(MOVED.replace(plain, some + plain).format(T="half4"), "k")
    text = vector_stage(ir, (64, 1, 1), WIDE)
    assert "masked.gather.v64i64" in text
    assert "masked.scatter.v64i64" in text
