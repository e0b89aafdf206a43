"""Indices that are cut off at the ends of a row: limits of any order and sign, without a sign, in steps, in loops."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.errors import KernelFault
from tests.engine.both import WIDE, launch, program, same, scalar_ir

RNG = np.random.default_rng(31)
TEXT = """kernel void k(device const int* a, device int* out, constant int& lo, constant int& hi, constant int& d,
  uint i [[thread_position_in_grid]]) {{ {body} }}"""
FORMS = {
    "clamp": "int j = clamp(int(i) + d, lo, hi); out[i] = a[j & 1023] + j;",
    "limit first": "int j = max(lo, min(hi, int(i) + 1)); out[i] = a[j & 1023] - j;",
    "clamp of clamp": "int j = clamp(clamp(int(i) + d, lo, hi) - 3, hi - 9, lo + 40); out[i] = a[j & 1023] - j;",
    "from the end": "int j = max(hi - int(i), lo); out[i] = a[j & 1023] - j;",
    "without a sign": "uint j = clamp(i + uint(d), uint(lo), uint(hi)); out[i] = a[j & 1023] + int(j);",
    "least without a sign": "uint j = max(i, uint(lo)); out[i] = a[(j - uint(lo)) & 1023] + int(j);",
    "before the first": "uint j = min(i - 1, uint(hi)); out[i] = a[j & 1023] + int(j);",
    "no width": "uint j = min(i, uint(hi) - 1); out[i] = a[j & 1023] + int(j);",
    "compared": "int t = int(i) + d, j = clamp(t, lo, hi); out[i] = t - j + (j == hi ? 100 : j > t ? a[j & 1023] : 7);",
    "both ends": "int l = max(int(i) - 1, 0), r = min(int(i) + 1, hi); out[i] = a[l] + 10 * a[r & 1023] + 1000 * (r - l);",
    "a limit for each": "int j = clamp(int(i) + d, 0, a[i] & 1023); out[i] = a[j];",
    "in a branch": "out[i] = -5; if (int(i) > lo) { int j = clamp(int(i) - 1, 0, hi); out[i] = a[j & 1023]; }",
    "in a loop": "int s = 0; for (int n = -2; n <= 2; n++) s = 3 * s + a[clamp(int(i) + n, lo, hi) & 1023]; out[i] = s;",
    "a store": "int j = clamp(int(i) + d, 0, hi); if (j == int(i) + d) out[j & 1023] = a[i] + 7;",
    "an atomic": "int j = clamp(int(i) + d, 0, hi) & 1023; atomic_fetch_add_explicit((device atomic_int*)(out + j), 3, memory_order_relaxed);",
    "round": "uint n = uint(hi & 1023) + 1, x = i % n, l = x == 0 ? n - 1 : x - 1, r = x == n - 1 ? 0 : x + 1; out[i] = a[l] + 10 * a[r] + 1000 * int(l - r);",
    "round by signs": "int w = max(hi, 1), x = int(i) + d, j = x < 0 ? x + w : x, k = j >= w ? j - w : j; out[i] = a[k & 1023] + j;",
    "above": "int x = int(i) + d, j = x > lo ? x - 1 : hi; out[i] = a[j & 1023] + j;",
    "limit on the left": "int x = int(i), j = hi < x ? 5 : x; uint k = uint(lo) >= i + 3 ? i : 9u; out[i] = a[j & 1023] + int(k);",
    "not at one place": "int x = int(i) + d, j = x != hi ? x + 2 : 7, k = lo == x ? hi : x; out[i] = a[j & 1023] - 3 * a[k & 1023];",
    "both sides count": "int x = int(i), j = x > hi ? x - 3 : x + 3; uint k = i >= uint(lo) ? i + 1 : i; out[i] = a[j & 1023] + a[k & 1023];",
    "choice of choices": "int x = int(i) + d, j = x < lo ? lo : x > hi ? 2 * hi - x : x, k = j == 0 ? hi : j - 1; out[i] = a[k & 1023] + j;",
    "other numbers by it": "int x = int(i), v = x < hi ? a[x & 1023] : 3, j = x < lo ? v : x; out[i] = j + v;",
    "rows": "int w = max(d, 1), x = int(i) % w, y = int(i) / w; int j = clamp(int(i) + 1, 0, hi); out[i] = a[(y * w + x) & 1023] + a[j & 1023];",
}  # fmt: skip
MOST, LEAST = 2**31 - 1, -(2**31)
LIMITS = [
    (0, 189, 1), (0, 189, -1), (0, -1, 1), (5, 2, 1), (0, 0, 0), (-5, MOST, -3), (MOST, -1, 3), (0, MOST, MOST - 9),
    (-20, -3, LEAST), (LEAST, MOST, MOST), (100, 150, -70), (-5, 40, 2),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_limits_of_any_order_and_sign(form):
    for at, (lo, hi, d) in enumerate(LIMITS):
        limits = [np.array([n], np.int32) for n in (lo, hi, d)]
        a, out = RNG.integers(-99, 99, 1024).astype(np.int32), np.full(1024, -777, np.int32)
        (grid, group), guard = (
            ((190, 64), (33, 100))[at == 3],
            "robust" if at < 4 else False,
        )
        same(TEXT.format(body=form), [a, out, *limits], grid, group, guard=guard)


STENCIL = """kernel void k(device const {t}* a, device {t}* out, constant int& w, constant int& h, uint3 g [[thread_position_in_grid]]) {{
  {t} s = 0;
  for (int n = -1; n <= 1; n++) {{
    int x = clamp(int(g.x) + n, 0, w - 1), y = min(g.y + uint(n + 1), uint(h) - 1);
    s += a[y * w + x]; }}
  if (int(g.x) < w && int(g.y) < h) out[g.y * w + g.x] = s; }}"""


SIZES = [("float", (7, 3)), ("float", (20, 20)), ("char", (150, 3)), ("half", (33, 1)), ("float", (1, 1))]
TYPES = {"float": np.float32, "char": np.int8, "half": np.float16}


@pytest.mark.parametrize("kind, size", SIZES)
def test_stencils_of_odd_sizes(kind, size):
    type = TYPES[kind]
    w, h = size
    a, out = RNG.integers(0, 9, (h, w)).astype(type), np.full((h, w), 77, type)
    rows = [np.pad(a, ((0, 2), (1, 1)), "edge")[n : n + h, n : n + w] for n in range(3)]
    for group in ((8, 8), (1000, 1), (13, 5)):
        limits = [np.int32([w]), np.int32([h])]
        got = same(STENCIL.format(t=kind), [a, out, *limits], (w + 1, h, 1), group)
        np.testing.assert_array_equal(got[1], sum(rows))


NEIGHBOURS = """kernel void k(device const float* a, device float* out, constant int& w, uint i [[thread_position_in_grid]]) {
  int l = clamp(int(i) - 1, 0, w - 1), r = clamp(int(i) + 1, 0, w - 1);
  out[i] = a[l] + a[i] * 2 + a[r]; }"""


def test_far_from_both_ends_neighbours_are_loaded():
    """A gather for each index that is cut off, in one of the two copies; three vectors in the other."""
    code = vector_stage(scalar_ir(NEIGHBOURS, "k")[0], (64, 1, 1), WIDE).split("@segment0", 1)[1]
    assert code.count("masked.gather") == 2 and code.count("= load <64 x float>") == 4


@pytest.mark.parametrize("inside", [300, 200])
def test_an_index_outside_is_told_in_both_copies(inside):
    """Limits beyond the memory: in the middle of the grid nothing is cut off."""
    out, limit = np.zeros(300, np.float32), np.int32([inside + 1])
    with pytest.raises(KernelFault) as caught:
        program(NEIGHBOURS, "k").run(launch([np.ones(inside, np.float32), out, limit], 300, 64))
    found = caught.value.finding
    assert (found.rule, found.buffer, found.location.line) == ("M101", 0, 5)
    assert found.thread[0] >= inside - 1
