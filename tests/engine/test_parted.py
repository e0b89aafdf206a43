"""Threadgroups that are no multiple of the lanes: only the last instance has idle ones, the others run without a mask."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu.lower.gang_width import choose
from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.errors import KernelFault
from metalloid.targets import x86
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import WIDE, launch, program, same, scalar_ir

RNG = np.random.default_rng(29)
HEAD = "kernel void k(device const float* a, device float* out, uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]]) "
KERNELS = {
    "plain": "{ out[i] = a[i] * 2 + 1; }",
    "loop": "{ float s = 0; for (uint k = 0; k < t % 5 + 1; k++) s += a[(i + k) % 900]; out[i] = s; }",
    "barrier": """{ threadgroup float s[1024]; s[t] = a[i]; threadgroup_barrier(mem_flags::mem_threadgroup);
        float x = s[n - 1 - t]; threadgroup_barrier(mem_flags::mem_threadgroup); s[t] = x + 1;
        threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = s[(t + 1) % n]; }""",
    "barriers in a loop": """{ threadgroup float s[1024]; float x = a[i];
        for (uint k = 1; k < 6; k++) { s[t] = x; threadgroup_barrier(mem_flags::mem_threadgroup); x += s[(t + k) % n]; threadgroup_barrier(mem_flags::mem_threadgroup); }
        out[i] = x; }""",
    "early return": "{ if (t % 3 == 1) return; out[i] = a[i] - 1; }",
    "sums of SIMD-groups": "{ out[i] = simd_sum(a[i]) + a[i]; }",
    "own array": "{ float v[4]; for (uint k = 0; k < 4; k++) v[k] = a[(i + k) % 900]; out[i] = v[t % 4]; }",
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("group", [100, 37, 333])
def test_results_are_the_oracles(name, group):
    arrays = [RNG.integers(-9, 10, 1000).astype(np.float32), np.full(1000, 77, np.float32)]
    for guard in (True, False):
        same(HEAD + KERNELS[name], arrays, 999, group, widths=(0, 32), guard=guard)


def test_whole_instances_have_code_without_a_mask():
    code = vector_stage(scalar_ir(HEAD + KERNELS["plain"], "k")[0], (1000, 1, 1), WIDE)
    whole = code.split("@segment0.all(")[1].split("\n}")[0]
    assert "masked" not in whole and "masked" in code.split("@segment0.some(")[1].split("\n}")[0]
    assert "@segment0.all(" not in vector_stage(scalar_ir(HEAD + KERNELS["plain"], "k")[0], (256, 1, 1), WIDE)


LONG = "{ float x = a[i];" + " x = x * a[(i + 1) % 900] + 0.5f;" * 100 + " out[i] = x; }"


def lanes_of(body, count):
    width = choose(canonical(scalar_ir(HEAD + body, "k")[0]), (count, 1, 1), x86.AVX512)
    assert width >= 16
    return -(-count // width) * width


@pytest.mark.parametrize("count, most", [(1000, 1024), (100, 112), (37, 48), (1023, 1024), (17, 32)])
def test_few_lanes_are_idle_where_the_code_is_long(count, most):
    assert lanes_of(LONG, count) <= most


@pytest.mark.parametrize("count, lanes", [(1000, 1024), (100, 128), (37, 64)])
def test_short_code_runs_in_few_gangs(count, lanes):
    """What a gang costs by itself is more than what its idle lanes do."""
    assert lanes_of(KERNELS["plain"], count) == lanes


@pytest.mark.parametrize("thread", [3, 98])
def test_a_fault_names_the_thread(thread):
    """In an instance with all lanes, and in the last."""
    text = HEAD + f"{{ out[i] = a[t == {thread} ? 5000 : i]; }}"
    arrays = [np.ones(200, np.float32), np.zeros(200, np.float32)]
    with pytest.raises(KernelFault) as caught:
        program(text, "k").run(launch(arrays, 100, 100))
    assert caught.value.finding.thread == (thread, 0, 0)
