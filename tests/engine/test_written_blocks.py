"""Threads without loops that each write a block of their own, one after the other: packed weights, structs."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu.lower.lane_or_loop import alone
from metalloid.errors import KernelFault
from metalloid.targets import x86
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import launch, program, same, scalar_ir

RNG = np.random.default_rng(7)
UNPACK = """struct block {{ half d; uchar qs[16]; }};
kernel void k(device const block* a, device {t}* out, constant uint& n, uint i [[thread_position_in_grid]]) {{
    if (i >= n) return;
    float d = a[i].d;
    for (uint j = 0; j < 16; j++) {{
        out[i * 32 + j] = {t}(d * (float(a[i].qs[j] & 15) - 8.0f));
        out[i * 32 + 16 + j] = {t}(d * (float(a[i].qs[j] >> 4) - 8.0f));
    }} }}"""
SCALE = """kernel void k(device const float* a, device float* out, constant uint& n,
                  uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    float d = a[i * 32 + 31];
    for (uint j = 0; j < 16; j++) out[i * 32 + j] = a[i * 32 + j] * 2 + d; }"""
TYPES = {"float": np.float32, "half": np.float16}


def blocks(n: int) -> np.ndarray:
    a = np.zeros(n, np.dtype([("d", np.float16), ("qs", np.uint8, 16)]))
    a["d"], a["qs"] = RNG.uniform(-1, 1, n), RNG.integers(0, 256, (n, 16))
    return a.view(np.uint8)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("n", "group"), [(1, 32), (33, 7), (100, 64), (257, 256)])
def test_packed_weights(kind: str, n: int, group: int) -> None:
    """Guarded, and as a launch that is proved runs."""
    text, out = UNPACK.format(t=kind), np.full(32 * n, 77, TYPES[kind])
    arrays = [blocks(n), out, np.uint32([n])]
    expected = same(text, arrays, n + 5, group, baseline=True)
    again = [a.copy() for a in arrays]
    for _ in range(3):
        program(text, "k").run(launch(again, n, group))
    np.testing.assert_array_equal(again[1], expected[1])


@pytest.mark.parametrize("shift", [0, 1, 7, 15])
def test_a_block_that_lies_over_its_source(shift: int) -> None:
    """What a thread stores it loads again later: code for memory that is bound once must not run."""
    memory = RNG.uniform(-1, 1, 32 * 41).astype(np.float32)
    expected, got = memory.copy(), memory.copy()
    for i in range(40):
        d = expected[32 * i + 31]
        for at in range(32 * i, 32 * i + 16):
            expected[shift + at] = expected[at] * np.float32(2) + d
    for _ in range(3):
        got[...] = memory
        arrays = [got[:1280], got[shift : shift + 1280], np.uint32([40])]
        program(SCALE, "k").run(launch(arrays, 40, 8))
        np.testing.assert_array_equal(got, expected)


def test_a_block_that_ends_outside_is_told() -> None:
    out = np.zeros(32 * 64 - 1, np.float32)
    with pytest.raises(KernelFault) as caught:
        program(UNPACK.format(t="float"), "k").run(launch([blocks(64), out, np.uint32([64])], 64, 32))
    found = caught.value.finding
    assert (found.rule, found.thread[0]) == ("M102", 63)


SHORT = """kernel void k(device const float4* a, device float4* out, uint i [[thread_position_in_grid]]) {
    out[i] = a[i] * 2; }"""
UNLIKE = """kernel void k(device const float* a, device float* out, uint i [[thread_position_in_grid]]) {
    float s = 0;
    for (uint j = 0; j < 16; j++) { s = sin(s + a[i * 16 + j]); out[i * 16 + j] = s; } }"""


def test_which_kernels() -> None:
    """Rows of a register and more, made alike; not short ones, nor numbers that follow from each other."""
    chosen = {"unpack": UNPACK.format(t="float"), "scale": SCALE, "short": SHORT, "unlike": UNLIKE}
    found = {name: alone(canonical(scalar_ir(text, "k")[0]), x86.AVX512) for name, text in chosen.items()}
    assert found == {"unpack": {}, "scale": {}, "short": None, "unlike": None}
