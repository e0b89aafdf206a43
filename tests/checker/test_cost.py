"""M501 and M502: right and slow. Each kernel stands beside a twin of which nothing is said."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.base import Launch
from metalloid.backends.observe import Observation
from metalloid.checker.case import Case
from metalloid.checker.rules.cost import cost
from tests.checker.triplet import HEADER, compiled, floats


def notes(text, arguments, **sizes):
    """(rule, line) of what is said of a launch before it runs; lines are counted in `text`."""
    kernel = compiled(HEADER + text)
    launch = kernel.launch(*arguments, **sizes)
    found = list(cost(Case(kernel, launch, Observation())))
    assert all(f.severity == "note" and f.hint for f in found)
    return [(f.rule, f.location.line - HEADER.count("\n")) for f in found]


ROWS = """kernel void rows(device const float* x, device float* out, constant uint& width, constant uint& height,
                           uint i [[thread_position_in_grid]]) {
    float total = 0;
    for (uint k = 0; k < width; k++)
        total += x[INDEX];
    out[i] = total;
}"""
PRODUCT = """kernel void product(device const float* a, device const float* b, device float* c, constant uint& n,
                                 uint2 at [[thread_position_in_grid]]) {
    float total = 0;
    for (uint k = 0; k < n; k++)
        total += a[at.y * n + k] * b[INDEX];
    c[at.y * n + at.x] = total;
}"""


@pytest.mark.parametrize(("index", "said"), [("i * width + k", [("M501", 5)]), ("k * height + i", [])])
def test_m501_a_row_for_each_thread(index, said):
    arguments = [floats(2048 * 16), np.zeros(2048, np.float32), 16, 2048]
    assert notes(ROWS.replace("INDEX", index), arguments, grid=2048, threadgroup=256) == said


@pytest.mark.parametrize(("index", "said"), [("at.x * n + k", [("M501", 5)]), ("k * n + at.x", [])])
def test_m501_the_transposed_side_of_a_product(index, said):
    arguments = [floats(64 * 64), floats(64 * 64), np.zeros(64 * 64, np.float32), 64]
    assert notes(PRODUCT.replace("INDEX", index), arguments, grid=(64, 64), threadgroup=(32, 8)) == said


def test_m501_is_not_said_where_it_does_not_matter():
    text = ROWS.replace("INDEX", "i * width + k")
    few = [floats(512 * 16), np.zeros(512, np.float32), 16, 512]
    assert notes(text, few, grid=512, threadgroup=256) == []  # threads
    small = [floats(2048), np.zeros(2048, np.float32), 1, 2048]
    assert notes(text, small, grid=2048, threadgroup=256) == []  # bytes apart


def test_m501_is_not_said_of_vectors_structs_and_looked_up_indices():
    wide = "kernel void wide(device float4* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }"
    assert notes(wide, [floats(8192)], grid=2048) == []
    parts = """struct Part { float3 at; float mass; float3 speed; float age; };
kernel void move(device Part* p, uint i [[thread_position_in_grid]]) {
    p[i].at += p[i].speed * p[i].mass; p[i].age += 1; }"""
    assert notes(parts, [np.zeros(2048 * 48, np.uint8)], grid=2048) == []
    looked_up = """kernel void pick(device const float* x, device const int* where, device float* out,
                                    uint i [[thread_position_in_grid]]) { out[i] = x[where[i]]; }"""
    where = np.random.default_rng(0).permutation(8192)[:2048].astype(np.int32)
    assert notes(looked_up, [floats(8192), where, np.zeros(2048, np.float32)], grid=2048) == []


COLUMNS = """kernel void columns(device float* x, uint2 at [[thread_position_in_grid]],
                                 uint2 in [[thread_position_in_threadgroup]]) {
    threadgroup float tile[32][LENGTH];
    tile[in.y][in.x] = x[at.y * 64 + at.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[at.y * 64 + at.x] = tile[in.x][in.y];
}"""
STRIDE = """kernel void stride(device float* x, threadgroup float* tile [[threadgroup(0)]],
                               uint i [[thread_position_in_threadgroup]], uint at [[thread_position_in_grid]]) {
    tile[i * STEP] = x[at];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[at] = tile[(63 - i) * STEP];
}"""


@pytest.mark.parametrize(("length", "said"), [("32", [("M502", 6)]), ("32 + 1", [])])
def test_m502_a_column_of_a_tile(length, said):
    text = COLUMNS.replace("LENGTH", length)
    assert notes(text, [floats(64 * 64)], grid=(64, 64), threadgroup=(32, 32)) == said


@pytest.mark.parametrize(("step", "said"), [("16", [("M502", 3), ("M502", 5)]), ("17", []), ("2", [])])
def test_m502_every_so_manieth_word(step, said):
    sizes = {"grid": 1024, "threadgroup": 64, "threadgroup_memory": {0: 64 * 17 * 4}}
    assert notes(STRIDE.replace("STEP", step), [floats(1024)], **sizes) == said


def test_m502_words_that_all_read_and_halves_that_share_a_word_are_no_conflict():
    same = """kernel void same(device float* x, uint i [[thread_position_in_threadgroup]],
                               uint at [[thread_position_in_grid]]) {
    threadgroup half tile[64];
    tile[i] = half(x[at]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[at] = tile[3] + tile[63 - i];
}"""
    assert notes(same, [floats(1024)], grid=1024, threadgroup=64) == []


def test_the_hint_of_m502_followed_literally_mends_it():
    launch = {"grid": (64, 64), "threadgroup": (32, 32)}
    text = HEADER + COLUMNS.replace("LENGTH", "32")
    (note,) = mt.check(compiled(text), floats(64 * 64), **launch).findings
    assert note.hint.startswith("declare it tile[32][32 + 1],")
    mended = text.replace("tile[32][32]", "tile[32][32 + 1]")
    assert mt.check(compiled(mended), floats(64 * 64), **launch).findings == ()


def test_addresses_are_those_that_the_launch_has():
    """What the checker works out without running is what a run does: gaps, guards, loops, odd sizes."""
    from metalloid.checker.lanes import touches
    from metalloid.ir import read

    text = """kernel void odd(device const int* a, device int* out, constant uint& n, constant int& skip,
                              uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    if (i >= n || (i & 3) == 1) return;
    int at = (int(i) * 7 - skip) % 50;
    for (uint k = lane; k < n; k += 32)
        out[(a[at < 0 ? at + 50 : at] & 15) + (k >> 1) * 16] = 1;
}"""
    kernel = compiled(HEADER + text)
    a, n, skip = np.random.default_rng(1).integers(0, 1000, 50).astype(np.int32), 23, 5
    launch = kernel.launch(a, np.zeros(4096, np.int32), n, skip, grid=100, threadgroup=100)
    assert isinstance(launch, Launch)
    lanes = [i for i in range(32) if i < n and i & 3 != 1]
    index = [int(np.fmod(i * 7 - skip, 50)) for i in lanes]
    index = [at + 50 if at < 0 else at for at in index]
    by_root = {t.root.index: t for t in touches(read(kernel.ir), launch, frozenset({0, 2, 3}))}
    assert by_root[0].offsets.tolist() == [4 * at for at in index]
    assert by_root[1].offsets.tolist() == [
        4 * ((a[at] & 15) + (i >> 1) * 16) for at, i in zip(index, lanes, strict=True)
    ]
    assert by_root[1].from_data and not by_root[0].from_data
