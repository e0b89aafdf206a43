"""Loops whose first lane does more than the others: all lanes go round together, as they were written to."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends import interpret
from metalloid.compile import scalar
from metalloid.source import Source
from tests.engine.both import HEADER, launch, program, scalar_ir

QUEUE = """kernel void k(device atomic_uint* next, device const float* x, device float* y, constant uint& n,
                         device uint* counts, uint lane [[thread_index_in_simdgroup]],
                         uint i [[thread_position_in_grid]]) {
    uint count = 0;
    while (true) {
        uint item = START;
        if (WHO) item = atomic_fetch_add_explicit(next, 1u, memory_order_relaxed);
        item = simd_broadcast(item, FROM);
        if (item >= n) break;
        float s = simd_sum(x[item * 32 + lane]);
        EVERY
        if (WHO) y[item] = s;
    }
    counts[i] = count;
}"""
CASES = {
    "plain": {"START": "0", "WHO": "lane == 0", "FROM": "0", "EVERY": ""},
    "carried": {"START": "count", "WHO": "lane == 0", "FROM": "0", "EVERY": "count += item + lane;"},
    "another lane": {"START": "7", "WHO": "lane == 5", "FROM": "5", "EVERY": "count = item ^ count;"},
    "the others": {"START": "0", "WHO": "!(lane != 0)", "FROM": "0", "EVERY": "count += uint(s);"},
    "barrier": {
        "START": "0",
        "WHO": "lane == 0",
        "FROM": "0",
        "EVERY": "simdgroup_barrier(mem_flags::mem_none); count++;",
    },
}


def _queue(name: str) -> str:
    text = QUEUE
    for word in ("EVERY", "START", "WHO", "FROM"):
        text = text.replace(word, CASES[name][word])
    return text


def _counted(name: str, sums: np.ndarray) -> np.ndarray:
    lanes, items = np.arange(32, dtype=np.uint32), np.arange(len(sums), dtype=np.uint32)
    found = {
        "carried": items.sum() + len(items) * lanes,
        "another lane": np.bitwise_xor.reduce(items) + 0 * lanes,
        "the others": sums.astype(np.uint32).sum() + 0 * lanes,
        "barrier": len(items) + 0 * lanes,
    }
    return found.get(name, 0 * lanes).astype(np.uint32)


@pytest.mark.parametrize("name", CASES)
def test_a_queue_that_one_lane_takes_from(name):
    text, n = _queue(name), 23
    x = (np.arange(n * 32) % 9).astype(np.float32)
    sums = x.reshape(n, 32).sum(1)
    for how in ("oracle", 32, 0):
        y, counts, next_ = np.zeros(n, np.float32), np.full(32, 99, np.uint32), np.zeros(1, np.uint32)
        one = launch([next_, x, y, np.uint32([n]), counts], 32, 32)
        if how == "oracle":
            interpret.run(scalar_ir(text, "k")[0], one)
        else:
            program(text, "k", how).run(one, timeout=20.0)
        assert next_[0] == n + 1
        np.testing.assert_array_equal(y, sums)
        np.testing.assert_array_equal(counts, _counted(name, sums))


def test_several_simd_groups_share_a_queue_and_a_check_finds_nothing():
    text = _queue("plain")
    n, x = 50, (np.arange(50 * 32) % 9).astype(np.float32)
    kernel = mt.device("cpu").library(HEADER + text)["k"]
    for guard in (True, False):
        y, counts, next_ = np.zeros(n, np.float32), np.zeros(96, np.uint32), np.zeros(1, np.uint32)
        kernel(next_, x, y, np.uint32(n), counts, grid=96, threadgroup=96, guard=guard, timeout=20.0)
        np.testing.assert_array_equal(y, x.reshape(n, 32).sum(1))
        assert next_[0] == n + 3
    next_[:] = 0
    report = mt.check(kernel, next_, x, y, np.uint32(n), counts, grid=96, threadgroup=96, timeout=30.0)
    assert report.ok, report


def test_a_loop_that_lanes_leave_on_their_own_stays_as_it_is():
    text = """kernel void k(device const int* a, device int* o, uint i [[thread_position_in_grid]]) {
        bool odd = i & 1; int x = a[i], rounds = 0;
        while (true) { if (odd) x += 3; rounds++; if (x > 20 || rounds > 40) break; if (!odd) x += 2; }
        o[i] = x * 100 + rounds; }"""
    assert ".back" not in scalar(Source(HEADER + text, "k.metal"), "k")[0]


def test_loops_that_were_written_inside_each_other_stay_so():
    text = """kernel void k(device const int* a, device int* o, constant uint& given, constant int& n, device int* log,
                            uint i [[thread_position_in_grid]]) {
        const bool flag = given; const int most = a[i], m = n; int x = 0, j = 0;
        do {
            if (!flag) log[i * 8 + j] = x;
            int p = 1;
            do {
                int r = 0;
                do { x += simd_sum(p); r++; if (r > most) break; log[i * 8 + r] = x; } while (flag);
                p *= 10;
            } while (p < 1000);
            j++;
        } while (j < m);
        o[i] = x;
    }"""
    a = (np.arange(32) % 4).astype(np.int32)
    lanes = np.array([32, 24, 16, 8])  # that are still in the innermost loop, round by round
    for how in (32, 0):
        o = np.zeros(32, np.int32)
        arrays = [a, o, np.uint32([1]), np.int32([3]), np.zeros(512, np.int32)]
        program(text, "k", how).run(launch(arrays, 32, 32), timeout=20.0)
        np.testing.assert_array_equal(o[:4], 3 * 111 * np.cumsum(lanes))
