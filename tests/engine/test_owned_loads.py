"""Atomic loads and stores of threadgroup memory, which one processor runs: as vectors, by some lanes, by their numbers."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu.pipeline import vector_stage
from tests.engine.both import same, scalar_ir

HEAD = "kernel void k(device const uint* a, device uint* out, uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]])"
WAIT = "threadgroup_barrier(mem_flags::mem_threadgroup);"
STORE, LOAD = (
    "atomic_store_explicit(&s[{}], {}, memory_order_relaxed);",
    "atomic_load_explicit(&s[{}], memory_order_relaxed)",
)
BODIES = {
    "neighbours": f"threadgroup atomic_uint s[256]; {STORE.format('t', 'a[i]')} {WAIT} out[i] = {LOAD.format('n - 1 - t')};",
    "strided": f"threadgroup atomic_uint s[256]; for (uint b = t; b < 256; b += n) {STORE.format('b', 'b + 1')} {WAIT} out[i] = {LOAD.format('(a[i] * 7) % 256')};",
    "some": f"threadgroup atomic_uint s[256]; if (a[i] % 3) {STORE.format('t', 'a[i]')} {WAIT} out[i] = t % 5 ? {LOAD.format('n - 1 - t')} : 9;",
    "one place": f"threadgroup atomic_uint s[256]; {STORE.format('t % 4', '5u + t % 4')} {WAIT} out[i] = {LOAD.format('t % 4')} + {LOAD.format('3')};",
    "counted between": f"threadgroup atomic_uint s[256]; {STORE.format('t', '0u')} {WAIT} atomic_fetch_add_explicit(&s[a[i] % n], 2u, memory_order_relaxed); {WAIT} out[i] = {LOAD.format('t')};",
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("group", [32, 100])
def test_atomic_loads_and_stores(name, group):
    a = np.random.default_rng(3).integers(0, 99, 2 * group).astype(np.uint32)
    text = f"{HEAD} {{ {BODIES[name]} }}"
    same(text, [a, np.full(2 * group, 7, np.uint32)], 2 * group, group, widths=(0, 32))


def test_neighbours_are_one_store():
    code = vector_stage(scalar_ir(f"{HEAD} {{ {BODIES['neighbours']} }}", "k")[0], (64, 1, 1))
    assert "store atomic" not in code and "load atomic" not in code and "store <" in code
