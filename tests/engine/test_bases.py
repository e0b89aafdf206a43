"""Neighbouring elements by sums of 32 bits: a[x + 1], a[x + 2]. They share a base, but not where a sum wraps."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.analysis.intervals import NO_WRAP
from metalloid.ir import Block
from metalloid.ir.values import Int
from metalloid.records import replace
from metalloid.transforms.canonicalize import ENTRY, canonical
from metalloid.transforms.common_gep_base import share
from tests.engine.both import same, scalar_ir

RNG = np.random.default_rng(9)
HEAD = "kernel void k(device const float* a, device float* out, constant uint& n, uint i [[thread_position_in_grid]]) "
KERNELS = {
    "four at a time": "{ uint x = i * 4; out[i] = a[x] + 2 * a[x + 1] + 3 * a[x + 2] + 5 * a[x + 3]; }",
    "a row, unrolled": """{ float s = 0;
        for (uint k = 0; k + 3 < n; k += 4) s += a[i * n + k] + 2 * a[i * n + k + 1] - 3 * a[i * n + k + 2] + 5 * a[i * n + k + 3];
        out[i] = s; }""",
    "signed": "{ int x = int(i) * 2; out[i] = a[x] - 2 * a[x + 1]; }",
    "round the end": "{ uint x = i - 1; out[i] = a[x + 1] + 2 * a[x + 2] + 3 * a[x + 3]; }",
    "far round the end": "{ uint x = 0xfffffff0u + i; out[i] = x < 40 ? a[x] + 2 * a[x + 1] : a[x + 40]; }",
    "squares": "{ uint x = i * i; out[i] = a[x & 1023] + 2 * a[(x & 1023) | 1] + 3 * a[(x & 1023) + 1]; }",
    "stencil": "{ if (i > 0 && i + 1 < n) out[i] = a[i - 1] + 2 * a[i] + 3 * a[i + 1]; }",
    "pairs of a block": "{ uint x = n * 8 + 2 * i; out[i] = a[x] + 2 * a[x + 1]; }",
    "stored": "{ uint x = i * 3; out[x] = a[x + 2]; out[x + 1] = a[x]; out[x + 2] = a[x + 1]; }",
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("count, group, row", [(96, 32, 8), (70, 64, 13), (33, 7, 30)])
def test_neighbours_are_what_the_oracle_reads(name, count, group, row):
    a = RNG.integers(-9, 10, 2100).astype(np.float32)
    arrays = [a, np.full(300, 77, np.float32), np.array([row], np.uint32)]
    for guard in (True, False):
        same(HEAD + KERNELS[name], arrays, count, group, widths=(0, 32), guard=guard)


def test_whole_sums_that_end_in_a_bit_have_the_base_of_others():
    """a[8 * n + 2 * i] and a[8 * n + 2 * i + 1], where the one is an `or`: a scan of 64 took twice as long."""
    function = canonical(scalar_ir(HEAD + KERNELS["pairs of a block"], "k")[0]).function[ENTRY]
    marked = [
        Block(
            b.name,
            tuple(
                replace(i, metadata=(*i.metadata, (NO_WRAP, "!{}"))) if i.opcode == "zext" else i
                for i in b.instructions
            ),
        )
        for b in function.blocks
    ]
    shared = share(function.with_blocks(tuple(marked)))
    steps = [i.operands[1] for i in shared.instructions() if i.opcode == "getelementptr"]
    assert {s.value for s in steps if isinstance(s, Int)} == {0, 1}


def distances(name: str) -> list[int]:
    """How many elements each address of the kernel is from a shared base."""
    function = share(canonical(scalar_ir(HEAD + KERNELS[name], "k")[0]).function[ENTRY])
    steps = [i.operands[1] for i in function.instructions() if i.opcode == "getelementptr"]
    return sorted(s.value for s in steps if isinstance(s, Int))


def test_bits_that_are_zero_need_no_proof():
    assert distances("four at a time") == [0, 1, 2, 3]


def test_sums_that_may_wrap_share_nothing():
    assert distances("round the end") == [] and distances("stored") == []
