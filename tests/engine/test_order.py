"""Loads and stores stay on their side of fences and atomics, though neighbours are read and written together."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends import interpret
from metalloid.backends.cpu.lower.access import load_groups
from metalloid.ir.intrinsics import CHANGES, TABLE, Effect, effect, intrinsic
from metalloid.ir.layout import data_layout
from metalloid.ir.read import read
from metalloid.transforms.canonicalize import ENTRY, canonical
from tests.engine.both import launch, program, same, scalar_ir

FENCE = "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);"
BETWEEN = {
    "a fence": FENCE,
    "an atomic load": "n += atomic_load_explicit(flag, memory_order_relaxed);",
    "an atomic store": "atomic_store_explicit(flag, n, memory_order_relaxed);",
    "an atomic addition": "atomic_fetch_add_explicit(flag, 1, memory_order_relaxed);",
    "a SIMD-group barrier": "simdgroup_barrier(mem_flags::mem_device);",
}
LOADS = """kernel void k(device const int4* p, device atomic_int* flag, device int* out,
                         uint i [[thread_position_in_grid]]) {
  int n = 0;
  device const int* q = (device const int*)(p + i);
  int x = q[1];
  BETWEEN
  int y = q[2], z = q[3];
  out[i] = x + y * 3 + z * 5 + n;
}"""


def groups_of(text: str) -> list[list[int]]:
    """The distances of elements that are loaded together."""
    module = canonical(scalar_ir(text, "k")[0])
    function, layout = module.function[ENTRY], data_layout(module.datalayout)
    found = [
        g
        for block in function.blocks
        for g in load_groups.find(
            function, block, layout, lambda _: False, lambda _, size: load_groups.MAX_BYTES
        ).values()
    ]
    return [[offset for offset, _ in group.loads] for group in found]


@pytest.mark.parametrize("what", BETWEEN)
def test_loads_do_not_pass(what: str) -> None:
    assert groups_of(LOADS.replace("BETWEEN", "")) == [[4, 8, 12]]
    text = LOADS.replace("BETWEEN", BETWEEN[what])
    assert groups_of(text) == [[8, 12]]
    data = np.random.default_rng(0).integers(0, 1000, (64, 4), dtype=np.int32)
    same(text, [data, np.zeros(1, np.int32), np.zeros(64, np.int32)], 64, 32, widths=(32,))


ALIASED = """kernel void k(device int* p, device atomic_int* q, device int* out, uint i [[thread_position_in_grid]]) {
  int x = p[4 * i];
  atomic_fetch_add_explicit(&q[4 * i + 1], 100, memory_order_relaxed);
  FENCE
  int y = p[4 * i + 1];
  atomic_store_explicit(&q[4 * i + 2], 7, memory_order_relaxed);
  int z = p[4 * i + 2];
  p[4 * i] = 1; p[4 * i + 1] = 2;
  int w = atomic_load_explicit(&q[4 * i + 1], memory_order_relaxed);
  p[4 * i + 2] = 3;
  out[i] = x + y * 10 + z * 1000 + w * 100000;
}"""


def test_what_an_atomic_of_the_same_memory_changes_is_seen() -> None:
    text = ALIASED.replace("FENCE", FENCE)
    memory, out = np.arange(128, dtype=np.int32), np.zeros(32, np.int32)
    start = memory.copy()
    interpret.run(scalar_ir(text, "k")[0], launch([memory, memory, out], 32, 32))
    for width in (0, 8, 32):
        for guard in (True, False):
            got, result = start.copy(), np.zeros(32, np.int32)
            program(text, "k", width).run(launch([got, got, result], 32, 32), guard=guard)
            np.testing.assert_array_equal(result, out)
            np.testing.assert_array_equal(got, memory)


def test_the_table_knows_every_call_of_a_kernel() -> None:
    ir, _ = scalar_ir(LOADS.replace("BETWEEN", " ".join(BETWEEN.values())), "k")
    for i in read(ir).function["__mt_entry"].instructions():
        if i.called.startswith("__mt_"):
            assert intrinsic(i.called) is not None, i.called


def test_effects() -> None:
    rows = {name: row.effect for name, row in TABLE.items()}
    assert rows["threadgroup_barrier"] & CHANGES and rows["fence"] == Effect.ORDERS
    assert rows["matrix_load_"] == Effect.READS and rows["matrix_store_"] == Effect.WRITES
    assert not rows["simd_"] and not rows["thread_position_in_grid"]
    module = read(scalar_ir(LOADS.replace("BETWEEN", BETWEEN["an atomic load"]), "k")[0])
    found = [effect(i) for i in module.function["__mt_entry"].instructions() if i.opcode == "load"]
    assert sum(bool(e & Effect.ORDERS) for e in found) == 1
