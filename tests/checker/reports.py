"""Reports to render: a race, an output that is written in part, a refused launch, a clean one."""

from __future__ import annotations

import contextlib

import numpy as np

import metalloid as mt

TEXT = """#include <metal_stdlib>
using namespace metal;

// <sum> & "rows"
kernel void row_sum(device const float* x [[buffer(0)]],
                    device float* out [[buffer(1)]],
                    uint i [[thread_position_in_threadgroup]],
                    uint row [[threadgroup_position_in_grid]],
                    uint size [[threads_per_threadgroup]]) {
    threadgroup float partial[64];
    partial[i] = x[row * size + i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = size / 2; step > 0; step /= 2) {
        if (i < step) partial[i] += partial[i + step];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0 && row < 5) out[row] = partial[0];
}

kernel void fill(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = 1; }
"""


def faulty() -> mt.Report:
    """A race at line 14, three of eight outputs unwritten, a threadgroup that is too large."""
    library = mt.device().library(TEXT, name="row sum.metal")
    with contextlib.suppress(mt.LaunchError), mt.checked() as report:
        x, out = np.ones((8, 64), np.float32), np.full(8, 7, np.float32)
        library["row_sum"](x, out, threadgroups=8, threadgroup=64)
        library["fill"](out, grid=8, threadgroup=2048)
    return report


def clean() -> mt.Report:
    library = mt.device().library(TEXT, name="row sum.metal")
    with mt.checked() as report:
        library["fill"](np.zeros(24, np.float32), grid=24, threadgroup=8)
    return report
