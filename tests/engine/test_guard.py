"""A bad kernel is stopped, says why, and touches nothing that is not its own."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends import interpret
from metalloid.errors import KernelFault
from tests.engine.both import HEADER, launch, program, same, scalar_ir

WIDTHS = (1, 32)


def fault(text: str, arrays, grid, group, width: int = 32, **more) -> KernelFault:
    with pytest.raises(KernelFault) as caught:
        program(text, "k", width).run(launch(arrays, grid, group), **more)
    return caught.value


def window(n: int, dtype=np.float32) -> tuple[np.ndarray, np.ndarray]:
    """An array in the middle of a larger one whose rest must not change."""
    whole = np.full(n + 4096, 7, dtype)
    return whole, whole[2048 : 2048 + n]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_write_past_the_end_names_line_buffer_offset_and_thread(width):
    text = "kernel void k(device const float* a,\n  device float* b, uint i [[thread_position_in_grid]]) {\n  b[i] = a[i];\n}"
    whole, b = window(50)
    error = fault(text, [np.zeros(64, np.float32), b], 64, 32, width)
    found = error.finding
    assert found.rule == "M102" and found.buffer == 1 and found.offset == 200 and found.thread == (50, 0, 0)
    assert found.location.line == 5  # two lines of header before
    assert "buffer 1 'b' (200 bytes)" in str(error)
    assert (whole[:2048] == 7).all() and (whole[2098:] == 7).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_reads_far_outside_and_before_the_start(width):
    for index in ("i + 1000000000u", "long(i) - 40", "i * 4096"):
        text = f"kernel void k(device const float* a, device float* b, uint i [[thread_position_in_grid]]) {{ b[i] = a[{index}]; }}"
        error = fault(text, [np.zeros(64, np.float32), np.zeros(64, np.float32)], 64, 32, width)
        assert error.finding.rule == "M101" and error.finding.buffer == 0


@pytest.mark.parametrize("width", WIDTHS)
def test_a_scattered_write(width):
    text = "kernel void k(device const int* at, device int* b, uint i [[thread_position_in_grid]]) { b[at[i]] = 1; }"
    at = np.arange(64, dtype=np.int32)
    at[37] = -3
    whole, b = window(64, np.int32)
    error = fault(text, [at, b], 64, 64, width)
    assert error.finding.thread == (37, 0, 0) and error.finding.offset == -12
    assert (whole[:2048] == 7).all() and (whole[2112:] == 7).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_threadgroup_and_private_arrays_are_bounded(width):
    text = """kernel void k(device int* a, uint t [[thread_index_in_threadgroup]]) {
        threadgroup int s[32]; threadgroup int r[32];
        s[t + a[0]] = 1; r[t] = 5;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        a[t] = r[t] + s[t];
    }"""
    a = np.zeros(32, np.int32)
    a[0] = 8
    assert "threadgroup variable" in str(fault(text, [a], 32, 32, width))
    text = """kernel void k(device int* a, uint t [[thread_index_in_threadgroup]]) {
        int v[5]; for (int i = 0; i < 5; i++) v[i] = a[i] + int(t);
        v[a[1]] = 3; int r = 0; for (int i = 0; i < 5; i++) r += v[i] * v[a[i] & 3];
        a[t] = r;
    }"""
    a[1] = 5
    assert "private" in str(fault(text, [a], 32, 32, width))


@pytest.mark.parametrize("width", WIDTHS)
def test_an_atomic_outside(width):
    text = "kernel void k(device atomic_int* c, uint i [[thread_position_in_grid]]) { atomic_fetch_add_explicit(c + i, 1, memory_order_relaxed); }"
    assert fault(text, [np.zeros(40, np.int32)], 64, 64, width).finding.offset == 160


def test_an_unbound_buffer():
    text = "kernel void k(device const float* a, device float* b, uint i [[thread_position_in_grid]]) { b[i] = a[i]; }"
    with pytest.raises(KernelFault, match="not bound"):
        made = program(text, "k", 32)
        made.run(launch([], 8, 8))


@pytest.mark.parametrize("width", WIDTHS)
def test_a_pointer_into_one_of_two_buffers_that_goes_past_its_end(width):
    text = """kernel void k(device float* a, device float* b, device float* out, device const uint* n, uint i [[thread_position_in_grid]]) {
        device float* p = i < 40 ? b : a; for (uint j = 0; j < n[0]; j++) out[i] += p[i + j]; }"""
    _, b = window(16)
    given = [np.ones(65, np.float32), b, np.zeros(64, np.float32), np.ones(1, np.uint32)]
    error = fault(text, given, 64, 32, width)
    assert "where no buffer is, 0 bytes past the end of buffer 1 'b' (64 bytes)" in str(error)
    assert error.finding.rule == "M101" and error.finding.thread == (16, 0, 0)


def test_a_pointer_from_a_struct_is_looked_up():
    text = """struct Args { device float* p; int n; };
    kernel void k(constant Args& a, device float* out, uint i [[thread_position_in_grid]]) { out[i] = a.p[i]; a.p[i] = out[i] * 2; }"""
    k = mt.device("cpu").library(HEADER + text)["k"]
    p, out = np.arange(64, dtype=np.float32), np.zeros(70, np.float32)
    k({"p": p, "n": 64}, out, grid=64, threadgroup=32)
    np.testing.assert_array_equal(out[:64], np.arange(64))
    np.testing.assert_array_equal(p, 2 * np.arange(64))
    with pytest.raises(KernelFault):
        k({"p": p, "n": 64}, out, grid=70, threadgroup=32)


@pytest.mark.parametrize("width", (1, 32, 64))
def test_lanes_at_barriers_of_which_neither_leads_to_the_other(width):
    barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);"
    for condition in ("t & 1", "t < 40"):
        text = f"""kernel void k(device int* a, uint t [[thread_index_in_threadgroup]]) {{
            threadgroup int s[64]; s[t] = a[t];
            if ({condition}) {{ s[t] = 1; {barrier} }} else {{ {barrier} s[t] = 2; }} a[t] = s[63 - t]; }}"""
        assert fault(text, [np.zeros(64, np.int32)], 64, 64, width).finding.rule == "M204"


# As MLX's products of edge tiles: each SIMD-group has a loop of its own, with its own barriers.
COPIES = """kernel void k(device int* a, constant int& n, uint t [[thread_index_in_threadgroup]]) {
    threadgroup int s[96];
    int x = t;
    if (t >= 64) {
        for (int j = 0; j < n; j++) {
            s[t] = x; threadgroup_barrier(mem_flags::mem_threadgroup);
            x = s[t - 64] + 3; threadgroup_barrier(mem_flags::mem_threadgroup); }
    } else if (t >= 32) {
        for (int j = 0; j < n; j++) {
            s[t] = 2 * x; threadgroup_barrier(mem_flags::mem_threadgroup);
            x = s[t + 32] ^ 5; threadgroup_barrier(mem_flags::mem_threadgroup); }
        if (n > 2) { s[t] = 7; threadgroup_barrier(mem_flags::mem_threadgroup); x += s[t]; }
    } else {
        for (int j = 0; j < n; j++) {
            s[t] = x + 1; threadgroup_barrier(mem_flags::mem_threadgroup);
            x = s[t + 32]; threadgroup_barrier(mem_flags::mem_threadgroup); }
    }
    a[t] = x; }"""


@pytest.mark.parametrize("width", (1, 32, 64))
def test_simd_groups_meet_at_whichever_barrier_each_has_come_to(width):
    for n in (1, 2, 5):
        a = np.full(96, -1, np.int32)
        program(COPIES, "k", width).run(launch([a, np.array([n], np.int32)], 96, 96))
        low, middle, high = np.arange(96, dtype=np.int32).reshape(3, 32)
        for _ in range(n):
            low, middle, high = 2 * middle, high ^ 5, low + 4
        np.testing.assert_array_equal(a, np.concatenate([low, middle + 7 * (n > 2), high]))
        same(COPIES, [np.full(96, -1, np.int32), np.array([n], np.int32)], 96, 96, widths=(width,))
    report = mt.check(mt.device("cpu").library(HEADER + COPIES)["k"], a, np.int32(2), grid=96, threadgroup=96)
    assert "M204" in {f.rule for f in report.findings}


SKIPS = """kernel void k(device int* a, constant int& n, uint t [[thread_index_in_threadgroup]]) {
    threadgroup int s[64]; int x = 0; s[t] = t;
    for (int m = 0; m < 3; m++)
        for (int j = 0; j < n; j++) {
            if (a[t] == j + 10 * m) continue;
            threadgroup_barrier(mem_flags::mem_threadgroup);
            x += s[63 - t] & m;
            threadgroup_barrier(mem_flags::mem_threadgroup);
            s[t] = x;
        }
    a[t] = x; }"""


@pytest.mark.parametrize("width", (1, 32))
def test_a_barrier_in_different_iterations_counts_simd_groups(width):
    """Nobody's result is promised, but oracle and engine count alike, and nobody waits for ever."""
    n = np.array([4], np.int32)
    for some in ({0: 1}, {40: 12, 63: 11}, dict.fromkeys(range(32), 2)):
        a = np.full(64, 99, np.int32)
        a[list(some)] = list(some.values())
        text = SKIPS.replace(
            "s[63 - t] & m", "s[t] & m"
        )  # each thread its own: the order of SIMD-groups is open
        same(text, [a, n], 64, 64, widths=(width,))
    for right in (99, 2, 13):  # all leave out the same one
        same(SKIPS, [np.full(64, right, np.int32), n], 64, 64, widths=(width,))


