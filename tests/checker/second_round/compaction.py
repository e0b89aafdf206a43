"""Elements that are picked and put side by side into memory from `device.empty`: the rest of it was never meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import metalloid as mt
from metalloid.runtime.kernel import Kernel
from tests.checker.second_round.case import Case, pair, twin

COUNTER = """kernel void k(device const float* x, device float* out, device atomic_uint* n,
                     uint i [[thread_position_in_grid]]) {
    if (x[i] > 0.5f) out[atomic_fetch_add_explicit(n, 1, memory_order_relaxed)] = x[i];
}"""
PLACES = """kernel void k(device const float* x, device float* out, device const uint* at,
                     uint i [[thread_position_in_grid]]) {
    if (x[i] > 0.5f) out[at[i]] = x[i];
}"""
GROUPS = """kernel void k(device const float* x, device float* out, device atomic_uint* n,
                     uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint here;
    threadgroup uint start;
    if (t == 0) atomic_store_explicit(&here, 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    bool keep = x[i] > 0.5f;
    uint rank = keep ? atomic_fetch_add_explicit(&here, 1, memory_order_relaxed) : 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 0) start = atomic_fetch_add_explicit(n, atomic_load_explicit(&here, memory_order_relaxed){MORE},
                                                  memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (keep) out[start + rank] = x[i];
}"""
EVERY = """kernel void k(device const float* x, device float* out, device atomic_uint* n, constant uint& count,
                     uint i [[thread_position_in_grid]]) {
    if (i < count) out[atomic_fetch_add_explicit(n, 1, memory_order_relaxed)] = x[i];
}"""
READ = """#include <metal_stdlib>
using namespace metal;
kernel void twice(device const float* kept, device const uint* n, device float* y, constant uint& more,
                  uint i [[thread_position_in_grid]]) {
    if (i < n[0] + more) y[i] = 2 * kept[i];
}"""
FOUR = {"grid": 256, "threadgroup": 64}


def numbers() -> np.ndarray:
    return np.random.default_rng(3).random(256).astype(np.float32)


def counted(start: int = 0) -> Callable[[], list[Any]]:
    return lambda: [numbers(), mt.device().empty(300, np.float32), np.full(1, start, np.uint32)]


def summed(start: int = 0) -> Callable[[], list[Any]]:
    def arguments() -> list[Any]:
        kept = numbers() > 0.5
        at = np.cumsum(kept) - kept + start
        return [numbers(), mt.device().empty(300, np.float32), at.astype(np.uint32)]

    return arguments


def read_on(more: int) -> Callable[[Kernel], None]:
    """A launch keeps some elements, the next reads as many as the counter says, and so many more."""

    def call(kernel: Kernel) -> None:
        device = kernel.device
        out, n, y = device.empty(300, np.float32), np.zeros(1, np.uint32), np.zeros(256, np.float32)
        kernel(numbers(), out, n, **FOUR)
        device.library(READ)["twice"](out, n, y, more, **FOUR)

    return call


NOT_CLEARED = Case(
    "a counter of places that was not cleared", COUNTER, counted(5), FOUR, "M106", "handed out is 5"
)
SHIFTED = Case("places of a sum that counts the thread itself", PLACES, summed(1), FOUR, "M106", "out is 1")
FAR = Case("more is read than was kept", COUNTER, find="M105", says="'kept'", call=read_on(2))
EACH = Case(
    "places of a counter, and a size that is too small",
    EVERY,
    lambda: [numbers(), mt.device().empty(256, np.float32), np.zeros(1, np.uint32), 200],
    FOUR,
    "M106",
)
CASES = (
    NOT_CLEARED,
    twin(NOT_CLEARED, arguments=counted()),
    SHIFTED,
    twin(SHIFTED, arguments=summed()),
    *pair(
        "a threadgroup takes a place too many",
        GROUPS.replace("{MORE}", " + 1"),
        GROUPS.replace("{MORE}", ""),
        counted(),
        FOUR,
        "M106",
    ),
    FAR,
    twin(FAR, call=read_on(0)),
    EACH,
    twin(
        EACH,
        arguments=lambda: [numbers(), mt.device().empty(256, np.float32), np.zeros(1, np.uint32), 256],
    ),
)
