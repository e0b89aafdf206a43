"""Lanes at equal distances of a few elements, some of them idle: one vector of what lies between."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import HEADER, WIDE, same, scalar_ir

TYPES = {"uchar": np.uint8, "half": np.float16, "ushort": np.uint16, "float": np.float32, "int": np.int32}
# Which threads are there: those of the last row, and any.
MASKS = {
    "the end": "int(i) < n",
    "the middle": "int(i) > 5 && int(i) < n - 9",
    "some": "k[i] % 3 == 1",
    "one": "k[i] == 200 && int(i) < n",
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("step", [-4, -3, -2, -1, 2, 3, 4, 5])
@pytest.mark.parametrize("kind", TYPES)
def test_lanes_get_their_own(kind: str, step: int, mask: str) -> None:
    count = 150
    start = -step * (count - 1) if step < 0 else 0
    text = f"""kernel void k(device const {kind}* a, device const uchar* k, device {kind}* o, constant int& n,
        uint i [[thread_position_in_grid]]) {{
        if ({MASKS[mask]}) {{ int at = {start} + int(i) * {step}; o[i] = a[at] + a[at + 1]; }} }}"""
    rng = np.random.default_rng(abs(step))
    a = rng.integers(0, 100, abs(step) * (count - 1) + 2).astype(TYPES[kind])  # not one element more
    k, o = rng.integers(0, 256, count, np.uint8), np.full(count, 77, TYPES[kind])
    for group in (32, 64, 100):
        same(text, [a, k, o, np.int32([count])], count, group, widths=(0, 16, 64))


def test_no_gather_at_the_end_of_a_row() -> None:
    text = """kernel void k(device const half* a, device half* o, constant int& n, uint i [[thread_position_in_grid]]) {
        if (int(i) < n) o[i] = a[2 * i]; }"""
    module = canonical(scalar_ir(text, "k")[0])
    made = vector_code(module, ((64, 1, 1), True, False, False, False, None), 0, WIDE).text
    assert "gather" not in made
    assert "llvm.masked.load.v32f16" in made


def test_an_access_outside_is_told_of_the_right_thread() -> None:
    text = f"""{HEADER}kernel void k(device const half* a, device const uchar* k, device half* o,
        uint i [[thread_position_in_grid]]) {{ if (k[i]) o[i] = a[2 * i]; }}"""
    kernel = mt.device("cpu").library(text)["k"]
    a, k, o = np.arange(100, dtype=np.float16), np.zeros(64, np.uint8), np.zeros(64, np.float16)
    k[[3, 40, 49]] = 1
    kernel(a, k, o, grid=64, threadgroup=64)
    assert o[[3, 40, 49]].tolist() == [6, 80, 98]
    k[50] = 1
    with pytest.raises(mt.MetalloidError, match=r"thread \(50,0,0\)"):
        kernel(a, k, o, grid=64, threadgroup=64)
