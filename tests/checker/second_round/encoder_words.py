"""Mistakes in command buffers: paged attention, experts behind pointers, caches over launches, offsets, tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import metalloid as mt
from metalloid.runtime.kernel import Kernel
from tests.checker.second_round.case import Case, blank, floats
from tests.checker.second_round.spoken import NOTHING, Row, encoder_form, told
from tests.checker.triplet import HEADER

DOUBLE = """kernel void fir(device const float* x, device float* y, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float stage[2][32];
    float acc = 0;
    for (uint r = 0; r < 4; ++r) {
        stage[r & 1][t] = x[r * 32 + t];
        threadgroup_barrier(mem_flags::{X});
        acc += stage[r & 1][31 - t];
    }
    y[t] = acc;
}"""
HEADS = """kernel void scores(device const float* q, device const float* k, device float* s, constant uint& dim,
                   uint head [[{X}]], uint j [[thread_position_in_threadgroup]]) {
    float dot = 0;
    for (uint d = 0; d < dim; ++d) dot += q[head * dim + d] * k[(head * 16 + j) * dim + d];
    s[head * 16 + j] = dot;
}"""
FLOOR = """kernel void silu(device const float* x, device float* y, constant uint& n,
                 uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = x[i] / (1 + exp(-x[i]));
}"""
PROBE = """kernel void insert(device const uint* keys, device atomic_uint* slots, constant uint& room,
                   device uint* lost, uint i [[thread_position_in_grid]]) {
    uint at = keys[i] % room;
    for (uint tries = 0; {X}; ++tries) {
        uint empty = 0;
        if (atomic_compare_exchange_weak_explicit(&slots[at], &empty, keys[i], memory_order_relaxed,
                                                  memory_order_relaxed) || empty == keys[i]) { lost[i] = 0; return; }
        if (empty) at = (at + 1) % room;
    }
    lost[i] = keys[i];
}"""
MATRIX = """#include <metal_simdgroup_matrix>
kernel void gram(device const float* a, device float* c, uint g [[threadgroup_position_in_grid]]) {
    simdgroup_float8x8 x, y, z = make_filled_simdgroup_matrix<float, 8>(0.0f);
    simdgroup_load(x, a + 64 * g, 8);
    simdgroup_load(y, a + 64 * g, 8, ulong2(0), true);
    simdgroup_multiply_accumulate(z, x, y, z);
    simdgroup_store(z, c + 64 * g, 8);
}"""
VIEW = """kernel void read_view(device const float* v, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = v[i] + 1;
}"""
TWIDDLE = """kernel void fft8(device const float2* x, device float2* y, uint row [[thread_position_in_grid]]) {
    float2 v[8], w[8];
    for (uint j = 0; j < 8; ++j) v[j] = x[row * 8 + j];
    for (uint s = 1; s < 8; s *= 2) {
        for (uint j = 0; j < 4; ++j) {
            uint k = j % s, base = 2 * (j - k) + k;
            float2 t = float2(cos(M_PI_F * k / s), -sin(M_PI_F * k / s));
            float2 b = v[base + s];
            b = float2(b.x * t.x - b.y * t.y, b.x * t.y + b.y * t.x);
            w[base] = v[base] + b;
            {X}
        }
        for (uint j = 0; j < 8; ++j) v[j] = w[j];
    }
    for (uint j = 0; j < 8; ++j) y[row * 8 + j] = v[j];
}"""


def slots(room: int):
    return lambda: [
        np.arange(1, 33, dtype=np.uint32),
        np.zeros(room, np.uint32),
        np.uint32(room),
        np.zeros(32, np.uint32),
    ]


def view(offset: int):
    def made():
        whole = mt.device().buffer(floats(128))
        return [(whole, offset), blank(64)]

    return made


ROWS = (
    Row(
        "a stage that waits for device memory instead",
        DOUBLE,
        "M205",
        lambda: [floats(128), np.zeros(32, np.float32)],
        {"threads": 32, "each": 32},
        "mem_device",
        "mem_threadgroup",
        "'stage'",
    ),
    Row(
        "a head by the thread's position",
        HEADS,
        "M101",
        lambda: [floats(4 * 8), floats(4 * 16 * 8), np.zeros(64, np.float32), np.uint32(8)],
        {"groups": 4, "each": 16},
        "thread_position_in_grid",
        "threadgroup_position_in_grid",
        "threadgroup_position_in_grid",
    ),
    Row(
        "threadgroups rounded down",
        FLOOR,
        "M305",
        lambda: [floats(1000), np.zeros(1000, np.float32), np.uint32(1000)],
        {"groups": 1000 // 64, "each": 64},
        says="'y'",
        sizes_right={"groups": 16, "each": 64},
    ),
    Row(
        "a table that is full",
        PROBE,
        "M209",
        slots(24),
        {"threads": 32, "each": 32},
        "true",
        "tries < 3 * room",
        arguments_right=slots(40),
        seconds=1,
    ),
    Row(
        "a matrix by 24 lanes",
        MATRIX,
        "M207",
        lambda: [floats(128), np.zeros(128, np.float32)],
        {"groups": 2, "each": 24},
        sizes_right={"groups": 2, "each": 32},
    ),
    Row(
        "a view that begins too late",
        VIEW,
        "M101",
        view(384),
        {"threads": 64, "each": 32},
        arguments_right=view(256),
        says="offset",
    ),
    Row(
        "a butterfly that stores one side",
        TWIDDLE,
        "M110",
        lambda: [floats(128), np.zeros(128, np.float32)],
        {"threads": 8, "each": 8},
        "",
        "w[base + s] = v[base] - b;",
    ),
)

ATTEND = """struct Page { device const float* keys; uint length; };
struct Job { device const Page* pages; device float* out; uint count; };
kernel void attend(constant Job& job, device const float* q, uint t [[thread_position_in_grid]]) {
    if (t >= job.count) return;
    float best = -1e9f;
    for (uint j = 0; j < job.pages[t].length; ++j) best = max(best, q[j] * job.pages[t].keys[j]);
    job.out[t] = best;
}
"""
EXPERTS = """struct Expert { device const float* w; device float* y; };
struct Layer { Expert experts[3]; uint rows; };
kernel void route(constant Layer& layer, device const float* x, device const int* ids,
                  uint i [[thread_position_in_grid]]) {
    int e = ids[i];
    if (i < layer.rows) layer.experts[e].y[i] = layer.experts[e].w[i] * x[i];
}
"""


def paged(length: int, count: int) -> Callable[[Kernel], None]:
    """Eight pages of four keys; each has its pointer in a table of structs."""

    def call(kernel: Kernel) -> None:
        device = kernel.device
        attend = device.library(HEADER + ATTEND, name="kernel.metal")["attend"]
        keys = [device.buffer(floats(4) + n) for n in range(8)]
        table = np.zeros(8, [("keys", np.uint64), ("length", np.uint64)])
        table["keys"], table["length"] = [page.gpu_address for page in keys], length
        pages, out = device.buffer(table.view(np.uint8)), device.empty(8, np.float32)
        job = np.zeros(1, [("pages", np.uint64), ("out", np.uint64), ("count", np.uint64)])
        job[0] = (pages.gpu_address, out.gpu_address, count)
        commands = device.queue().command_buffer()
        with commands.compute_encoder() as work:
            work.set_pipeline(attend)
            work.set_bytes(job.tobytes(), index=0)
            work.set_buffer(device.buffer(floats(8)), index=1)
            for n, buffer in enumerate((pages, out, *keys)):
                buffer.label = ("page table", "best", *(f"page {page}" for page in range(8)))[n]
                work.use_resource(buffer)
            work.dispatch_threads(8, 8)
        commands.commit()
        commands.wait_until_completed()

    return call


def routed(room: int) -> Callable[[Kernel], None]:
    def call(kernel: Kernel) -> None:
        library = kernel.device.library(HEADER + EXPERTS, name="kernel.metal")
        experts = [{"w": floats(room), "y": np.zeros(32, np.float32)} for _ in range(3)]
        library["route"](
            {"experts": experts, "rows": 32}, floats(32), np.arange(32, dtype=np.int32) % 3, grid=32
        )

    return call


STEPS = """kernel void write_page(device const float* kv, device float* pool, device const int* slot,
                     uint2 p [[thread_position_in_grid]]) {
    if (slot[p.y] >= 0) pool[slot[p.y] * 8 + p.x] = kv[p.y * 8 + p.x];
}
kernel void gather(device const float* pool, device const int* slot, device float* out,
                   uint2 p [[thread_position_in_grid]]) {
    out[p.y * 8 + p.x] = pool[slot[p.y] * 8 + p.x];
}
kernel void halve(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
    y[i] = x[2 * i] + x[2 * i + 1];
}"""


def pool(written: Sequence[int], read: Sequence[int]) -> Callable[[Kernel], None]:
    """Rows go into slots of a pool; another launch of the same command buffer gathers some of them."""

    def call(kernel: Kernel) -> None:
        device = kernel.device
        library = device.library(HEADER + STEPS, name="kernel.metal")
        memory, out = device.empty(16 * 8, np.float32), device.zeros(8 * len(read), np.float32)
        commands = device.queue().command_buffer()
        with commands.compute_encoder() as work:
            rows = np.array(written, np.int32)
            work.dispatch(
                library["write_page"], floats(8 * len(written)), memory, rows, grid=(8, len(written))
            )
            work.dispatch(library["gather"], memory, np.array(read, np.int32), out, grid=(8, len(read)))
        commands.commit()
        commands.wait_until_completed()

    return call


def halved(kernel: Kernel) -> None:
    """A sum of 64 by halves, back and forth between two buffers of new memory."""
    device = kernel.device
    library = device.library(HEADER + STEPS, name="kernel.metal")
    one, other = device.buffer(floats(64)), device.empty(64, np.float32)
    for n in (32, 16, 8, 4, 2, 1):
        library["halve"](one, other, grid=n)
        one, other = other, one


def labels(*names: str) -> Callable[[Kernel], None]:
    """Queries, keys and values of one shape, with labels."""
    text = """kernel void mix(device const float* query, device const float* key, device const float* value,
                    device float* out, uint i [[thread_position_in_grid]]) { out[i] = query[i] * key[i] + value[i]; }"""

    def call(kernel: Kernel) -> None:
        device = kernel.device
        made = device.library(HEADER + text, name="kernel.metal")
        buffers = [device.buffer(floats(64) + n) for n in range(3)]
        for buffer, name in zip(buffers, names, strict=True):
            buffer.label = name
        made["mix"](*buffers, device.empty(64, np.float32), grid=64)

    return call


def spoken(name: str, find: str, wrong: Callable, right: Callable, says: str = "") -> tuple[Case, Case]:
    return Case(name, NOTHING, find=find, says=says, call=wrong), Case(f"{name}, mended", NOTHING, call=right)


CASES = (
    *told(ROWS, encoder_form, "encoder"),
    *spoken("encoder: keys read past a page of a table", "M101", paged(5, 8), paged(4, 8), "'page 0'"),
    *spoken("encoder: some pages are left out", "M106", paged(4, 6), paged(4, 8), "'best'"),
    *spoken("encoder: weights of an expert that end early", "M101", routed(30), routed(32), "layer.experts"),
    *spoken(
        "encoder: a slot of a pool that no token has",
        "M105",
        pool((0, 3, -1, 5), (0, 3, 4)),
        pool((0, 3, 4, 5), (0, 3, 4)),
        "'pool'",
    ),
    *spoken(
        "encoder: keys and values in each other's place",
        "M310",
        labels("query", "value", "key"),
        labels("query", "key", "value"),
        "'value'",
    ),
    Case("encoder: halves back and forth in new memory", NOTHING, call=halved),
)
