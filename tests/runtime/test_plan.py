"""Repeated launches take a short road; it must lead to the same place as the long one."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import metalloid as mt

SOURCE = """#include <metal_stdlib>
using namespace metal;
kernel void copy(device const float* a, device float* c, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i < n) c[i] = 2 * a[i]; }
kernel void say(device float* c, constant int& n, uint i [[thread_position_in_grid]]) {
    if (i == 0 && n < 0) os_log_default.log("n is %d", n);
    c[i] = n; }
"""
N = 64


@pytest.fixture
def copy() -> mt.Kernel:
    return mt.device("cpu").library(SOURCE)["copy"]


def arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(1, N + 1, dtype=np.float32), np.full(N, np.nan, np.float32)


def expected(a: np.ndarray, n: int) -> np.ndarray:
    return np.where(np.arange(len(a)) < n, 2 * a, np.nan).astype(np.float32)


def test_every_number_counts_however_often_others_came_before(copy: mt.Kernel) -> None:
    a, c = arrays()
    for n in [N] * 5 + [0, 1, N - 1, N, 7] * 3 + list(range(200)):
        c[:] = np.nan
        copy(a, c, n, grid=N, threadgroup=32)
        np.testing.assert_array_equal(c, expected(a, n))


def test_what_was_proved_for_one_length_is_not_believed_of_another(copy: mt.Kernel) -> None:
    a, c = arrays()
    for _ in range(4):
        copy(a, c, N, grid=2 * N, threadgroup=32)
    for short in (a[: N - 1], a[:1]):
        for _ in range(3):
            with pytest.raises(mt.KernelFault, match="out-of-bounds read"):
                copy(short, c, N, grid=2 * N, threadgroup=32)
            with pytest.raises(mt.KernelFault, match="out-of-bounds"):
                copy(a, c, N + 1, grid=2 * N, threadgroup=32)
            c[:] = np.nan
            copy(a, c, N, grid=2 * N, threadgroup=32)
            np.testing.assert_array_equal(c, expected(a, N))


def test_a_parameter_in_an_array_may_change_between_launches(copy: mt.Kernel) -> None:
    a, c = arrays()
    n = np.array([N], np.uint32)
    for value in (N, N, N, 3, 3, 3, N):
        n[0] = value
        c[:] = np.nan
        copy(a, c, n, grid=N, threadgroup=32)
        np.testing.assert_array_equal(c, expected(a, value))
    n[0] = N + 1
    with pytest.raises(mt.KernelFault):
        copy(a, c, n, grid=2 * N, threadgroup=32)


def test_memory_that_overlaps_is_refused_after_memory_that_does_not(copy: mt.Kernel) -> None:
    whole = np.arange(2 * N, dtype=np.float32)
    for _ in range(3):
        copy(whole[:N], whole[N:], N, grid=N, threadgroup=32)
        with pytest.raises(mt.LaunchError, match="overlap"):
            copy(whole[:N], whole[N - 1 : -1], N, grid=N, threadgroup=32)


def test_a_launch_that_logged_leaves_nothing_for_the_next() -> None:
    say = mt.device("cpu").library(SOURCE)["say"]
    c = np.zeros(N, np.float32)
    lines: list[str] = []
    say.on_log = lambda message: lines.append(message.text)
    for n in (1, 2, -3, 4, -3, -3, 5):
        say(c, n, grid=N, threadgroup=32)
        assert (c == n).all()
    assert lines == ["n is -3"] * 3


def test_threads_do_not_share_their_numbers(copy: mt.Kernel) -> None:
    wrong: list[int] = []

    def work(n: int) -> None:
        a, c = arrays()
        for _ in range(200):
            c[:] = np.nan
            copy(a, c, n, grid=N, threadgroup=32)
            if not np.array_equal(c, expected(a, n), equal_nan=True):
                wrong.append(n)

    running = [threading.Thread(target=work, args=(n,)) for n in (1, 5, 33, N)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not wrong