ENDLESS = """kernel void k(device atomic_int* a, uint i [[thread_position_in_grid]]) {
    while (atomic_load_explicit(a, memory_order_relaxed) == 0) {}
    atomic_store_explicit(a, 2, memory_order_relaxed); }"""


@pytest.mark.parametrize("width", WIDTHS)
def test_a_runaway_kernel_stops_in_time(width):
    start = time.monotonic()
    error = fault(ENDLESS, [np.zeros(64, np.int32)], 64, 32, width, timeout=0.3)
    assert "0.3 s" in str(error) and time.monotonic() - start < 5
    program("kernel void k(device int* a, uint i [[thread_position_in_grid]]) { a[i] = 1; }", "k").run(
        launch([np.zeros(8, np.int32)], 8, 8)
    )


def test_control_c_stops_a_runaway_kernel():
    made = program(ENDLESS, "k", 32)
    made.variant(((32, 1, 1), False, False, True, False, None))
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        made.run(launch([np.zeros(64, np.int32)], 64, 32), timeout=20)
    time.sleep(0.01)


def test_without_the_guard_the_same_kernel_runs():
    text = "kernel void k(device const float* a, device float* b, uint i [[thread_position_in_grid]]) { b[i] = a[i] + 1; }"
    b = np.zeros(64, np.float32)
    program(text, "k", 32).run(launch([np.ones(64, np.float32), b], 64, 32), guard=False)
    assert (b == 2).all()


