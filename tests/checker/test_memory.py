"""What a check takes: time and memory go with the work and at most twice the buffers, and what was left out is said."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from metalloid.backends.cpu.checked.joined import Packed

CHILD = """
import resource, sys
import numpy as np
import metalloid as mt
text, size, grid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
kernel = mt.device().library("#include <metal_stdlib>\\nusing namespace metal;\\n" + text)["k"]
at = np.arange(64, dtype=np.uint32) * 1009
mt.check(kernel, np.ones(65536, np.float32), at, grid=64)
x = np.ones(size // 4, np.float32)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
report = mt.check(kernel, x, at, grid=grid)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before >> 10, report.ok, *report.left, sep="; ")
"""
SPARSE = """kernel void k(device float* x, device const uint* at, uint i [[thread_position_in_grid]]) {
    x[at[i % 64]] += i < 64 ? 1 : 0;
}"""
DENSE = """kernel void k(device float* x, device const uint* at, uint i [[thread_position_in_grid]]) {
    x[i] = x[i] + 1;
}"""


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are counted in another unit")
@pytest.mark.parametrize(
    ("text", "megabytes", "grid"), [(SPARSE, 512, 64), (DENSE, 96, 96 << 18)], ids=["64 threads", "all of it"]
)
def test_a_check_takes_at_most_twice_the_buffers_and_256_megabytes(text: str, megabytes: int, grid: int):
    command = [sys.executable, "-c", CHILD, text, str(megabytes << 20), str(grid)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    peak, ok, *left = done.stdout.strip().split("; ")
    assert int(peak) <= 2 * megabytes + 256 and ok == "True", done.stdout
    assert any("no copy is kept" in words for words in left)


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
def test_words_are_compared_and_looked_up_without_being_unpacked(kind: type):
    chance = np.random.default_rng(3)
    for words in (
        np.concatenate([np.zeros(5000), np.arange(70, 7000), np.zeros(40000)]).astype(kind),
        np.arange(100000).astype(kind),
        chance.integers(0, 1 << 30, 3000).astype(kind),
        np.zeros(0, kind),
    ):
        packed = Packed.of(words)
        np.testing.assert_array_equal(packed.array(), words)
        for least in (1, 70, 3000, 1 << 29):
            np.testing.assert_array_equal(packed.at_least(least), words >= least)
        places = chance.integers(0, max(1, len(words)), 50 * bool(len(words)))
        np.testing.assert_array_equal(packed.at(places), words[places])
