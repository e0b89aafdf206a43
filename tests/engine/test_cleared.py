"""Threadgroup memory starts as zeros, in the second threadgroup as in the first: what is not cleared must be filled."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu.lower.byte_ranges import less, union
from metalloid.backends.cpu.pipeline import vector_stage
from tests.engine.both import same, scalar_ir

HEAD = "kernel void k(device const float* a, device float* out, uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]])"
WAIT = "threadgroup_barrier(mem_flags::mem_threadgroup);"
BODIES = {
    "neighbours below": f"threadgroup float s[256]; s[t] = a[i]; {WAIT} float x = t >= 3 ? s[t - 3] : 9.0f; {WAIT} out[i] = x;",
    "neighbours above": f"threadgroup float s[256]; s[t] = a[i]; {WAIT} out[i] = s[t + 5];",
    "two halves": f"threadgroup float s[2][128]; s[0][t] = a[i]; {WAIT} s[1][t] = t > 0 ? s[0][t - 1] : 1.0f; {WAIT} out[i] = s[1][n - 1 - t] + s[0][(t + 1) % n];",
    "two halves, one before": f"threadgroup float s[2][128]; s[0][t] = a[i]; {WAIT} float x = s[1][t]; {WAIT} s[1][t] = s[0][t]; {WAIT} out[i] = x + s[1][n - 1 - t];",
    "some threads": f"threadgroup float s[256]; if (t < 24) s[t] = a[i]; {WAIT} out[i] = s[t] + s[n - 1 - t];",
    "some by their number": f"threadgroup float s[256]; if (a[i] > 0) s[t] = a[i]; {WAIT} out[i] = s[n - 1 - t];",
    "one thread": f"threadgroup float s[64]; if (t == 0) s[3] = a[i]; {WAIT} out[i] = s[3] + s[t % 8];",
    "a way round": f"threadgroup float s[128]; if (a[0] > 2.0f) {{ s[t] = a[i]; {WAIT} }} out[i] = s[n - 1 - t];",
    "a loop": f"threadgroup float s[128]; float x = 0; for (uint d = 1; d < 5; d++) {{ x += s[n - 1 - t]; {WAIT} s[t] = a[i] * d; {WAIT} }} out[i] = x;",
    "scaled": f"threadgroup float s[512]; s[2 * t] = a[i]; {WAIT} out[i] = s[t + 1];",
    "its own group": f"threadgroup float s[128]; s[n - 1 - t] = a[i]; {WAIT} out[i] = s[t] + s[t + n / 2 < 128 ? t + n / 2 : 0];",
    "below a limit": f"threadgroup float s[256]; s[t] = a[i]; {WAIT} if (t < 16) out[i] = s[t + 16] + s[t + 130]; else out[i] = 0;",
    "some have left": f"threadgroup float s[2][128]; s[0][t] = a[i]; {WAIT} out[i] = 3; if (t >= 20) return; {WAIT} s[1][t] = s[0][t]; {WAIT} out[i] = s[1][n - 1 - t];",
    "before any": f"threadgroup float s[128]; float x = s[n - 1 - t]; {WAIT} s[t] = a[i]; {WAIT} out[i] = x + s[n - 1 - t];",
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("group", [32, 128, 100])
def test_zeros_in_every_threadgroup(name, group):
    text = f"{HEAD} {{ {BODIES[name]} }}"
    a = np.random.default_rng(3).integers(1, 99, 2 * group).astype(np.float32)
    a[::3] *= -1
    a[0] = 1
    same(text, [a, np.full(2 * group, 7, np.float32)], 2 * group, group, widths=(0, 32))


STEPS = f"threadgroup float s[2][512]; s[0][t] = a[i]; {WAIT} s[1][t] = t > 1 ? s[0][t - 2] : 1.0f; {WAIT} out[i] = s[1][t];"


@pytest.mark.parametrize("body", [BODIES["neighbours below"], STEPS])
@pytest.mark.parametrize("group", [32, 256])
def test_what_nobody_reads_unset_is_not_cleared(body, group):
    code = vector_stage(scalar_ir(f"{HEAD} {{ {body} }}", "k")[0], (group, 1, 1))
    assert "call void @llvm.memset" not in code


OF_GROUPS = HEAD.replace(
    "uint n [[",
    "uint lane [[thread_index_in_simdgroup]], uint part [[simdgroup_index_in_threadgroup]], uint n [[",
)
PARTS = f"threadgroup float s[32]; float x = simd_sum(a[i]); if (lane == 0) s[part] = x; {WAIT}"
PAIRS = f"threadgroup float2 s[32]; float x = simd_sum(a[i]); if (lane == 0) s[part] = float2(x, -x); {WAIT}"
TOTAL = "float y = 0; for (uint k = 0; k < n / 32; k++) y += s[k]; out[i] = y;"
BY_GROUPS = {  # and whether something is cleared, where there are several gangs; None: perhaps
    "a number": (f"{PARTS} {TOTAL}", False),
    "two numbers": (f"{PAIRS} {TOTAL.replace('s[k]', 's[k].x * 2 + s[k].y')}", False),
    "by the index": (
        f"{PARTS.replace('lane == 0', 't % 32 == 0').replace('[part]', '[t / 32]')} {TOTAL}",
        None,
    ),
    "the numbers of some": (f"{PARTS.replace('lane == 0', 'lane == 0 && x > 0')} {TOTAL}", True),
    "another lane": (f"{PARTS.replace('lane == 0', 'lane == 13')} {TOTAL}", True),
    "one too many": (f"{PARTS} {TOTAL.replace('n / 32', 'n / 32 + 1')}", True),
    "all": (f"{PARTS} out[i] = s[lane];", True),
    "in a loop": (
        f"{PARTS.replace('simd_sum(a[i])', 'a[i]').replace('if', 'for (uint k = 0; k < x; k++) if')} {TOTAL}",
        True,
    ),
}


FULL = ("all", "one too many")  # there 1,024 threads fill the whole array


@pytest.mark.parametrize("name", BY_GROUPS)
@pytest.mark.parametrize("group", [32, 128, 256, 80, 45])
def test_partial_sums_of_groups(name, group):
    body, cleared = BY_GROUPS[name]
    text = f"{OF_GROUPS} {{ {body} }}"
    a = np.random.default_rng(group).integers(-9, 9, 3 * group).astype(np.float32)
    same(text, [a, np.full(3 * group, 7, np.float32)], 3 * group, group)
    if group in (128, 256) and cleared is not None:
        for size in (group, 1024):
            code = vector_stage(scalar_ir(text, "k")[0], (size, 1, 1))
            assert ("call void @llvm.memset" in code) == (cleared and (size < 1024 or name not in FULL))


def test_sets_of_bytes():
    assert union([(4, 8), (0, 2), (8, 9), (2, 3)]) == [(0, 3), (4, 9)]
    assert union([(4, 8), (0, 2)], near=2) == [(0, 8)]
    assert less([(0, 10), (20, 30)], [(2, 4), (8, 25)]) == [(0, 2), (4, 8), (25, 30)]
    assert less([(0, 10)], []) == [(0, 10)] and less([(3, 5)], [(0, 9)]) == []


def test_sums_with_a_summand_in_common_are_not_gone_through_again_and_again():
    """x, y = y, x + y: the 40th has 100 million ways up, which took 20 minutes."""
    text = f"""kernel void k(device const uint* a, device float* out, uint t [[thread_position_in_threadgroup]]) {{
        threadgroup float s[64];
        if (t < 7) s[t] = t;
        {WAIT}
        uint x = a[t], y = a[t + 1];
        #pragma clang loop unroll(full)
        for (int k = 0; k < 40; k++) {{ uint z = x + y; x = y; y = z; }}
        if (y < 64) out[t] = s[y];
    }}"""
    assert "define" in vector_stage(scalar_ir(text, "k")[0], (128, 1, 1))
