"""Indices that fall from lane to lane, or are negative: `n - 1 - t`, `~t`, `-t`, in every width."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu.pipeline import vector_stage
from tests.engine.both import WIDE, same, scalar_ir

WIDTHS = (1, 8, 32, 64)
INDEX = {
    "unsigned from the size": "n - 1 - t",
    "unsigned from a constant": "63u - t",
    "complement": "n + ~t",
    "signed": "int(n) - 1 - int(t)",
    "negated": "int(63) + -int(t)",
    "ushort": "ushort(ushort(63) - ushort(t))",
    "xor": "t ^ 63",
    "long": "long(n) + ~long(t)",
    "short pattern": "63 + short(-short(t))",
}


@pytest.mark.parametrize("index", INDEX.values(), ids=INDEX)
def test_falling_indices_in_every_kind_of_memory(index):
    text = f"""kernel void k(device const float* a, device float* out, device float* via, threadgroup float* host [[threadgroup(0)]],
        uint t [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {{
        threadgroup float own[64];
        host[t] = a[t]; own[t] = a[t] * 2;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[t] = host[{index}] + own[{index}] + a[{index}];
        via[{index}] = a[t];
    }}"""
    a = np.arange(64, dtype=np.float32) + 1
    got = same(
        text, [a, np.zeros(64, np.float32), np.zeros(64, np.float32)], 64, 64, widths=WIDTHS, local={0: 256}
    )
    np.testing.assert_array_equal(got[1], a[::-1] * 4)
    np.testing.assert_array_equal(got[2], a[::-1])


REVERSED = """kernel void k(device const float* a, device float* out, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i < n) out[i] = a[n - 1 - i]; }"""
IMAGE = """kernel void k(device const float* a, device float* out, constant uint& w, constant uint& h, uint2 g [[thread_position_in_grid]]) {
    if (g.x < w && g.y < h) out[g.y * w + g.x] = a[(h - 1 - g.y) * w + w - 1 - g.x]; }"""
COMPLEMENTS = {
    "char": "char x = ~char(i); out[i] = x; out[i + 512] = a[int(x) + 512];",
    "ushort": "ushort x = ~ushort(i + 7); out[i] = x; out[i + 512] = x >> 3;",
    "bool": "bool x = !(i & 1), y = !((i >> 1) & 1); out[i] = x; out[i + 512] = x ^ y;",
    "long": "long x = ~long(i); out[i] = int(x >> 3) + int(x & 15); out[i + 512] = a[1023 + x];",
    "from a base": "uint x = ~(i + uint(n)); out[i] = int(x); out[i + 512] = a[(x + uint(n) + 500) & 1023];",
    "compared": "out[i] = (~i > 4294967000u) + 2 * (int(~i) < -20); out[i + 512] = -1 - int(i) == n ? 1 : 2;",
    "widened": "ulong x = ulong(uint(n) - 1 - i); out[i] = int(x >> 32); out[i + 512] = int(x);",
    "other bits": "out[i] = int(~i & 31) + int(~i | 12); out[i + 512] = int(i ^ 7) - int(~i >> 1);",
}


@pytest.mark.parametrize("n", [0, 1, 37, 100])
def test_rows_are_turned_round_as_far_as_they_go(n):
    a, out = np.arange(max(n, 1), dtype=np.float32) + 1, np.full(max(n, 1), 77, np.float32)
    for guard in (True, False, "robust"):
        got = same(REVERSED, [a, out, np.uint32([n])], 100, 32, guard=guard)
        np.testing.assert_array_equal(got[1][:n], a[:n][::-1])


@pytest.mark.parametrize("size", [(7, 3), (33, 1), (20, 20), (1, 9)])
def test_images_are_turned_round(size):
    w, h = size
    a, out = np.arange(w * h, dtype=np.float32), np.full(w * h, -1, np.float32)
    for group in ((8, 8), (1000, 1)) if w == 20 else ((1000, 1),):
        got = same(IMAGE, [a, out, np.uint32([w]), np.uint32([h])], (w + 3, h), group)
        np.testing.assert_array_equal(got[1], a[::-1])


def test_a_row_that_is_turned_round_is_loaded_as_vectors():
    text = REVERSED.replace("if (i < n) ", "")
    code = vector_stage(scalar_ir(text, "k")[0], (64, 1, 1), WIDE)
    assert "gather" not in code and code.count("= load <16 x float>") == 4


@pytest.mark.parametrize("form", COMPLEMENTS.values(), ids=COMPLEMENTS)
def test_complements_of_every_type(form):
    text = f"""kernel void k(device const int* a, device int* out, constant int& n, uint i [[thread_position_in_grid]]) {{ {form} }}"""
    a, out = np.arange(4096, dtype=np.int32) * 3, np.full(1024, 77, np.int32)
    for n in (0, 37, -5, 2**31 - 1):
        same(text, [a, out, np.int32([n])], 300, 64, guard="robust" if n else True)
