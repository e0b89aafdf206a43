"""Row and column of a flat index: gangs inside one row, across two, across many; divisors that are 0, 1, negative."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.errors import KernelFault
from tests.engine.both import WIDE, launch, program, same, scalar_ir

RNG = np.random.default_rng(19)
ARM = codegen.Target("neoverse-n1", "", "aarch64-unknown-linux-gnu")
FLAT = """kernel void k(device const float* table, device const int* rows, device float* out, constant uint& w,
  uint i [[thread_position_in_grid]]) { out[i] = table[uint(rows[i / w]) * w + i % w]; }"""
SIGNED = """kernel void k(device const int* a, device int* out, constant int& w, uint i [[thread_position_in_grid]]) {
  int x = int(i) - 7; out[2 * i] = x / w + a[i]; out[2 * i + 1] = x % w; }"""
LATER = """kernel void k(device const float* a, device float* out, constant uint& w, constant uint& n, uint i [[thread_position_in_grid]]) {
  if (i >= n) return;
  uint y = i / w, x = i % w; float sum = 0;
  for (uint j = 0; j <= x % 5; j++) sum += a[y * w + j];
  if (x > 2) sum += a[i]; else sum -= float(y);
  out[i] = sum; }"""
DEEP = """kernel void k(device const float* a, device float* out, constant uint3& s, uint i [[thread_position_in_grid]]) {
  uint x = i % s.x, y = i / s.x % s.y, z = i / (s.x * s.y); out[i] = a[(x * s.y + y) * s.z + z]; }"""
FIXED = "kernel void k(device const float* a, device float* out, uint i [[thread_position_in_grid]]) { out[i] = a[i / 100 + (i % 100) * 3]; }"
# What divides is the same in all lanes, and what is divided is not: by a product.
ALL = """kernel void k(device const {t}* a, device {t}* out, device const {t}* w, uint i [[thread_position_in_grid]],
  uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {{
  {t} d = w[g]; out[2 * i] = a[i] / d; out[2 * i + 1] = a[i] % d; }}"""


@pytest.mark.parametrize("width", [1, 3, 16, 17, 100, 1000])
@pytest.mark.parametrize("grid, group", [(500, 64), (499, 256)])
def test_rows_that_are_looked_up(width, grid, group):
    count = -(-grid // width)
    table, rows = RNG.random((50, width), np.float32), RNG.integers(0, 50, count).astype(np.int32)
    arrays = [table, rows, np.full(grid, 7, np.float32), np.array([width], np.uint32)]
    got = same(FLAT, arrays, grid, group)
    np.testing.assert_array_equal(got[2], table[rows].reshape(-1)[:grid])


@pytest.mark.parametrize("width", [0, 1, 64, 300, -1, -40, -(2**31)])
def test_signed_numbers_and_divisors_that_are_not_positive(width):
    arrays = [
        RNG.integers(0, 9, 256).astype(np.int32),
        np.full(512, -5, np.int32),
        np.array([width], np.int32),
    ]
    same(SIGNED, arrays, 256, 128, widths=(0, 32))


@pytest.mark.parametrize("width", [4, 40, 333])
@pytest.mark.parametrize("n", [500, 377])
def test_what_follows_is_written_twice_with_its_loops_and_branches(width, n):
    arrays = [RNG.random(900, np.float32), np.full(500, 7, np.float32)]
    same(LATER, [*arrays, np.array([width], np.uint32), np.array([n], np.uint32)], 500, 128)


@pytest.mark.parametrize("size", [(8, 5, 10), (40, 2, 5), (1, 200, 2), (200, 1, 2)])
def test_three_dimensions(size):
    arrays = [RNG.random(400, np.float32), np.full(400, 7, np.float32), np.array([*size, 0], np.uint32)]
    same(DEEP, arrays, 400, 64)


def test_a_divisor_in_the_text():
    same(FIXED, [RNG.random(310, np.float32), np.full(300, 7, np.float32)], 300, 64)


@pytest.mark.parametrize("kind", ["int", "uint", "short", "ushort", "char", "uchar"])
def test_all_lanes_by_one_number(kind):
    type = np.dtype(
        {"int": "i4", "uint": "u4", "short": "i2", "ushort": "u2", "char": "i1", "uchar": "u1"}[kind]
    )
    low, high = np.iinfo(type).min, np.iinfo(type).max
    edges = [low, low + 1, high - 1, high, 0, 1, max(low, -1)]
    divisors = [1, 2, 3, 7, 10, high, high // 2, high // 3 + 1, max(low, -3), low or 5, max(low, -1) or 1, 0]
    numbers = []
    for divisor in divisors:
        near = [q * divisor + d for q in (1, 2, 3, high // max(abs(divisor), 1)) for d in (-1, 0, 1)]
        some = RNG.integers(low, high, 32, endpoint=True).astype(type)
        some[: len(edges) + len(near)] = np.array([min(max(x, low), high) for x in edges + near], type)
        numbers.append(some)
    a = np.concatenate(numbers)
    same(ALL.format(t=kind), [a, np.zeros(2 * a.size, type), np.array(divisors, type)], a.size, 32)


def test_a_row_outside_is_reported():
    rows = np.zeros(20, np.int32)
    rows[13] = 50
    arrays = [RNG.random((50, 100), np.float32), rows, np.zeros(2000, np.float32), np.array([100], np.uint32)]
    with pytest.raises(KernelFault) as caught:
        program(FLAT, "k").run(launch(arrays, 2000, 64))
    assert "thread (1300, 0, 0)" in str(caught.value)  # the first of its row, in the middle of a gang


def test_gangs_across_two_rows_go_through_them_row_by_row():
    """Where the processor has masked loads and stores."""
    ir = scalar_ir(FLAT, "k")[0]
    wide, narrow = (vector_stage(ir, (256, 1, 1), target) for target in (WIDE, ARM))
    assert "masked.load" in wide and "masked.store" in wide and "masked.load" not in narrow


@pytest.mark.parametrize("width", [30, 31, 32, 63, 65])
def test_two_rows_and_three(width):
    table, rows = RNG.random((9, width), np.float32), RNG.integers(0, 9, 30).astype(np.int32)
    out = np.full(600, 7, np.float32)
    for guard in (True, False):
        same(FLAT, [table, rows, out, np.array([width], np.uint32)], 600, 100, widths=(0, 64), guard=guard)


SHIFT = """kernel void k(device const float* x, device float* y, constant uint& n, uint i [[thread_position_in_grid]]) {
  y[i] = x[(i + 1) % n]; }"""


@pytest.mark.parametrize("n", [1000, 70, 33])
def test_a_row_that_begins_inside_a_gang_of_a_proved_launch(n, monkeypatch):
    """What was proved of `% n` was once believed of the rest in lanes before the row: an address 16 GB further on."""
    x, y = RNG.random(n, np.float32), np.full(n, np.nan, np.float32)
    monkeypatch.setenv("METALLOID_BASELINE", "0")
    for group in (16, 32, 64, 100):
        mt.device("cpu").library(SHIFT)["k"](x, y, n, grid=n, threadgroup=group)
        assert np.array_equal(y, np.roll(x, -1))


def test_gangs_in_one_row_load_neighbours():
    code = vector_stage(scalar_ir(FLAT, "k")[0], (64, 1, 1))
    assert "= load <" in code
