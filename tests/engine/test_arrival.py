"""Barriers that not all threads come to. A barrier counts SIMD-groups that still run, as GPUs do."""

from __future__ import annotations

import re

import numpy as np
import pytest

from metalloid.analysis.barrier_arrival import Arrival, arrival
from metalloid.backends import interpret
from metalloid.backends.base import Fault
from metalloid.backends.cpu.build import cpu_program
from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.backends.patience import Patience
from metalloid.errors import KernelFault
from metalloid.ir import Function
from metalloid.transforms.canonicalize import ENTRY, canonical
from tests.engine.both import launch, program, same, scalar_ir

WAIT = "threadgroup_barrier(mem_flags::mem_threadgroup);"
KERNEL = """
kernel void k(device int* a, constant int& n, uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]], uint sg [[simdgroup_index_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]]) {
  threadgroup int s[128];
  int x = 0;
  a += g * 100;
  s[t] = a[t];
  BODY
  a[t] = x;
}"""
# How threads come to the barriers, and code that depends on each barrier being one.
BODIES: dict[str, tuple[Arrival, str]] = {
    "all": ("together", "WAIT x = s[(t + 7) % 64];"),
    "a condition that is the same for all": ("together", "if (n > 3) { WAIT x = s[(t + 7) % 64]; }"),
    "a flag in threadgroup memory": (
        "together",
        "WAIT if (s[3] == 3) { x = s[63 - t % 64]; WAIT s[t] = x; }",
    ),
    "threads return early": ("returned", "if (t >= 50) return; WAIT x = s[(t + 1) % 50];"),
    "a condition that lanes differ in": ("returned", "if (t < 40) { WAIT x = s[(t + 1) % 40]; }"),
    "SIMD-groups return early": (
        "returned",
        "if (sg > 0) return; WAIT x = s[t ^ 1]; WAIT s[t] = x; WAIT x += s[t ^ 2];",
    ),
    "one after the other returns from a loop": (
        "returned",
        """if (t >= 50) return;
        for (int i = 0; i < n; i++) {
            WAIT x += s[(t + 1 + i) % 50]; WAIT s[t] = x;
            if (t % 7 == uint(i)) { a[t] = 100 + i; return; }
        }""",
    ),
    "SIMD-groups pass by": (
        "parted",
        "if (sg == 0) { WAIT x = s[t ^ 1]; WAIT s[t] = x + 5; WAIT x += s[t ^ 2]; } WAIT s[t] = x; x += s[t];",
    ),
    "lanes leave a loop at different times": (
        "parted",
        "for (int i = 0; i < int(t % 5); i++) { s[t] += i; WAIT x += s[t]; } WAIT s[t] = x; WAIT x += s[t ^ 3];",
    ),
    "lanes that passed by wait for the others at a SIMD-group operation": (
        "parted",
        "if (lane < 16) { WAIT s[t] += 1; } x = simd_sum(s[t]);",
    ),
    "lanes pass by": (
        "parted",
        "if (t & 1) { WAIT s[t] += 1; } s[t] *= 2; x = simd_sum(s[t]); WAIT x += s[t ^ 1];",
    ),
}


def text_of(name: str) -> str:
    return KERNEL.replace("BODY", BODIES[name][1]).replace("WAIT", WAIT)


def function_of(name: str) -> Function:
    return canonical(scalar_ir(text_of(name), "k")[0]).function[ENTRY]


@pytest.mark.parametrize("name", BODIES)
def test_the_way_to_a_barrier_is_known(name: str) -> None:
    assert arrival(function_of(name), (64, 1, 1)) == BODIES[name][0]


def test_a_single_thread_comes_together_with_itself() -> None:
    assert all(arrival(function_of(name), (1, 1, 1)) == "together" for name in BODIES if "atomic" not in name)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("size", [64, 75])
def test_engine_and_oracle_count_alike(name: str, size: int) -> None:
    a, n = np.arange(300, dtype=np.int32), np.array([4], np.int32)
    same(text_of(name), [a, n], 3 * size, size, widths=(0, 8))
    same(text_of(name), [a, n], 3 * size, size, guard=False)


@pytest.mark.parametrize("name", [name for name, (way, _) in BODIES.items() if way == "parted"])
@pytest.mark.parametrize("how", ["baseline", "level 0"])
def test_waiting_gangs_need_no_optimiser(name: str, how: str) -> None:
    """75 threads: two gangs run one function, the third, with idle lanes, another."""
    ir, signature = scalar_ir(text_of(name), "k")
    patience = Patience() if how == "baseline" else None
    made = cpu_program(ir, signature, level=how == "baseline", patience=patience)
    right = [np.arange(300, dtype=np.int32), np.array([4], np.int32)]
    got = [a.copy() for a in right]
    interpret.run(ir, launch(right, 225, 75))
    made.run(launch(got, 225, 75))
    np.testing.assert_array_equal(got[0], right[0])
    assert all(v.compiled.baseline == (how == "baseline") for v in made._variants.values())


def test_who_calls_a_waiting_gang_calls_what_is_there() -> None:
    """The one function of two had neither the argument nor the result of a coroutine: LLVM made something of it."""
    text = vector_stage(scalar_ir(text_of("lanes pass by"), "k")[0], (75, 1, 1))
    made = {name: told for told, name in re.findall(r"^define \w+ (\w+) @(segment0[\w.]*)\(", text, re.M)}
    called = {name: told for told, name in re.findall(r"call (\w+) @(segment0[\w.]*)\(", text)}
    assert made == called == dict.fromkeys(("segment0", "segment0.all", "segment0.some"), "ptr")


def test_a_fault_behind_a_barrier_that_some_wait_at_ends_the_launch() -> None:
    text = KERNEL.replace("BODY", "if (t & 1) { WAIT x = a[t * n]; } WAIT s[t] = x;").replace("WAIT", WAIT)
    a, n = np.arange(300, dtype=np.int32), np.array([1 << 20], np.int32)
    for _ in range(20):
        with pytest.raises(KernelFault) as caught:
            program(text, "k").run(launch([a, n], 128, 64))
        assert isinstance(caught.value.finding, Fault) and caught.value.finding.rule == "M101"


def test_columns_past_the_end_return_before_the_barrier() -> None:
    """100 columns in two threadgroups of 64: what `col_reduce_small` of MLX does."""
    text = """kernel void k(device const float* x, device float* out, constant int& rows, constant int& cols,
        uint2 p [[thread_position_in_grid]], uint2 t [[thread_position_in_threadgroup]],
        uint2 size [[threads_per_threadgroup]]) {
      threadgroup float s[8][32];
      if (int(p.x) >= cols) return;
      float total = 0;
      for (int r = t.y; r < rows; r += size.y) total += x[r * cols + p.x];
      s[t.y][t.x] = total;
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (t.y == 0) {
        for (uint r = 1; r < size.y; r++) total += s[r][t.x];
        out[p.x] = total;
      }
    }"""
    x = np.random.default_rng(1).integers(0, 100, (13, 100)).astype(np.float32)
    sizes = [np.array([n], np.int32) for n in x.shape]
    out = np.full(100, np.nan, np.float32)
    _, got, *_ = same(text, [x, out, *sizes], (128, 8), (32, 8), widths=(0, 8, 32))
    np.testing.assert_array_equal(got, x.sum(0))
