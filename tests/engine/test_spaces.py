"""Pointers that may be of one of several address spaces: the same on the oracle, the engine, and paper."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tests.engine.both import same

WIDTHS = (0, 8)
N, GROUP = 128, 32
F = np.float32
LOST = F(-77)  # what nobody wrote

START = """kernel void k(device float* a, device float* out, constant float* b, constant uint& c,
  uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {
  threadgroup float t[40]; float q[8];
  t[l] = 2 * a[i]; if (l < 8) t[32 + l] = 100 + l;
  for (uint j = 0; j < 8; j++) q[j] = 3 * a[i] + j;
  threadgroup_barrier(mem_flags::mem_threadgroup);
"""
POINTERS = {
    "device": "(float*)(a + i)",
    "threadgroup": "(float*)(t + (l ^ 1))",
    "thread": "(float*)(q + (i & 3))",
    "constant": "(float*)(b + (i >> 1))",
}
CHOICES = {"divergent": "(i & 2)", "uniform": "(c & 1)", "by rows": "((i >> 4) & 1)"}


def arrays(c: int = 1) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    a = rng.integers(-50, 50, N + 8).astype(F)
    b = rng.integers(-50, 50, N + 8).astype(F)
    return [a, np.full(3 * N, LOST, F), b, np.array([c], np.uint32)]


def at(given: list[np.ndarray], space: str, j: int) -> np.ndarray:
    """What each thread finds j elements behind its pointer to a space."""
    a, _, b, _ = (x.astype(np.float64) if x.dtype == F else x for x in given)
    i = np.arange(N)
    lane = (i % GROUP ^ 1) + j
    here = np.where(lane < GROUP, 2 * a[i // GROUP * GROUP + lane % GROUP], 100 + lane - GROUP)
    return {
        "device": a[i + j],
        "threadgroup": here,
        "thread": 3 * a[i] + (i & 3) + j,
        "constant": b[(i >> 1) + j],
    }[space]


def taken(choice: str, c: int) -> np.ndarray:
    i = np.arange(N)
    return {"divergent": (i & 2) != 0, "uniform": np.full(N, bool(c & 1)), "by rows": (i >> 4 & 1) != 0}[
        choice
    ]


@pytest.mark.parametrize(("first", "second"), list(combinations(POINTERS, 2)))
def test_reading_through_a_choice_of_two(first, second):
    reads = "".join(
        f"{{ const float* p = {choice} ? {POINTERS[first]} : {POINTERS[second]};\n out[i + {n * N}] = p[0] + 1000 * p[1]; }}\n"
        for n, choice in enumerate(CHOICES.values())
    )
    for c in (0, 1):
        given = arrays(c)
        got = same(f"{START}{reads}}}", given, N, GROUP, widths=WIDTHS)[1]
        wanted = [at(given, s, 0) + 1000 * at(given, s, 1) for s in (first, second)]
        for n, choice in enumerate(CHOICES):
            np.testing.assert_array_equal(got[n * N :][:N], np.where(taken(choice, c), *wanted).astype(F))


@pytest.mark.parametrize(("first", "second"), list(combinations(["device", "threadgroup", "thread"], 2)))
def test_writing_through_a_choice_of_two(first, second):
    text = f"""{START} float* p = (i & 2) ? {POINTERS[first]} : {POINTERS[second]};
      *p += 5; threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
      out[i] = a[i] + 100 * t[l ^ 1] + 10000 * q[i & 3]; }}"""
    given = arrays()
    got = same(text, given, N, GROUP, widths=WIDTHS)[1]
    np.testing.assert_array_equal(same(text, given, N, GROUP, guard=False)[1], got)
    scale = {"device": 1, "threadgroup": 100, "thread": 10000}
    more = 5 * np.where(taken("divergent", 1), scale[first], scale[second])
    wanted = sum(scale[s] * at(given, s, 0) for s in scale) + more
    np.testing.assert_array_equal(got[:N], wanted.astype(F))


def test_one_of_four_spaces_in_a_walk_with_barriers():
    text = f"""{START} float* p;
      switch ((i + c) & 3) {{ case 0: p = {POINTERS["device"]}; break; case 1: p = {POINTERS["threadgroup"]}; break;
        case 2: p = {POINTERS["thread"]}; break; default: p = {POINTERS["constant"]}; }}
      float s = 0;
      for (uint j = 0; j < 4; j++) {{ s = 3 * s + *p++; threadgroup_barrier(mem_flags::mem_threadgroup); }}
      out[i] = s; }}"""
    for c in range(4):
        given = arrays(c)
        got = same(text, given, N, GROUP, widths=WIDTHS)[1]
        rows = [
            at(given, s, 0) * 27 + at(given, s, 1) * 9 + at(given, s, 2) * 3 + at(given, s, 3)
            for s in POINTERS
        ]
        np.testing.assert_array_equal(got[:N], np.choose(np.arange(N) + c & 3, rows).astype(F))


def test_a_walk_of_a_length_that_is_not_known():
    text = f"""{START} float* p = (i & 1) ? {POINTERS["threadgroup"]} : {POINTERS["device"]}; float s = 0;
      for (uint j = 0; j < (i % 5) + c; j++) s += p[j] * (j + 1);
      out[i] = s; }}"""
    given = arrays(2)
    got = same(text, given, N, GROUP, widths=WIDTHS)[1]
    count = np.arange(N) % 5 + 2
    sums = {
        s: sum(np.where(j < count, at(given, s, j) * (j + 1), 0) for j in range(6))
        for s in ("threadgroup", "device")
    }
    np.testing.assert_array_equal(
        got[:N], np.where(np.arange(N) & 1, sums["threadgroup"], sums["device"]).astype(F)
    )


@pytest.mark.parametrize("where", ["", "threadgroup "])
def test_pointers_kept_in_structs_and_read_back(where):
    """In private memory, or in threadgroup memory, each thread its own."""
    text = f"""struct P {{ float* p; uint n; }};
    {START} {where}P ps[{"4" if not where else "4 * 32"}]; {where}P* mine = ps + {"4 * l" if where else "0"};
      mine[0] = P{{{POINTERS["device"]}, 1}}; mine[1] = P{{{POINTERS["threadgroup"]}, 2}};
      mine[2] = P{{{POINTERS["thread"]}, 3}}; mine[3] = P{{{POINTERS["constant"]}, 4}};
      float s = 0;
      for (uint r = 0; r < 3; r++) {{ P u = mine[(r + i + c) & 3]; s = s * 2 + u.p[r] * u.n; }}
      mine[(i + 1) & 3] = mine[i & 3];
      out[i] = s + mine[(i + 1) & 3].p[0]; }}"""
    for c in (0, 1):
        given = arrays(c)
        got = same(text, given, N, GROUP, widths=WIDTHS)[1]
        wanted = np.zeros(N)
        for r in range(3):
            which = np.arange(N) + r + c & 3
            wanted = wanted * 2 + np.choose(
                which, [at(given, s, r) * (n + 1) for n, s in enumerate(POINTERS)]
            )
        wanted += np.choose(np.arange(N) & 3, [at(given, s, 0) for s in POINTERS])
        np.testing.assert_array_equal(got[:N], wanted.astype(F))


def test_structs_with_methods_copied_whole():
    """`this` of two spaces, copies out of and into either, and their elements in one piece."""
    text = """struct S { float x[3]; uint n; float sum() const { float s = n; for (int j = 0; j < 3; j++) s += x[j] * (j + 1); return s; }
      void scale(float f) { for (int j = 0; j < 3; j++) x[j] *= f; n += 1; } };
    kernel void k(device S* a, device float* out, constant uint& c, uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {
      threadgroup S t[32]; t[l] = a[i]; t[l].scale(2);
      S* p = (i & 1) ? (S*)(a + i) : (S*)(t + l);
      float s = p->sum();
      S mine = *p; mine.scale(3);
      S* r = (i + c) & 2 ? (S*)&mine : p;
      s += 10 * r->sum();
      *r = *p; r->scale(-1);
      out[i] = s + 100 * p->sum() + 1000 * mine.sum(); }"""
    made = np.zeros(N, np.dtype([("x", F, 3), ("n", np.uint32)]))
    made["x"], made["n"] = np.arange(3 * N).reshape(N, 3) % 11 - 5, np.arange(N) % 7
    for c in (0, 1):
        given = [made.view(np.uint32).copy(), np.full(N, LOST, F), np.array([c], np.uint32)]
        got = same(text, given, N, GROUP, widths=WIDTHS)[1]
        even = np.arange(N) % 2 == 0

        def total(x: np.ndarray, n: np.ndarray) -> np.ndarray:
            return n + x @ np.array([1.0, 2, 3])

        x = made["x"].astype(np.float64) * np.where(even, 2, 1)[:, None]
        n = made["n"] + even.astype(np.int64)
        private = (np.arange(N) + c & 2) != 0
        mine, count = 3 * x, n + 1
        wanted = total(x, n) + 10 * np.where(private, total(mine, count), total(x, n))
        wanted += 100 * np.where(private, total(x, n), total(-x, n + 1))
        wanted += 1000 * np.where(private, total(-x, n + 1), total(mine, count))
        np.testing.assert_array_equal(got[:N], wanted.astype(F))


def test_atomics():
    text = """kernel void k(device uint* a, device uint* out, constant uint& c, uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {
      threadgroup uint t[8]; if (l < 8) t[l] = 0;
      threadgroup_barrier(mem_flags::mem_threadgroup);
      uint* p = (i & c) ? (uint*)(a + (i & 3)) : (uint*)(t + (i & 3));
      __atomic_fetch_add(p, i + 1, __ATOMIC_RELAXED);
      __atomic_fetch_max(p + 4, i + 1, __ATOMIC_RELAXED);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (l < 8) out[i] = t[l]; }"""
    for c in (0, 4, 0xFFFFFFFF):
        given = [np.zeros(8, np.uint32), np.full(N, 9, np.uint32), np.array([c], np.uint32)]
        a, out, _ = same(text, given, N, GROUP, widths=WIDTHS)
        i = np.arange(N)
        device = (i & c) != 0
        for n in range(4):
            mine = i & 3 == n
            assert (a[n], a[n + 4]) == totals(i[mine & device] + 1)
            for group in range(N // GROUP):
                found = out[group * GROUP :][[n, n + 4]]
                assert tuple(found) == totals(i[mine & ~device & (i // GROUP == group)] + 1)


def totals(numbers: np.ndarray) -> tuple[int, int]:
    return int(numbers.sum()), int(numbers.max(initial=0))


def test_comparing_subtracting_and_nothing():
    text = f"""{START} float* p = (i & 1) ? {POINTERS["device"]} : {POINTERS["threadgroup"]};
      float* r = nullptr; if (i & 4) r = (i & 8) ? p : {POINTERS["thread"]};
      uint bits = (p == {POINTERS["device"]}) | (p == {POINTERS["threadgroup"]}) << 1 | (r == nullptr) << 2 | (r == p) << 3 | (r == (float*)(q + (i & 3))) << 4;
      if (i & 1) bits |= uint(p - (float*)a) << 8;
      bits |= (uint((ulong)p) & 3) << 20;
      out[i] = bits + (r ? *r * 0.0f : 0.0f); }}"""
    got = same(text, arrays(), N, GROUP, widths=WIDTHS)[1]
    i = np.arange(N)
    odd, some, through = i & 1, (i & 4) != 0, (i & 8) != 0
    wanted = (
        odd
        | (1 - odd) << 1
        | ~some << 2 & 4
        | (some & through) << 3
        | (some & ~through) << 4
        | np.where(odd, i << 8, 0)
    )
    np.testing.assert_array_equal(got[:N], wanted.astype(F))


def test_a_pointer_that_was_a_number_in_between():
    """As compilers from other languages write it: an object's element by a method, as a number, and back."""
    text = """struct pool { uint4 data[16]; METAL_FUNC thread uint4& at(uint n) thread { return data[n]; } METAL_FUNC threadgroup uint4& at(uint n) threadgroup { return data[n]; } };
    struct context { threadgroup pool* p; device float* out; };
    kernel void k(device const float* a, device float* out, uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {
      threadgroup pool data; context x = {&data, out};
      threadgroup float* f = (threadgroup float*)((ulong)(&(*x.p).at(l >> 2)));
      f[l & 3] = a[i];
      threadgroup_barrier(mem_flags::mem_threadgroup);
      x.out[i] = ((threadgroup float*)(ulong)&data.at(0))[(l * 4) & 15]; }"""
    given = [np.arange(N, dtype=F), np.full(N, LOST, F)]
    got = same(text, given, N, GROUP, widths=WIDTHS)[1]
    i = np.arange(N)
    np.testing.assert_array_equal(got, (i // GROUP * GROUP + (i * 4 & 15)).astype(F))


@pytest.mark.parametrize("element", ["threadgroup float*", "float* const"])
def test_a_table_of_threadgroup_variables(element):
    cast = "" if element.startswith("threadgroup") else "(float*)"
    text = f"""kernel void k(device const float* a, device float* out, constant uint& c, threadgroup float* more,
      uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {{
      threadgroup float t[32]; threadgroup float u[32];
      t[l] = a[i] * 2; u[l] = a[i] * 3; more[l] = 0;
      threadgroup_barrier(mem_flags::mem_threadgroup);
      {element} tiles[4] = {{{cast}t, {cast}u, {cast}(u + 1), {cast}(t + 3)}};
      out[i] = tiles[(i + c) & 3][l & 15]; }}"""
    for c in (0, 1):
        given = [np.arange(N, dtype=F), np.full(N, LOST, F), np.array([c], np.uint32)]
        got = same(text, given, N, GROUP, widths=WIDTHS, local={0: 4 * GROUP})[1]
        i = np.arange(N)
        first = i // GROUP * GROUP + (i & 15)
        wanted = np.choose(i + c & 3, [2.0 * first, 3.0 * first, 3.0 * (first + 1), 2.0 * (first + 3)])
        np.testing.assert_array_equal(got[:N], wanted.astype(F))


def test_a_threadgroup_pointer_that_may_be_none():
    text = f"{START} threadgroup float* p = nullptr; if ((i & 1) && c) p = t; out[i] = p ? p[l] : 1.0f; }}"
    for c in (0, 1):
        given = arrays(c)
        got = same(text, given, N, GROUP, widths=WIDTHS)[1]
        wanted = np.where((np.arange(N) & 1) * c, 2 * given[0][:N], 1)
        np.testing.assert_array_equal(got[:N], wanted)
