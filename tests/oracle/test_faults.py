"""What a kernel must not do stops it, with the line, the thread and the buffer."""

import numpy as np
import pytest

from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.errors import KernelFault, LaunchError
from tests.oracle.launch import run


def fault(body: str, *buffers: np.ndarray, grid=8, threadgroup=8, **options) -> KernelFault:
    with pytest.raises(KernelFault) as caught:
        run(body, *buffers, grid=grid, threadgroup=threadgroup, **options)
    return caught.value


def test_a_write_past_the_end_names_line_buffer_and_thread() -> None:
    out = np.zeros(6, np.float32)
    body = "\nkernel void k(device float* o,\n  uint i [[thread_position_in_grid]]) {\n  o[i] = 1;\n}"
    found = fault(body, out).finding
    assert (found.rule, found.buffer, found.offset, found.thread) == ("M102", 0, 24, (6, 0, 0))
    assert found.location.line == 6 and "24 bytes" in found.message


def test_a_read_before_the_start() -> None:
    found = fault(
        "kernel void k(device float* o, uint i [[thread_position_in_grid]]) { o[i] = o[int(i) - 3]; }",
        np.zeros(8, np.float32),
    ).finding
    assert (found.rule, found.offset) == ("M101", -12)


def test_threadgroup_and_private_arrays_have_ends_too() -> None:
    body = """kernel void k(device int* o, uint i [[thread_position_in_grid]]) {
  threadgroup int s[4]; s[i] = i; threadgroup_barrier(mem_flags::mem_threadgroup); o[i] = s[7 - i]; }"""
    assert "threadgroup variable 's'" in str(fault(body, np.zeros(8, np.int32)))
    body = """kernel void k(device int* o, uint i [[thread_position_in_grid]]) {
  int s[4]; for (uint j = 0; j < 4; j++) s[j] = o[j]; s[o[i] + i] = 7; o[i] = s[o[0]]; }"""
    assert "private variable" in str(fault(body, np.zeros(8, np.int32)))


def test_a_read_only_array_cannot_be_written() -> None:
    out = np.zeros(8, np.float32)
    out.flags.writeable = False
    body = "kernel void k(device float* o, uint i [[thread_position_in_grid]]) { o[i] = 1; }"
    assert fault(body, out).finding.rule == "M107"


def test_two_barriers_at_once() -> None:
    body = """kernel void k(device int* o, uint i [[thread_position_in_grid]]) {
  if (i > 5) { o[i] = 2; threadgroup_barrier(mem_flags::mem_device); o[0] = 3; }
  else { threadgroup_barrier(mem_flags::mem_device); o[i] = 1; } }"""
    assert "at the barrier in line 4" in str(fault(body, np.zeros(8, np.int32)))


def test_a_buffer_that_is_not_bound() -> None:
    body = "kernel void k(device int* o [[buffer(3)]], uint i [[thread_position_in_grid]]) { o[i] = 1; }"
    assert "buffer 3, which is not bound" in str(fault(body))


def test_threadgroup_memory_without_a_size() -> None:
    body = """kernel void k(device int* o, threadgroup int* s [[threadgroup(1)]],
                   uint i [[thread_position_in_grid]]) {
  s[i] = i; threadgroup_barrier(mem_flags::mem_threadgroup); o[i] = s[7 - i]; }"""
    out = np.zeros(8, np.int32)
    assert "threadgroup memory 1, which has no size" in str(fault(body, out))
    run(body, out, grid=8, threadgroup=8, threadgroup_memory={1: 32})
    assert out.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]


def test_an_endless_loop_is_stopped() -> None:
    body = """kernel void k(device atomic_int* o) {
  while (atomic_load_explicit(o, memory_order_relaxed) == 0) {} }"""
    assert "still running" in str(fault(body, np.zeros(1, np.int32), step_limit=1000))


def test_a_wild_pointer_from_an_argument_buffer() -> None:
    body = """struct A { device int* p; };
kernel void k(constant A& a, uint i [[thread_position_in_grid]]) { a.p[i] = 1; }"""
    assert "null pointer" in str(fault(body, np.zeros(1, np.uint64)))
    near = fault(body, np.array([0x5000], np.uint64), resources=[(0x4000, np.zeros(16, np.uint8))])
    assert "resource at 0x4000" in str(near)


def test_a_function_constant_without_a_value() -> None:
    text = """@__mt_constant_2 = external addrspace(1) constant i32
define void @__mt_entry() {
  ret void
}
"""
    with pytest.raises(LaunchError, match="__mt_constant_2"):
        interpret.run(text, Launch((1, 1, 1), (1, 1, 1)))
