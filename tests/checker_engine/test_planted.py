"""Mistakes that were planted, found on the vector engine as on the oracle; their clean twins stay silent."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checker_engine.both import both, keys

BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"


def floats(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float32) + 1


def poison(n: int) -> np.ndarray:
    return np.full(n, -7, np.float32)


TREE = """kernel void k(device const float* a, device float* o, uint i [[thread_position_in_grid]],
                 uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
    threadgroup float s[256];
    s[t] = a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 128; k > 0; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        BETWEEN
    }
    if (t == 0) o[g] = s[0];
}"""


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        (BARRIER, set()),
        ("", {("race in threadgroup memory", 7, 7)}),
        ("threadgroup_barrier(mem_flags::mem_none);", {("flags do not cover", 7, 7)}),
        ("threadgroup_barrier(mem_flags::mem_device);", {("flags do not cover", 7, 7)}),
        ("simdgroup_barrier(mem_flags::mem_threadgroup);", {("race in threadgroup memory", 7, 7)}),
    ],
    ids=["clean", "none", "mem_none", "mem_device", "simdgroup"],
)
def test_tree_reduction(between: str, expected: set):
    widths = (0,) if "simdgroup" in between else (0, 32, 64)
    seen = both(TREE.replace("BETWEEN", between), [floats(512), poison(2)], 512, 256, widths=widths)
    assert keys(seen.records) == expected


TILES = """kernel void k(device const float* A, device const float* B, device float* C, constant uint& N,
                      uint2 t [[thread_position_in_threadgroup]], uint2 g [[threadgroup_position_in_grid]]) {
    threadgroup float a[16][16], b[16][16];
    uint row = g.y * 16 + t.y, col = g.x * 16 + t.x;
    float acc = 0;
    for (uint k = 0; k < N; k += 16) {
        a[t.y][t.x] = A[row * N + k + t.x];
        b[t.y][t.x] = B[(g.x * 16 + t.y) * N + k + t.x];
        FIRST
        for (uint i = 0; i < 16; i++) acc += a[t.y][i] * b[t.x][i];
        SECOND
    }
    if (row < N && col < N) C[row * N + col] = acc;
}"""


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (BARRIER, BARRIER, set()),
        ("", BARRIER, {("race in threadgroup memory", 8, 10)}),
        (BARRIER, "", {("race in threadgroup memory", 8, 10)}),
    ],
    ids=["clean", "before", "after"],
)
def test_tiled_product(first: str, second: str, found: set):
    arrays = [floats(1024), floats(1024), poison(1024), np.array([32], np.uint32)]
    seen = both(TILES.replace("FIRST", first).replace("SECOND", second), arrays, (16, 16), (16, 16))
    assert found <= keys(seen.records)
    assert bool(seen.records) == bool(found)


def test_both_threads_of_a_race_are_named():
    text = """kernel void k(device float* o, uint i [[thread_position_in_grid]]) {
        o[i / 2] = i;
    }"""
    seen = both(text, [poison(128)], 128, 64)
    (race,) = seen.records
    assert race.kind == "race in device memory" and race.count >= 64
    assert race.other is not None and race.access.thread[0] // 2 == race.other.thread[0] // 2
    assert race.access.thread != race.other.thread
    assert race.memory.index == 0 and race.offset == 4 * (race.access.thread[0] // 2)


CASES = {
    "clean add": (
        "c[i] = a[i] + b[i];",
        lambda: [floats(300), floats(300), poison(300)],
        set(),
    ),
    "outside": (
        "c[i] = a[i] + b[i];",
        lambda: [floats(300), floats(200), poison(250)],
        {("read outside", 2, 0), ("write outside", 2, 0)},
    ),
    "outside, far below": (
        "c[i] = a[i - 40];",
        lambda: [floats(300), floats(1), poison(300)],
        {("read outside", 2, 0)},
    ),
    "guarded": (
        "if (i < 250) c[i] = a[i];",
        lambda: [floats(250), floats(1), poison(250)],
        set(),
    ),
    "in place": ("c[i] = c[i] * 2;", lambda: [floats(1), floats(1), floats(300)], set()),
    "neighbour, in place": (
        "if (i > 0) c[i] = c[i - 1] * 2;",
        lambda: [floats(1), floats(1), floats(300)],
        {("race in device memory", 2, 2), ("race across threadgroups", 2, 2)},
    ),
    "across threadgroups": (
        "c[i % 64] = i;",
        lambda: [floats(1), floats(1), floats(300)],
        {("race across threadgroups", 2, 2)},
    ),
    "all store the same": ("c[5] = 3;", lambda: [floats(1), floats(1), floats(300)], set()),
    "scattered sum": (
        "c[uint(b[i])] += 1;",
        lambda: [floats(1), floats(300) * 7 % 31, floats(300)],
        {("race in device memory", 2, 2), ("race across threadgroups", 2, 2)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_device_memory(name: str):
    body, arrays, expected = CASES[name]
    text = f"""kernel void k(device const float* a, device const float* b, device float* c, THREAD) {{
        {body}
    }}"""
    seen = both(text, arrays(), 300, 64)
    assert keys(seen.records) == expected


LOCAL = {
    "never written": ("", "o[i] = s[t];", {("threadgroup read before write", 5, 0)}),
    "partly written": ("if (t < 50) s[t] = t;", "o[i] = s[t];", {("threadgroup read before write", 5, 0)}),
    "written": ("s[t] = t;", "o[i] = s[63 - t];", set()),
    "into the neighbour": ("s[t] = t;", "o[i] = s[t + 1];", {("read outside", 5, 0)}),
    "all read, one writes": (
        "s[t] = t;",
        "float x = s[0]; if (t == 0) s[0] = 9; o[i] = x;",
        {("race in threadgroup memory", 5, 5)},
    ),
    "all store the same": ("s[1] = 5;", "o[i] = s[1];", set()),
    "one stores, all read": ("if (t == 7) s[1] = 5;", "o[i] = s[1];", set()),
}


@pytest.mark.parametrize("name", LOCAL)
def test_threadgroup_memory(name: str):
    before, after, expected = LOCAL[name]
    text = f"""kernel void k(device float* o, THREAD) {{
        threadgroup float s[64], other[64]; other[t] = 1;
        {before}
        {BARRIER}
        {after}
        o[i] += other[t];
    }}"""
    seen = both(text, [poison(128)], 128, 64)
    assert keys(seen.records) == expected


def test_lanes_of_a_simd_group_do_not_run_in_lockstep():
    text = """kernel void k(device float* o, THREAD) {
        threadgroup float s[32];
        s[t] = t;
        BETWEEN
        o[i] = s[31 - t];
    }"""
    seen = both(text.replace("BETWEEN", ""), [poison(64)], 64, 32)
    assert keys(seen.records) == {("lockstep", 3, 5)}
    between = "simdgroup_barrier(mem_flags::mem_threadgroup);"
    assert not both(text.replace("BETWEEN", between), [poison(64)], 64, 32).records
    between = "simdgroup_barrier(mem_flags::mem_none);"
    seen = both(text.replace("BETWEEN", between), [poison(64)], 64, 32)
    assert keys(seen.records) == {("flags do not cover", 3, 5)}


def test_a_barrier_that_some_do_not_reach():
    text = """kernel void k(device float* o, THREAD) {
        if (i > 100) return;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        o[i] = 1;
    }"""
    seen = both(text, [poison(128)], 128, 64)
    assert keys(seen.records) == {("barrier not reached", 2, 3)} and seen.stopped


ATOMIC = """kernel void k(device uint* o, THREAD) {
    threadgroup atomic_uint n[4];
    FIRST
    atomic_fetch_add_explicit(&n[t % 4], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    o[i] = LAST;
}"""


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (
            "if (t < 4) atomic_store_explicit(&n[t], 0u, memory_order_relaxed);" + BARRIER,
            "atomic_load_explicit(&n[t % 4], memory_order_relaxed)",
            set(),
        ),
        (
            "if (t < 4) ((threadgroup uint*)n)[t] = 0;",
            "((threadgroup uint*)n)[t % 4]",
            {("race in threadgroup memory", 3, 4)},
        ),
        ("", "((threadgroup uint*)n)[t % 4]", {("threadgroup read before write", 4, 0)}),
    ],
    ids=["clean", "plain start", "no start"],
)
def test_atomics(first: str, last: str, expected: set):
    seen = both(ATOMIC.replace("FIRST", first).replace("LAST", last), [np.zeros(128, np.uint32)], 128, 64)
    assert keys(seen.records) == expected


def test_a_histogram_of_atomics_is_clean():
    text = """kernel void k(device atomic_uint* h, device const uint* x, uint i [[thread_position_in_grid]]) {
        atomic_fetch_add_explicit(&h[x[i] % 8], 1u, memory_order_relaxed);
    }"""
    assert not both(text, [np.zeros(8, np.uint32), np.arange(128, dtype=np.uint32)], 128, 64).records


def test_device_memory_that_nobody_has_set():
    text = """kernel void k(device float* a, device float* o, uint i [[thread_position_in_grid]]) {
        if (i < 100) a[i] = i;
        o[i] = a[i];
    }"""
    assert not both(text, [poison(128), poison(128)], 128, 64).records
    seen = both(text, [poison(128), poison(128)], 128, 64, undefined=[0])
    assert keys(seen.records) == {("device read before write", 3, 0)}


def test_elements_of_several_sizes_in_one_buffer():
    text = """kernel void k(device uchar* o, uint i [[thread_position_in_grid]]) {
        ((device uint*)o)[i] = i;
        o[4 * i + 5] = 1;
    }"""
    seen = both(text, [np.zeros(600, np.uint8)], 128, 64)
    assert ("race in device memory", 2, 3) in keys(seen.records)
    text = """kernel void k(device half* o, device const half* a, uint i [[thread_position_in_grid]]) {
        o[i] = a[i] * 2;
    }"""
    assert not both(text, [np.zeros(128, np.float16), np.ones(128, np.float16)], 128, 64).records


def test_private_arrays_are_watched_too():
    text = """kernel void k(device float* o, device const uint* x, uint i [[thread_position_in_grid]]) {
        float a[5] = {1, 2, 3, 4, 5};
        for (uint j = 0; j < 5; j++) a[j] += x[i + j];
        o[i] = a[x[i]];
    }"""
    seen = both(text, [poison(64), np.arange(70, dtype=np.uint32) % 7], 64, 32)
    assert keys(seen.records) == {("read outside", 4, 0), ("outside an array", 4, 0)}


def test_one_buffer_bound_twice():
    text = """kernel void k(device float* o, device const float* x, uint i [[thread_position_in_grid]]) {
        o[i] = x[i + SHIFT];
    }"""
    same = floats(200)
    seen = both(text.replace("SHIFT", "0"), [same, same], 128, 64)
    assert not seen.records
    seen = both(text.replace("SHIFT", "1"), [same, same], 128, 64)
    assert ("race in device memory", 2, 2) in keys(seen.records)


def test_a_kernel_that_does_not_end_is_stopped():
    from tests.checker_engine.both import watch

    text = """kernel void k(device volatile float* o, uint i [[thread_position_in_grid]]) {
        while (o[0] >= 0) o[i + 1] = o[0];
    }"""
    seen = watch(text, [floats(64)], 32, 32, timeout=0.3)
    assert "still running" in seen.stopped
