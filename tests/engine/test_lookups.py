"""Elements that lanes look up: with and without a mask, from every kind of memory, by indices of either sign, outside."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.errors import KernelFault
from tests.engine.both import launch, program, same

RNG = np.random.default_rng(7)
WIDTHS = (0, 32)
KINDS = {"float": np.float32, "half": np.float16, "uchar": np.uint8, "int": np.int32, "long": np.int64}
PLAIN = "kernel void k(device const {t}* a, device const uint* at, device {t}* out, uint i [[thread_position_in_grid]]) {{ out[i] = a[at[i]]; }}"
SIGNED = "kernel void k(device const {t}* a, device const int* at, device {t}* out, uint i [[thread_position_in_grid]]) {{ out[i] = (a + 40)[at[i]]; }}"
SOME = """kernel void k(device const {t}* a, device const uint* at, device {t}* out, uint i [[thread_position_in_grid]]) {{
  if (at[i] % 3 != 1) out[i] = a[at[i]]; else out[i] = {t}(5); }}"""
SHARED = """kernel void k(device const {t}* a, device const uint* at, device {t}* out, uint i [[thread_position_in_grid]],
  uint t [[thread_position_in_threadgroup]]) {{
  threadgroup {t} s[64]; s[t] = a[i]; threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t % 5) out[i] = s[at[i] % 64]; else out[i] = s[(at[i] + 1) % 64]; }}"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", [PLAIN, SOME, SHARED], ids=["plain", "some", "shared"])
def test_what_is_looked_up(kind, text):
    a = RNG.integers(0, 99, 256).astype(KINDS[kind])
    at = RNG.integers(0, 256, 256).astype(np.uint32)
    same(text.format(t=kind), [a, at, np.full(256, 3, KINDS[kind])], 250, 64, widths=WIDTHS)


def test_indices_with_a_sign():
    at = RNG.integers(-40, 60, 256).astype(np.int32)
    a = RNG.random(100, np.float32)
    got = same(SIGNED.format(t="float"), [a, at, np.full(256, 3, np.float32)], 256, 64, widths=WIDTHS)
    np.testing.assert_array_equal(got[2], a[40 + at])


@pytest.mark.parametrize("wrong", [256, 2**31, 2**32 - 1])
@pytest.mark.parametrize("text", [PLAIN, SOME], ids=["plain", "some"])
def test_one_lane_outside_is_told(text, wrong):
    at = (RNG.integers(0, 85, 256) * 3).astype(np.uint32)
    at[77] = wrong - wrong % 3
    if at[77] < 256:
        at[77] += 3
    arrays = [np.zeros(256, np.float32), at, np.zeros(256, np.float32)]
    with pytest.raises(KernelFault) as told:
        program(text.format(t="float"), "k").run(launch(arrays, 256, 64))
    assert "77" in str(told.value)


@pytest.mark.parametrize("wrong", [-41, 60, -(2**31), 2**31 - 1])
def test_one_lane_on_either_side_is_told(wrong):
    at = np.zeros(256, np.int32)
    at[200] = wrong
    with pytest.raises(KernelFault):
        program(SIGNED.format(t="float"), "k").run(
            launch([np.zeros(100, np.float32), at, np.zeros(256, np.float32)], 256, 64)
        )


def test_an_idle_lane_may_be_outside():
    at = np.zeros(256, np.uint32)
    at[::3] = 2**32 - 2  # of the lanes that do not look it up
    at[1::3] = 5
    keep = "kernel void k(device const float* a, device const uint* at, device float* out, uint i [[thread_position_in_grid]]) { if (at[i] < 99) out[i] = a[at[i]]; }"
    same(keep, [RNG.random(100, np.float32), at, np.full(256, 3, np.float32)], 256, 64, widths=WIDTHS)
