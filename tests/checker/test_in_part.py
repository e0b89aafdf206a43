"""What is looked at in part says so; and the part is not only the first and the last threadgroup."""

from __future__ import annotations

import json

import numpy as np
import pytest

import metalloid as mt
from metalloid.checker import Report, sampled
from tests.checker.triplet import HEADER, compiled

SQUARE = """kernel void square(device const half* x, device half* y, uint i [[thread_position_in_grid]]) {
    y[i] = x[i] * x[i];
}"""
HIDDEN = """kernel void hidden(device const half* x, device float* y, uint i [[thread_position_in_grid]]) {
    half square = x[i] * x[i];
    y[i] = 1 / (1 + float(square));
}"""
MIDDLE = """kernel void middle(device atomic_uint* next, device uint* out, uint group [[threadgroup_position_in_grid]],
                           uint groups [[threadgroups_per_grid]], uint i [[thread_position_in_threadgroup]]) {
    if (i == 0) {
        uint place = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
        if (place == groups / 2) out[0] = group;
    }
}"""


def halves(count: int, large: slice) -> np.ndarray:
    x = np.ones(count, np.float16)
    x[large] = 300
    return x


def test_a_sample_of_the_numbers_says_how_large_it_was():
    x = halves(64 * 64, slice(0, 0))
    report = mt.check(compiled(HEADER + SQUARE), x, x.copy(), grid=x.size, threadgroup=64)
    assert report.ok and report.left == ("M402, M403, M405: numbers were followed in 9 of 64 threadgroups",)
    assert report.text().endswith(f"\nin part: {report.left[0]}")
    assert json.loads(report.json())["left"] == list(report.left)
    assert "\n" not in repr(report)
    assert f"In part: {report.left[0]}" in report.html()


def test_all_of_a_small_launch_is_followed():
    x = halves(128, slice(0, 0))
    assert mt.check(compiled(HEADER + SQUARE), x, x.copy(), grid=128, threadgroup=64).left == ()


def test_threadgroups_between_the_first_and_the_last_are_looked_at():
    x = halves(64 * 64, slice(32 * 64, 33 * 64))
    report = mt.check(compiled(HEADER + SQUARE), x, x.copy(), grid=x.size, threadgroup=64)
    assert [f.rule for f in report.findings] == ["M403"]


def launches(*values: float) -> Report:
    kernel = compiled(HEADER + HIDDEN)
    with mt.checked() as report:
        for value in values:
            kernel(np.full(64, value, np.float16), np.zeros(64, np.float32), grid=64)
    return report


def test_later_launches_with_other_data_are_followed():
    assert [f.rule for f in launches(1, 2, 300).findings] == ["M403"]  # the output is 0, and no infinity
    assert launches(1, 2, 3).left == ()


def test_later_launches_that_are_not_followed_are_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampled, "SECONDS", 0.0)
    assert launches(1, 1, 1).left == ()  # the same data
    assert launches(1, 300).left == (sampled.LEFT,)


def test_results_that_only_a_seeded_order_changes_are_found_in_large_launches():
    threads = 257 * 128  # an odd number of threadgroups: the middle one is the same forward and backward
    arguments = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    report = mt.check(compiled(HEADER + MIDDLE), *arguments, grid=threads, threadgroup=128)
    assert [f.rule for f in report.findings] == ["M406"]
    assert "in another order of threadgroups" in report.findings[0].message
    assert arguments[1][0] == 128


def test_orders_that_were_not_tried_are_named():
    text = """kernel void count(device atomic_uint* bins, device const uint* x, uint i [[thread_position_in_grid]]) {
    uint before = atomic_fetch_add_explicit(&bins[x[i] % 8], 1, memory_order_relaxed);
    if (before > 1000000) atomic_store_explicit(&bins[0], 0, memory_order_relaxed);
}"""
    x = np.arange(1 << 15, dtype=np.uint32)
    report = mt.check(compiled(HEADER + text), np.zeros(8, np.uint32), x, grid=x.size)
    assert (
        report.ok and len(report.left) == 1 and report.left[0].startswith("M406: lanes and SIMD-groups ran")
    )
