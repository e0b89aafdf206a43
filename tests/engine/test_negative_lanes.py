"""Indices that fall from lane to lane, or are negative: `n - 1 - t`, `~t`, `-t`, in every width."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.both import same

WIDTHS = (1, 8, 32, 64)
INDEX = {
    "unsigned from the size": "n - 1 - t",
    "unsigned from a constant": "63u - t",
    "complement": "n + ~t",
    "signed": "int(n) - 1 - int(t)",
    "negated": "int(63) + -int(t)",
    "ushort": "ushort(ushort(63) - ushort(t))",
    "xor": "t ^ 63",
    "long": "long(n) + ~long(t)",
    "short pattern": "63 + short(-short(t))",
}


@pytest.mark.parametrize("index", INDEX.values(), ids=INDEX)
def test_falling_indices_in_every_kind_of_memory(index):
    text = f"""kernel void k(device const float* a, device float* out, device float* via, threadgroup float* host [[threadgroup(0)]],
        uint t [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {{
        threadgroup float own[64];
        host[t] = a[t]; own[t] = a[t] * 2;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[t] = host[{index}] + own[{index}] + a[{index}];
        via[{index}] = a[t];
    }}"""
    a = np.arange(64, dtype=np.float32) + 1
    got = same(
        text, [a, np.zeros(64, np.float32), np.zeros(64, np.float32)], 64, 64, widths=WIDTHS, local={0: 256}
    )
    np.testing.assert_array_equal(got[1], a[::-1] * 4)
    np.testing.assert_array_equal(got[2], a[::-1])
