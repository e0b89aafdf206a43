"""Accesses of some lanes: right on this processor, and without a branch for each lane where it has no instruction."""

from __future__ import annotations

import re

import numpy as np
import pytest

from metalloid.backends.cpu.codegen import Target
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import WIDE, same, scalar_ir

NEON = Target("apple-m1", "+neon", "aarch64-unknown-linux-gnu")
RNG = np.random.default_rng(131)
# Gathers, scatters, neighbours and bytes, in lanes that the data chooses.
MIXED = """kernel void k(device const TYPE* a, device TYPE* out, device const uint* at, constant uint& n,
    uint i [[thread_position_in_grid]]) {
    if (at[i] % 3 != 0) {
        TYPE x = a[at[i] % n];
        out[i] = x;
        if (x > TYPE(2)) out[n + (at[i] * 7 + i) % n] = TYPE(a[i] + x);
    }
}"""
# Some lanes of each SIMD-group pass a barrier: the gang is a coroutine. (Program 131 of the fuzz found that LLVM leaves
# an alloca on a coroutine's stack.)
SUSPENDED = """kernel void k(device const uint* a, device uint* out, uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint size [[threads_per_threadgroup]]) {
    threadgroup uint few[96];
    uint kept = a[i], got = 5;
    if (lane < 15) {
        few[t] = kept << (a[95 - t] & 7); threadgroup_barrier(mem_flags::mem_threadgroup);
        got += few[(t + 32) % size & ~31u]; threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[2 * i] = kept; out[2 * i + 1] = got;
}"""


@pytest.mark.parametrize(
    "type, kind", [("float", "f4"), ("uchar", "u1"), ("short", "i2"), ("long", "i8"), ("half", "f2")]
)
def test_lanes_that_are_off_touch_nothing(type, kind):
    n = 203
    a = RNG.integers(0, 6, n).astype(kind)
    at = (np.arange(n) * 11 + 1).astype(np.uint32)  # every address is stored to once
    arrays = [a, np.full(2 * n, 77, kind), at, np.array([n], np.uint32)]
    same(MIXED.replace("TYPE", type), arrays, n, 64, widths=(0, 8, 32))


@pytest.mark.parametrize("size", [1, 17, 33, 65])
@pytest.mark.parametrize(
    "long, short", [("int", "char"), ("uint", "ushort"), ("long", "int"), ("ulong", "uchar")]
)
def test_a_lane_alone_writes_no_more_than_its_number(long, short, size):
    """The last gang has one lane: LLVM stored a number of 32 or 64 bits where a byte of it was meant."""
    text = f"""kernel void k(device const {long}* a, device {short}* y, uint i [[thread_position_in_grid]]) {{
        y[i] = {short}(a[i] * 3 + a[i + 1]); }}"""
    kinds = {
        "int": "i4",
        "uint": "u4",
        "long": "i8",
        "ulong": "u8",
        "char": "i1",
        "ushort": "u2",
        "uchar": "u1",
    }
    a = RNG.integers(0, 1 << 30, size + 1).astype(kinds[long])
    same(text, [a, np.full(size + 16, 77, kinds[short])], size, size, widths=(0, 8, 16, 32), baseline=True)


def test_lanes_that_are_off_touch_nothing_in_a_coroutine():
    a = RNG.integers(0, 1 << 20, 192).astype(np.uint32)
    same(SUSPENDED, [a, np.full(384, 9, np.uint32)], 192, 96)


@pytest.mark.parametrize("target, branches", [(NEON, False), (WIDE, True)])
def test_a_processor_without_masked_instructions_is_asked_for_all_lanes(target, branches):
    """LLVM writes a branch for each lane of a masked access that NEON cannot do."""
    module = canonical(scalar_ir(MIXED.replace("TYPE", "float"), "k")[0])
    text = vector_code(module, ((64, 1, 1), False, False, False, False, None), 0, target).text
    accesses = re.findall(r"call .*@llvm\.masked\.\w+\..*", text)
    masked = [line for line in accesses if "splat (i1 true)" not in line]
    assert accesses and bool(masked) == branches
