"""The float of a few bits of a number: the same from a register's table as from a mask and a conversion."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import vector_stage
from tests.engine.both import same, scalar_ir

RNG = np.random.default_rng(5)
TYPES = {
    "uchar": np.uint8,
    "char": np.int8,
    "ushort": np.uint16,
    "short": np.int16,
    "uint": np.uint32,
    "int": np.int32,
    "ulong": np.uint64,
}
LOOKUP = "@llvm.x86.avx512.permvar"


def text(type: str, mask: int, of: str = "q[i]") -> str:
    return f"""kernel void k(device const {type}* q, device float* out, uint i [[thread_position_in_grid]]) {{
        out[i] = float({of} & {mask}) * 0.5f + float({of});
    }}"""


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("mask", [1, 3, 5, 7, 8, 15, 31])
def test_same_as_the_oracle(type, mask):
    dtype = np.dtype(TYPES[type])
    info = np.iinfo(dtype)
    numbers = RNG.integers(info.min, info.max, 100, dtype, endpoint=True)
    numbers[:32] = np.arange(32)
    out = same(text(type, mask), [numbers, np.full(100, np.nan, np.float32)], 100, 32, widths=(0, 16, 32))[1]
    wanted = (numbers & dtype.type(mask)).astype(np.float32) * np.float32(0.5) + numbers.astype(np.float32)
    np.testing.assert_allclose(out, wanted, rtol=1e-6)


@pytest.mark.skipif(not codegen.host().info.float_table, reason="AVX-512's own")
def test_only_where_the_register_has_all_of_them():
    looked_up = {
        m for m in range(1, 32) if LOOKUP in vector_stage(scalar_ir(text("uchar", m), "k")[0], (32, 1, 1))
    }
    assert looked_up == {1, 3, 7, 15}


def test_idle_lanes_do_not_matter():
    part = text("uchar", 15).replace("out[i] =", "if (i % 3) out[i] =")
    same(part, [np.arange(100, dtype=np.uint8), np.full(100, 7, np.float32)], 100, 32, widths=(0, 32))


@pytest.mark.parametrize("between", ["", "threadgroup_barrier(mem_flags::mem_device);"])
def test_a_mask_in_a_block_and_the_float_in_another(between):
    """What the mask was applied to is not there any more."""
    numbers = RNG.integers(0, 1 << 32, 128, np.uint32)
    part = f"""kernel void k(device const uint* q, device float* out, uint i [[thread_position_in_grid]]) {{
        uint d = q[i] & 15u;
        {between}
        if (d > 3u) {{
            float s = 0;
            for (uint j = 0; j < d; j++) s += float(q[j] >> 20);
            out[i] = s + float(d) * 2.5f;
        }}
    }}"""
    out = same(part, [numbers, np.zeros(128, np.float32)], 128, 128, widths=(0, 16, 32))[1]
    sums = np.concatenate([[0], np.cumsum((numbers >> 20).astype(np.float32))])
    wanted = [sums[d] + 2.5 * d if d > 3 else 0 for d in numbers & 15]
    np.testing.assert_array_equal(out, np.array(wanted, np.float32))
