"""The mistakes of the systems this project comes from, each told by its rule and its line.

Tiles that load another row in each thread and half sums are in tests/comparing: they need a reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import metalloid as mt
from metalloid.checker import Report
from tests.checker.triplet import HEADER, blank, compiled, floats, found

COPY = """kernel void copy(device float* out, device const float* x, uint i [[thread_position_in_grid]]) {
    out[i] = x[i];
}
"""
GUARDED = """kernel void copy(device float* out, device const float* x, constant uint& n,
                 uint i [[thread_position_in_grid]]) {
    if (i < n) {
        out[i] = x[i];
    }
}
"""
REDUCTION = """kernel void total(device atomic_float* out, device const float* x, threadgroup float* part,
                  uint i [[thread_position_in_grid]], uint lid [[thread_position_in_threadgroup]],
                  uint size [[threads_per_threadgroup]]) {
    part[lid] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = size / 2; s > 0; s /= 2) {
        if (lid < s) {
            part[lid] += part[lid + s];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (lid == 0) {
        atomic_fetch_add_explicit(out, part[0], memory_order_relaxed);
    }
}
"""
SCATTER = """kernel void scatter(device float* grad, device const int* indices, device const float* v,
                    uint i [[thread_position_in_grid]]) {
    grad[indices[i]] += v[i];
}
"""
ROWS = """kernel void before(device float* out, device const float* x, constant uint& D,
                   uint row [[thread_position_in_grid]]) {
    out[row] = x[row * D - 1];
}
"""
TAIL = """kernel void by_fours(device float4* out, device const float4* x, constant uint& n,
                     uint i [[thread_position_in_grid]]) {
    if (4 * i + 4 <= n) {
        out[i] = 2 * x[i];
    }
}
"""


def check(text: str, *arguments: object, **sizes: Any) -> Report:
    return mt.check(compiled(HEADER + text), *arguments, **sizes)


def zero(count: int = 1) -> np.ndarray:
    return np.zeros(count, np.float32)


def indices() -> np.ndarray:
    return (np.arange(64) % 8).astype(np.int32)


@pytest.mark.parametrize(
    ("report", "rules"),
    [
        pytest.param(
            lambda: check(REDUCTION, zero(), floats(256), grid=256, threadgroup=64),
            [("M108", 1)],
            id="threadgroup argument without memory",
        ),
        pytest.param(
            lambda: check(COPY, blank(200), floats(200), grid=100),
            [("M305", 1)],
            id="100 threads for 200 outputs",
        ),
        pytest.param(
            lambda: check(SCATTER, zero(8), indices(), floats(64), grid=64),
            [("M202", 3)],
            id="grad[indices[i]] += v without atomics",
        ),
        pytest.param(
            lambda: check(
                REDUCTION, zero(), floats(256), grid=64, threadgroup=64, threadgroup_memory={0: 256}
            ),
            [("M305", 1)],
            id="reduction with too small a grid",
        ),
        pytest.param(
            lambda: check(COPY, blank(60), floats(64), grid=64), [("M102", 2)], id="missing bounds check"
        ),
        pytest.param(
            lambda: check(TAIL, mt.device().empty((67, 4)), np.ones((67, 4), np.float32), 267, grid=67),
            [("M106", 1)],
            id="uninitialised tail",
        ),
    ],
)
def test_each_has_its_rule_and_its_line(report: Any, rules: list[tuple[str, int]]):
    made = report()
    assert found(made) == rules, made.text()
    assert all(f.hint for f in made.findings)


def test_a_scalar_that_was_not_bound():
    report = check(GUARDED, blank(64), floats(64), grid=64)
    assert [f.rule for f in report.findings] == ["M306"] and "'n'" in report.findings[0].message


def test_an_unsigned_index_below_zero():
    report = check(ROWS, blank(8), floats(64), 8, grid=8)
    assert [line for _, line in found(report)] == [3]
    assert {f.rule for f in report.findings} <= {"M101", "M404"}


def test_a_grid_of_threadgroups():
    report = check(GUARDED, blank(1024), floats(1024), 1024, grid=4, threadgroup=256)
    assert "M304" in {f.rule for f in report.findings}
    broken = report.explain().broken
    assert broken is not None and "looks like a count of threadgroups" in broken.said


def test_a_result_read_before_the_commit():
    device = mt.device()
    y = device.zeros(64)
    with mt.checked() as report:
        commands = device.queue().command_buffer()
        with commands.compute_encoder() as encoder:
            encoder.dispatch(compiled(HEADER + COPY), y, floats(64), grid=64)
        early = y.numpy().copy()
        commands.commit()
        commands.wait_until_completed()
    assert not early.any() and y.numpy().all()
    assert "M308" in {f.rule for f in report.findings}
    broken = report.explain().broken
    assert broken is not None and "M308" in broken.said


def test_the_mended_kernels_are_clean():
    for report in (
        check(REDUCTION, zero(), floats(256), grid=256, threadgroup=64, threadgroup_memory={0: 256}),
        check(GUARDED, blank(64), floats(64), 64, grid=128),
        check(SCATTER, zero(64), np.arange(64, dtype=np.int32), floats(64), grid=64),
        check(ROWS.replace("- 1]", "+ D - 1]"), blank(8), floats(64), 8, grid=8),
    ):
        assert found(report) == [], report.text()
