"""Hints that know what was probably meant: an atomic, threads instead of threadgroups, another stride."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import metalloid as mt
from metalloid.checker import Report
from tests.checker.triplet import HEADER, blank, compiled, floats

KEYS = (np.arange(64) % 8).astype(np.uint32)
HISTOGRAM = """kernel void histogram(device const uint* x, device uint* out,
                               uint i [[thread_position_in_threadgroup]]) {
    threadgroup uint bins[8];
    if (i < 8) bins[i] = 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    UPDATE;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < 8) out[i] = bins[i];
}"""
SCATTER = """kernel void scatter(device const uint* x, device TYPE* out, uint i [[thread_position_in_grid]]) {
    UPDATE;
}"""


def checked(text: str, *arguments: object, **sizes: Any) -> Report:
    return mt.check(compiled(HEADER + text), *arguments, **sizes)


@pytest.mark.parametrize("threads", [32, 64])
@pytest.mark.parametrize("update", ["bins[x[i] % 8]++", "++bins[x[i] % 8]", "bins[x[i] % 8] += 1"])
def test_counting_in_threadgroup_memory_wants_an_atomic_and_is_mended_by_it(update: str, threads: int):
    text, out = HISTOGRAM.replace("UPDATE", update), np.full(8, 777, np.uint32)
    sizes = {"grid": threads, "threadgroup": threads}
    (finding,) = checked(text, KEYS[:threads], out, **sizes).findings
    assert finding.rule == "M201" and "barrier" not in finding.text()
    written = re.match(r"write (atomic_\w+\(.*?memory_order_relaxed\))", finding.hint)
    assert written is not None
    report = checked(text.replace(update, written[1]), KEYS[:threads], out, **sizes)
    assert report.ok and (out == threads // 8).all(), report.text()


@pytest.mark.parametrize(
    ("update", "kind", "groups", "total"),
    [
        ("out[x[i] % 8] += x[i]", "uint", 64, 8 * np.arange(8)),
        ("out[x[i] % 8] -= 1", "int", 32, np.full(8, -8)),
        ("out[x[i] % 8] += 0.5f * x[i]", "float", 64, 4 * np.arange(8)),
        ("out[0] |= 1u << x[i]", "uint", 64, [255, 0, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_adding_to_device_memory_wants_an_atomic(update: str, kind: str, groups: int, total: Any):
    text = SCATTER.replace("UPDATE", update).replace("TYPE", kind)
    sizes = {"grid": 64, "threadgroup": groups}
    dtype = {"uint": np.uint32, "int": np.int32, "float": np.float32}[kind]
    (finding,) = checked(text, KEYS, np.zeros(8, dtype), **sizes).findings
    written = re.match(r"write (atomic_\w+\(.*?memory_order_relaxed\))", finding.hint)
    assert finding.rule in ("M202", "M203") and written is not None, finding.text()
    out = np.zeros(8, dtype)
    assert checked(text.replace(update, written[1]), KEYS, out, **sizes).ok
    np.testing.assert_array_equal(out, total)


def test_a_tree_that_adds_in_place_still_wants_a_barrier():
    text = """kernel void tree(device const float* x, device float* out, uint i [[thread_position_in_threadgroup]]) {
    threadgroup float p[128];
    p[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = 64; s > 0; s /= 2) {
        if (i < s) p[i] += p[i + s];
    }
    if (i == 0) out[0] = p[0];
}"""
    findings = checked(text, floats(128), blank(1), grid=128, threadgroup=128).findings
    assert findings[0].rule == "M201" and findings[0].hint.startswith("put threadgroup_barrier")


def test_there_is_no_atomic_float_in_threadgroup_memory():
    text = """kernel void total(device const uint* x, device float* out, uint i [[thread_position_in_threadgroup]]) {
    threadgroup float sum;
    if (i == 0) sum = 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum += x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0) out[0] = sum;
}"""
    (finding,) = checked(text, KEYS, blank(1), grid=64, threadgroup=64).findings
    assert finding.rule == "M201" and "no atomics for float" in finding.hint


def test_two_statements_on_one_line_have_room_for_a_barrier():
    text = """kernel void turn(device float* x, uint i [[thread_position_in_threadgroup]]) {
    threadgroup float t[64];
    t[i] = x[i]; x[i] = t[63 - i];
}"""
    (finding,) = checked(text, floats(64), grid=64, threadgroup=64).findings
    assert finding.hint.endswith("between the two statements of line 5")


ONE = "kernel void one(device float* y, uint i [[thread_position_in_grid]]) { y[i] = i; }"


def test_threadgroups_given_where_threads_are_meant():
    (finding,) = checked(ONE, blank(1000), threadgroups=1000, threadgroup=256).findings
    assert finding.rule == "M102" and "pass grid=1000 (dispatch_threads)" in finding.hint
    assert checked(ONE, blank(1000), grid=1000, threadgroup=256).ok


def test_a_guarded_run_says_the_same():
    with pytest.raises(mt.KernelFault, match=r"pass grid=1000 \(dispatch_threads\)"):
        compiled(HEADER + ONE)(blank(1000), threadgroups=1000, threadgroup=256)


ROWS = """kernel void rows(device float* y, constant uint& stride, uint2 at [[thread_position_in_grid]]) {
    y[at.y * stride + at.x] = at.x;
}"""


def test_the_height_as_the_length_of_a_row():
    sizes = {"grid": (48, 64), "threadgroup": (16, 16)}
    (finding,) = checked(ROWS, blank(48 * 64), 64, **sizes).findings
    assert finding.rule == "M102" and finding.hint.endswith("index with y * 48 + x")
    assert checked(ROWS, blank(48 * 64), 48, **sizes).ok


def test_a_factor_too_many():
    text = "kernel void wide(device float* y, uint i [[thread_position_in_grid]]) { y[i * 4] = i; }"
    (finding,) = checked(text, blank(64), grid=64).findings
    assert "that takes 253 elements and y has 64" in finding.hint and finding.hint.endswith("factor 4")
    assert checked(text, blank(253), grid=64).ok


def test_the_star_of_a_pointer_is_no_factor():
    text = "kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i + 12] = i; }"
    (finding,) = checked(text, np.zeros(16, np.float32), grid=16).findings
    assert finding.rule == "M102" and "factor" not in finding.hint and "below 16" in finding.hint


def test_numbers_made_into_pointers_are_not_called_null():
    text = """kernel void wild(device int* x, uint i [[thread_position_in_grid]]) {
    *(device int*)(0x123456789aul + 8 * i) = 3;
    x[i] = ((device int*)0)[i];
}"""
    findings = checked(text, np.ones(4, np.int32), grid=4).findings
    assert [f.message for f in findings] == [
        "write at an address where no buffer is, 0x123456789a: it left its buffer, or is made of a number",
        "read through a null pointer",
    ]


TILES = """kernel void other(device float* x, uint i [[thread_position_in_threadgroup]]) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
}
kernel void tiles(device const float* x, device float* y, uint i [[thread_position_in_threadgroup]]) {
    threadgroup float t[64];
    float sum = 0;
    for (uint k = 0; k < 256; k += 64) {
        t[i] = x[k + i];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum += t[63 - i];
    }
    y[i] = sum;
}"""


def test_a_barrier_that_stands_there_already_is_not_asked_for_again():
    library = mt.device().library(HEADER + TILES, name="tiles.metal")
    report = mt.check(library["tiles"], floats(256), blank(64), grid=64, threadgroup=64)
    (finding,) = report.findings
    assert finding.hint.startswith(
        "put threadgroup_barrier(mem_flags::mem_threadgroup) at the end of the loop around line 10, outside any `if`:"
        " the one at line 11 does not keep"
    )
    assert "barrier, line 11" in report.html() and "barrier, line 4" not in report.html()  # another kernel's
    mended = TILES.replace(
        "sum += t[63 - i];", "sum += t[63 - i];\n threadgroup_barrier(mem_flags::mem_threadgroup);"
    )
    library = mt.device().library(HEADER + mended, name="tiles.metal")
    assert mt.check(library["tiles"], floats(256), blank(64), grid=64, threadgroup=64).ok
