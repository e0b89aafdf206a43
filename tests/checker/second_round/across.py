"""Memory from `device.empty` over several launches: a later one reads what no earlier one wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from metalloid.runtime.kernel import Kernel
from tests.checker.second_round.case import Case, floats, twin

APPEND = """kernel void append(device const float* x, device float* cache, constant uint& at,
                    uint i [[thread_position_in_grid]]) {
    cache[8 * at + i] = x[i];
}
kernel void sum(device const float* cache, device float* out, constant uint& rows,
                uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint r = 0; r < rows; r++) sum += cache[8 * r + i];
    out[i] = sum;
}
kernel void turn(device float* cache, uint i [[thread_position_in_grid]]) {
    cache[i] = i;
    threadgroup_barrier(mem_flags::mem_device);
    float other = cache[63 - i];
    threadgroup_barrier(mem_flags::mem_device);
    cache[i] = other;
}
kernel void update(device float* cache, uint i [[thread_position_in_grid]]) { cache[i] = 2 * cache[i]; }"""


def library(kernel: Kernel):
    return kernel.device.library("#include <metal_stdlib>\nusing namespace metal;\n" + APPEND)


def filled(rows: Sequence[int], read: int, host: bool = False) -> Callable[[Kernel], None]:
    """Rows of a cache are written by a launch each, then a sum reads so many."""

    def call(kernel: Kernel) -> None:
        device, made = kernel.device, library(kernel)
        cache, out = device.empty(64, np.float32), np.full(8, -1, np.float32)
        for row in rows:
            made["append"](floats(8), cache, row, grid=8)
        if host:
            cache.numpy()[:] = 1
        made["sum"](cache, out, read, grid=8)

    return call


def doubled(rows: int, count: int) -> Callable[[Kernel], None]:
    """Rows are written, then so many elements are changed in place."""

    def call(kernel: Kernel) -> None:
        made, cache = library(kernel), kernel.device.empty(64, np.float32)
        for row in range(rows):
            made["append"](floats(8), cache, row, grid=8)
        made["update"](cache, grid=count)

    return call


def refilled(kernel: Kernel) -> None:
    """Some rows are written; the next launch writes all of them, waits, and reads them."""
    made, cache = library(kernel), kernel.device.empty(64, np.float32)
    made["append"](floats(8), cache, 2, grid=8)
    made["turn"](cache, grid=64, threadgroup=64)


def queued(rows: Sequence[int], read: int) -> Callable[[Kernel], None]:
    """The same through a command buffer."""

    def call(kernel: Kernel) -> None:
        device, made = kernel.device, library(kernel)
        cache, out = device.empty(64, np.float32), device.zeros(8, np.float32)
        x = device.buffer(floats(8))
        commands = device.queue().command_buffer()
        work = commands.compute_encoder()
        for row in rows:
            work.set_pipeline(made["append"])
            work.set_buffer(x, index=0)
            work.set_buffer(cache, index=1)
            work.set_bytes(np.uint32(row), index=2)
            work.dispatch_threads(8, 4)
        work.set_pipeline(made["sum"])
        work.set_buffer(cache, index=0)
        work.set_buffer(out, index=1)
        work.set_bytes(np.uint32(read), index=2)
        work.dispatch_threads(8, 4)
        work.end_encoding()
        commands.commit()
        commands.wait_until_completed()

    return call


KERNEL = "kernel void k(device float* out, uint i [[thread_position_in_grid]]) { out[i] = i; }"
HOLE = Case("a hole in a cache", KERNEL, find="M105", says="'cache'", call=filled((0, 1, 3), 4))
FAR = Case(
    "a cache read further than it is filled", KERNEL, find="M105", says="'cache'", call=filled((0, 1), 3)
)
QUEUED = Case(
    "a hole in a cache, in a command buffer", KERNEL, find="M105", says="'cache'", call=queued((0, 2), 3)
)
CASES = (
    HOLE,
    twin(HOLE, call=filled((0, 1, 2, 3), 4)),
    FAR,
    twin(FAR, call=filled((0, 1), 2)),
    twin(HOLE, name="written, then changed in place", call=doubled(5, 40)),
    Case("a hole that is changed in place", KERNEL, find="M105", says="'cache'", call=doubled(5, 48)),
    Case(
        "a hole at the end of a cache, changed in place",
        KERNEL,
        find="M105",
        says="'cache'",
        call=doubled(7, 64),
    ),
    Case("holes that a launch fills before it reads them", KERNEL, call=refilled),
    QUEUED,
    twin(QUEUED, call=queued((0, 1, 2), 3)),
    twin(HOLE, name="a hole that the host has filled", call=filled((0, 1, 3, 2, 4, 5, 6, 7), 8, host=True)),
)