def test_a_masked_tail_is_no_fault():
    text = """kernel void k(device const float* a, device float* b, constant uint& n, uint i [[thread_position_in_grid]]) {
        if (i < n) b[i] = a[i]; }"""
    a, b = np.arange(50, dtype=np.float32), np.zeros(50, np.float32)
    program(text, "k", 32).run(launch([a, b, np.array([50], np.uint32)], 64, 64))
    np.testing.assert_array_equal(a, b)


def test_patterns_whose_bounds_are_not_those_of_one_lane():
    text = """kernel void k(device const float* a, device float* b, constant int& n, uint i [[thread_position_in_grid]]) {
        b[i] = a[int(i) * n - 4 * int(i)];
    }"""
    a, b = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    program(text, "k", 32).run(launch([a, b, np.array([5], np.int32)], 64, 64))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("step", ["n[0]", "0xef7bdef7bdef7bdful"])
@pytest.mark.parametrize("access", ["b[t] = a[at];", "a[at] = 1; a[at + 1] = 2;"])
def test_the_first_and_the_last_lane_inside_say_nothing_of_lanes_that_go_round_2_64(step, access):
    text = f"""kernel void k(device uchar* a, device uchar* b, device const ulong* n,
                 uint t [[thread_position_in_grid]]) {{ ulong at = ulong(t) * {step}; {access} }}"""
    n = pow(31, -1, 1 << 64)  # lane 31 is at the second byte
    found = fault(
        text, [np.zeros(64, np.uint8), np.zeros(64, np.uint8), np.array([n], np.uint64)], 32, 32, 32
    )
    assert found.finding.rule in ("M101", "M102") and found.finding.offset == n - (1 << 64)


ODD = {
    "an addition": "atomic_fetch_add_explicit(p, 1, memory_order_relaxed);",
    "an addition whose result is used": "a[t + 8] = atomic_fetch_add_explicit(p, 1, memory_order_relaxed);",
    "a load": "a[t + 8] = atomic_load_explicit(p, memory_order_relaxed);",
    "a store": "atomic_store_explicit(p, 7, memory_order_relaxed);",
    "a compare-exchange": "int e = 3; atomic_compare_exchange_weak_explicit(p, &e, 7, memory_order_relaxed, memory_order_relaxed);",
}


@pytest.mark.parametrize("what", ODD)
@pytest.mark.parametrize("place", ["n", "n + 4 * int(t)"])
def test_an_atomic_at_an_odd_address_stops_the_launch_instead_of_the_process(what, place):
    text = f"""kernel void k(device int* a, constant int& n, uint t [[thread_index_in_threadgroup]]) {{
        device atomic_int* p = (device atomic_int*)((device char*)a + {place}); {ODD[what]} }}"""
    ir, _ = scalar_ir(text, "k")
    for width in (1, 8):
        n = np.array([2], np.int32)
        found = fault(text, [np.zeros(64, np.int32), n], 8, 8, width).finding
        assert found.rule == "M103" and found.offset == 2
        program(text, "k", width).run(launch([np.zeros(64, np.int32), np.array([4], np.int32)], 8, 8))
    with pytest.raises(KernelFault, match="M103 atomic"):
        interpret.run(ir, launch([np.zeros(64, np.int32), n], 8, 8))
