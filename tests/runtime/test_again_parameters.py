"""A launch whose parameters are memory runs once more as it is while they hold the same; a change is seen."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import metalloid as mt
from metalloid.runtime.plan import Plan

SOURCE = """#include <metal_stdlib>
using namespace metal;
struct Args { uint n; float x; };
kernel void scale(device const float* a, constant Args& args, device float* out, constant uint* from [[buffer(5)]],
                  uint i [[thread_position_in_grid]]) {
    out[i] = i < args.n ? a[i + from[0]] * args.x : -1;
}
"""
ARGS = np.dtype([("n", np.uint32), ("x", np.float32)])
A = np.arange(1, 101, dtype=np.float32)


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts launches whose arguments were looked at."""
    count, bind = [0], Plan.bind

    def counted(*given, **named):
        count[0] += 1
        return bind(*given, **named)

    monkeypatch.setattr(Plan, "bind", counted)
    return count


def expected(n: int, x: float, at: int = 0) -> np.ndarray:
    return np.where(np.arange(77) < n, A[at : at + 77] * np.float32(x), -1)


@pytest.mark.parametrize("kind", ["array", "buffer", "the caller's own"])
def test_what_a_parameter_holds_is_compared(kind: str, looked: list[int]) -> None:
    device = mt.device("cpu")
    kernel = device.library(SOURCE)["scale"]
    own, start = np.zeros(8, np.uint8), np.zeros(1, np.uint32)
    args = own if kind == "array" else device.buffer(own, copy=kind == "buffer")
    holds = own if kind != "buffer" else args.numpy()
    out = np.empty(77, np.float32)

    def right(n: int, x: float) -> None:
        holds.view(ARGS)[0] = n, x
        out.fill(np.nan)
        kernel(A, args, out, start, grid=77, threadgroup=16)
        np.testing.assert_array_equal(out, expected(n, x, start[0]))

    for _ in range(80):
        right(60, 2.5)
    seen = looked[0]
    assert seen < 80
    for _ in range(5):
        right(60, 2.5)
    assert looked[0] == seen
    for n in range(78):
        right(n, n / 4)
    start[0] = 23
    right(60, 2.5)
    start[0] = 0
    right(60, 2.5)


def test_a_parameter_that_leads_outside_after_many_launches_is_told() -> None:
    kernel = mt.device("cpu").library(SOURCE)["scale"]
    args, start, out = np.zeros(8, np.uint8), np.zeros(1, np.uint32), np.zeros(77, np.float32)
    args.view(ARGS)[0] = 77, 1
    for _ in range(80):
        kernel(A, args, out, start, grid=77, threadgroup=16)
    for _ in range(2):
        start[0] = 50
        with pytest.raises(mt.errors.KernelFault, match="M101"):
            kernel(A, args, out, start, grid=77, threadgroup=16)
        start[0] = 3
        kernel(A, args, out, start, grid=77, threadgroup=16)
        np.testing.assert_array_equal(out, expected(77, 1, 3))


def test_threads_with_parameters_of_their_own() -> None:
    kernel, wrong = mt.device("cpu").library(SOURCE)["scale"], []

    def work(own: int) -> None:
        args, start, out = np.zeros(8, np.uint8), np.zeros(1, np.uint32), np.zeros(77, np.float32)
        for n in range(400):
            args.view(ARGS)[0] = own, n % 3
            kernel(A, args, out, start, grid=77, threadgroup=16)
            if (out != expected(own, n % 3)).any():
                wrong.append((own, n))

    threads = [threading.Thread(target=work, args=(10 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
