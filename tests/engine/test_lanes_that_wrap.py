"""Numbers of lanes that are shifted out of their type, and divided, widened and compared behind that."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import re

import numpy as np
import pytest

from metalloid.backends.cpu.build import cpu_program
from tests.engine.both import launch, same, scalar_ir

TEXT = """kernel void k(device uint* y, device ulong* z, device long* s, uint t [[thread_index_in_threadgroup]]) {
    uint v = t << SHIFT;
    y[6 * t] = v >> 1;
    y[6 * t + 1] = v / 3u;
    y[6 * t + 2] = v % 5u;
    y[6 * t + 3] = (v + 7u) >> 3;
    y[6 * t + 4] = v > 1000u;
    y[6 * t + 5] = uint(int(v) >> 2) ^ uint(int(v) / 3);
    z[t] = ulong(v) * 3;
    s[t] = long(int(v)) * 3;
}"""


@pytest.mark.parametrize("shift", [20, 26, 27, 28, 31])
@pytest.mark.parametrize("threads", [8, 32, 64, 100])
def test_what_is_shifted_out_is_gone(shift: int, threads: int) -> None:
    text = TEXT.replace("SHIFT", str(shift))
    arrays = [
        np.full(6 * threads, 9, np.uint32),
        np.full(threads, 9, np.uint64),
        np.full(threads, 9, np.int64),
    ]
    y, z, s = same(text, arrays, threads, threads, widths=(0, 16))
    v = np.arange(threads, dtype=np.uint64) << np.uint64(shift) & np.uint64(0xFFFFFFFF)
    assert (y[::6] == v >> np.uint64(1)).all() and (z == v * np.uint64(3)).all()
    assert (s == v.astype(np.uint32).view(np.int32).astype(np.int64) * 3).all()


def test_lanes_that_wrap_at_different_places_differ_by_different_numbers() -> None:
    """x - y is the same in all lanes as numbers of 32 bits, and not once they are wider."""
    text = """kernel void k(device ulong* o, device const uint* n, uint t [[thread_position_in_grid]]) {
        ulong x = ulong(uint(t + n[0])), y = ulong(uint(t + n[1])), d = x - y;
        o[2 * t] = d & 0xffffffffffffull;
        o[2 * t + 1] = d == 0xfffffff0ull ? 7 : d % 1000003;
    }"""
    o, _ = same(text, [np.zeros(128, np.uint64), np.array([0xFFFFFFF0, 0], np.uint32)], 64, 64, widths=(0, 8))
    assert o[0] == 0xFFFFFFF0 and o[1] == 7 and o[32] == (1 << 48) - 16


def test_a_large_number_that_lanes_are_multiplied_with_has_no_sign() -> None:
    text = """kernel void k(device ulong* o, device const uint* n, uint2 at [[thread_position_in_threadgroup]],
                 uint t [[thread_index_in_threadgroup]]) { o[t] = ulong(at.y * (n[0] & 0x80000001u)); }"""
    o, _ = same(text, [np.zeros(32, np.uint64), np.array([0xFFFFFFFF], np.uint32)], (16, 2), (16, 2))
    assert (o == np.repeat([0, 0x80000001], 16)).all()


def test_a_pattern_that_a_mask_takes_away_leaves_the_base() -> None:
    """clang writes another mask for this one, so it is put in afterwards: x is 0 or 1, and (x | 1) ^ 1 is 0."""
    text = """kernel void k(device uint* o, uint2 at [[thread_position_in_threadgroup]],
                 uint t [[thread_index_in_threadgroup]]) { o[t] = (at.x | 1u) + 77777u; }"""
    ir, signature = scalar_ir(text, "k")
    ir, count = re.subn(r"add (?:n[us]w )*i32 (%\S+), 77777", r"xor i32 \1, 1", ir)
    o = np.full(32, 9, np.uint32)
    cpu_program(ir, signature).run(launch([o], (2, 16), (2, 16)))
    assert count == 1 and not o.any()


@pytest.mark.parametrize(
    "index",
    [
        "uint x = t; for (uint k = 0; k < 5; k++) x += n[0]; s = a[x];",
        "uint x = t; for (uint k = 0; k < 5; k++) { x += n[0]; s = s * 0.5f + a[x]; }",
        "s = a[(t + 5 * n[0]) * 2 + 1];",
        "s = a[t + n[1]" + "".join(f" + n[{m}]" for m in range(2, 20)) + "];",
    ],
)
def test_lanes_whose_base_is_below_zero_are_no_sums_without_wrapping(index: str) -> None:
    """Only the lanes from 5 on run, so no index wraps; but that of lane 0, from which the others are counted, does."""
    text = f"""kernel void k(device const float* a, device float* o, constant uint* n, uint t [[thread_position_in_grid]]) {{
        float s = 0;
        if (t >= 5) {{ {index} o[t] = s; }}
    }}"""
    n = np.zeros(20, np.uint32)
    n[0], n[1] = 0xFFFFFFFF, 0xFFFFFFFB
    a = np.arange(1, 129, dtype=np.float32)
    o = same(text, [a, np.zeros(64, np.float32), n], 64, 64, widths=(0, 4, 16))[1]
    assert not o[:5].any() and (o[5:] > 0).all()
