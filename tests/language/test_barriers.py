"""Barriers with all their flags, orders and scopes; fences."""

import re
from itertools import combinations

import numpy as np
import pytest

from metalloid.backends import interpret
from tests.language.launch import build, poisoned, run

FLAGS = {"mem_none": 0, "mem_device": 1, "mem_threadgroup": 2, "mem_texture": 4}
BITS = [set(c) for n in range(1, 5) for c in combinations(FLAGS, n)]
SCHEDULES = [interpret.Schedule("forward"), interpret.Schedule("reverse")]


def test_every_combination_of_flags() -> None:
    lines = [f"threadgroup_barrier({' | '.join(f'mem_flags::{f}' for f in sorted(c))});" for c in BITS]
    lines += [f"simdgroup_barrier({' | '.join(f'metal::mem_flags::{f}' for f in sorted(c))});" for c in BITS]
    built = build("kernel void k(device int* o) {\n" + "\n".join(lines) + "\no[0] = 1; }")
    for name in ("threadgroup", "simdgroup"):
        got = [
            int(n) for n in re.findall(rf"call void @__mt_{name}_barrier\(i32 (?:noundef )?(\d+)\)", built.ir)
        ]
        assert got == [sum(FLAGS[f] for f in c) for c in BITS]


SPELLINGS = [
    "threadgroup_barrier(mem_flags::mem_threadgroup)",
    "metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup)",
    "threadgroup_barrier(mem_flags::mem_device_and_threadgroup)",
    "threadgroup_barrier(mem_flags(3))",
    "threadgroup_barrier(mem_flags::mem_threadgroup, memory_order_relaxed)",
    "threadgroup_barrier(mem_flags::mem_threadgroup, thread_scope_threadgroup)",
    "threadgroup_barrier(mem_flags::mem_threadgroup, memory_order_acq_rel, thread_scope_device)",
    "threadgroup_barrier(mem_flags::mem_threadgroup, memory_order_seq_cst, thread_scope_simdgroup)",
    "atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_seq_cst, thread_scope_threadgroup);"
    " threadgroup_barrier(mem_flags::mem_threadgroup)",
    "atomic_thread_fence(mem_flags::mem_device, memory_order_acq_rel);"
    " threadgroup_barrier(mem_flags::mem_threadgroup)",
    "{ mem_flags f = mem_flags::mem_none; f |= mem_flags::mem_threadgroup; threadgroup_barrier(f); }",
    "simdgroup_barrier(mem_flags::mem_threadgroup)",
    "simdgroup_barrier(mem_flags::mem_none)",
    "simdgroup_barrier(mem_flags::mem_threadgroup, memory_order_acquire, thread_scope_simdgroup)",
]


@pytest.mark.parametrize("barrier", SPELLINGS)
def test_spellings_order_threads(barrier: str) -> None:
    size = 31 if "simdgroup_barrier" in barrier else 45
    body = f"""
kernel void k(device int* o, uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {{
  threadgroup int s[64];
  s[i] = i * 3;
  {barrier};
  int next = s[(i + 1) % n];
  {barrier};
  s[i] = next;
  {barrier};
  o[i] = s[(i + 1) % n];
}}"""
    for schedule in SCHEDULES:
        out = poisoned(size)
        run(body, out, grid=size, threadgroup=size, schedule=schedule)
        np.testing.assert_array_equal(out, (np.arange(size) + 2) % size * 3)


def test_barriers_in_loops_functions_and_uniform_branches() -> None:
    out = poisoned(40)
    run(
        """
template <typename T> T reduce(threadgroup T* s, uint i, uint n) {
  for (uint step = 1; step < n; step *= 2) {
    T other = i + step < n ? s[i + step] : T(0);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    s[i] += other;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  return s[0];
}
kernel void k(device int* o, uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]],
              uint g [[threadgroup_position_in_grid]], uint p [[thread_position_in_grid]]) {
  threadgroup int s[32];
  s[i] = p;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  int total = 0;
  if (g == 0) total = reduce(s, i, n);
  else { threadgroup_barrier(mem_flags::mem_device); total = -int(s[n - 1]); }
  o[p] = total;
}""",
        out,
        grid=40,
        threadgroup=25,
    )
    np.testing.assert_array_equal(out, [300] * 25 + [-39] * 15)
