"""Buffers past 4 GiB and grids past 2^32 threads. Hardly any of the memory is touched; nearly all threads return."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.errors import KernelFault
from tests.engine.both import HEADER

GIB = 1 << 30
KERNELS = f"""{HEADER}
kernel void bytes(device uchar* a, constant ulong& base, constant ulong& stride, uint i [[thread_position_in_grid]]) {{
    a[base + i * stride] += uchar(i + 1);
}}
kernel void words(device uint* a, constant ulong& base, uint i [[thread_position_in_grid]]) {{
    a[base + i] = a[base - 1 - i] + i;
}}
kernel void rows(device float4* a, constant uint& width, uint2 p [[thread_position_in_grid]]) {{
    a[ulong(p.y) * width + p.x] = float4(p.x, p.y, 1, 2);
}}
kernel void wraps(device uchar* a, uint i [[thread_position_in_grid]]) {{
    a[i * 0x40000000u + i] = uchar(i + 1);  // in 32 bits, as Metal does
}}
kernel void crosses(device uchar* a, constant uint& base, uint i [[thread_position_in_grid]]) {{ a[base + i] += 1; }}
kernel void count(device atomic_uint* seen, device atomic_uint* mix, uint3 p [[thread_position_in_grid]],
                  uint3 n [[threads_per_grid]], uint3 g [[threadgroup_position_in_grid]]) {{
    if (p.x % 32771u != 7u || p.y % 6007u != 3u) return;
    atomic_fetch_add_explicit(seen, 1u, memory_order_relaxed);
    atomic_fetch_xor_explicit(mix, p.x * 31u + p.y * 7u + p.z + g.x * 3u + n.x, memory_order_relaxed);
}}
"""


@pytest.fixture(scope="module")
def library() -> mt.Library:
    return mt.device("cpu").library(KERNELS)


@pytest.fixture
def memory():
    """5 GiB and a little, of which only touched pages exist."""
    try:
        return np.zeros(5 * GIB + 4096, np.uint8)
    except MemoryError:
        pytest.skip("5 GiB of addresses are not to be had here")


@pytest.mark.parametrize("guard", (True, False))
def test_bytes_past_2_to_the_32(library, memory, guard):
    for base, stride in ((4 * GIB - 70, 1), (4 * GIB + 9, 3), (5, 40_000_000), (0, 2**32 - 1)):
        n = 2 if stride == 2**32 - 1 else 130
        at = base + stride * np.arange(n)
        before = memory[at].copy()
        library["bytes"](memory, base, stride, grid=n, threadgroup=64, guard=guard)
        np.testing.assert_array_equal(memory[at], before + np.arange(1, n + 1, dtype=np.uint8))
        assert not memory[at + 1 if stride > 1 else at[-1:] + 1].any()
        memory[at] = 0


def test_words_past_4_gib(library, memory):
    a = memory.view(np.uint32)
    base = GIB + 50  # elements
    a[base - 100 : base] = np.arange(100) * 10
    library["words"](a, base, grid=100, threadgroup=32)
    np.testing.assert_array_equal(a[base : base + 100], np.arange(100)[::-1] * 10 + np.arange(100))


def test_rows_far_apart(library, memory):
    a = memory[: 5 * GIB].view(np.float32).reshape(-1, 4)
    width = a.shape[0] // 61
    library["rows"](a, width, grid=(3, 61), threadgroup=(3, 8))
    for y in range(61):
        for x in range(3):
            assert a[y * width + x].tolist() == [x, y, 1, 2]


def test_an_index_of_32_bits_wraps(library, memory):
    library["wraps"](memory, grid=70, threadgroup=35)
    assert [int(memory[i % 4 * GIB + i]) for i in range(71)] == [*range(1, 71), 0]


@pytest.mark.parametrize("guard", (True, False))
def test_an_index_of_32_bits_wraps_between_lanes(library, memory, guard):
    memory[:100] = 0
    library["crosses"](memory, 2**32 - 20, grid=50, threadgroup=50, guard=guard)
    assert memory[2**32 - 20 : 2**32].tolist() == [1] * 20 and not memory[2**32 : 2**32 + 40].any()
    assert memory[:30].tolist() == [1] * 30 and not memory[30]


def test_a_fault_past_4_gib_names_its_offset(library, memory):
    end = 5 * GIB + 4096
    with pytest.raises(KernelFault, match=rf"past 'a' \({end} bytes\)") as caught:
        library["bytes"](memory, end - 64, 1, grid=65, threadgroup=65)
    assert caught.value.finding.detail["offset"] == end and caught.value.finding.thread == (64, 0, 0)
    with pytest.raises(KernelFault, match="M101") as caught:
        library["bytes"](memory, 2**40, 1, grid=1, threadgroup=1)
    assert caught.value.finding.detail["offset"] == 2**40


@pytest.mark.parametrize(
    ("grid", "group"),
    [
        ((2**32 - 1, 1, 1), 1024),
        ((2**31 + 77, 3, 1), 1000),
        ((70_001, 70_003, 1), (1024, 1, 1)),
        ((40_000, 400, 300), (1000, 1, 1)),
    ],
)
def test_more_than_2_to_the_32_threads(library, grid, group):
    seen, mix = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    library["count"](seen, mix, grid=grid, threadgroup=group)
    xs, ys, zs = (
        np.arange(start, n, step, dtype=np.uint32)
        for start, n, step in zip((7, 3, 0), grid, (32771, 6007, 1), strict=True)
    )
    size = group if isinstance(group, int) else group[0]
    one = xs * 31 + xs // size * 3 + np.uint32(grid[0])
    values = one[:, None, None] + (ys * 7)[:, None] + zs
    assert seen[0] == values.size % 2**32
    assert mix[0] == np.bitwise_xor.reduce(values, axis=None)
