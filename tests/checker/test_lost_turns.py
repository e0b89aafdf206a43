"""M210 and flags of threadgroup memory that one round reads and the next one clears."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt

TEXT = """#include <metal_stdlib>
using namespace metal;
kernel void sorted(device int* x, uint t [[thread_index_in_threadgroup]]) {
    threadgroup int s[32];
    threadgroup atomic_int moved;
    s[t] = x[t];
    while (true) {
        if (t == 0) atomic_store_explicit(&moved, 0, memory_order_relaxed);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint half_ = 0; half_ < 2; half_++) {
            uint a = 2 * t + half_;
            if (a + 1 < 32 && s[a] > s[a + 1]) {
                int other = s[a]; s[a] = s[a + 1]; s[a + 1] = other;
                atomic_store_explicit(&moved, 1, memory_order_relaxed);
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        int go_on = atomic_load_explicit(&moved, memory_order_relaxed);
        BARRIER
        if (!go_on) break;
    }
    x[t] = s[t];
}"""


@pytest.mark.parametrize("barrier", (True, False))
def test_a_flag_that_is_cleared_behind_a_barrier_loses_nothing(barrier):
    text = TEXT.replace("BARRIER", "threadgroup_barrier(mem_flags::mem_threadgroup);" if barrier else "")
    x = np.random.default_rng(0).permutation(32).astype(np.int32)
    report = mt.check(mt.device("cpu").library(text)["sorted"], x, grid=32, threadgroup=32)
    assert ("M210" in {f.rule for f in report.findings}) == (not barrier), report.text()
    assert not barrier or (x == np.arange(32)).all()
