"""A launch needs little memory beside its buffers: measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
import numpy as np
import metalloid as mt

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

library = mt.device("cpu").library('''
#include <metal_stdlib>
using namespace metal;
kernel void add(device const float* a, device const float* b, device float* c, uint i [[thread_position_in_grid]]) {
    c[i] = a[i] + b[i];
}
kernel void sums(device const float* a, device float* c, uint i [[thread_position_in_grid]],
                 uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
    threadgroup float s[1024]; float p[64];
    for (int k = 0; k < 64; k++) p[k] = a[i] * k;
    s[t] = p[t & 63]; threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 512; k; k >>= 1) { if (t < k) s[t] += s[t + k]; threadgroup_barrier(mem_flags::mem_threadgroup); }
    if (t == 0) c[g] = s[0] + p[g & 63];
}''')
n = 16 << 20
a, b, c = (np.ones(n, np.float32) for _ in range(3))
library["add"](a[:1024], b[:1024], c[:1024], grid=1024)  # the compiler's memory is not the launch's
library["sums"](a[:1024], c[:1], grid=1024, threadgroup=1024)
before = peak()
library["add"](a, b, c, grid=n, threadgroup=256)
library["sums"](a, c[: n // 1024], grid=n, threadgroup=1024)
library["add"](a[: n - 3], b[: n - 3], c[: n - 3], grid=n - 3, threadgroup=250)
print(peak() - before)
"""
ALLOWED = 64 << 20  # bytes, all threadgroup memory and scratch included


@pytest.mark.skipif(sys.platform == "win32", reason="Windows counts its memory in another way")
def test_a_launch_takes_less_than_64_mb_beside_its_buffers():
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=250, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) < ALLOWED
