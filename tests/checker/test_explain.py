"""Why zeros: the first broken link of the chain, with evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import metalloid as mt
from metalloid.checker import Report
from tests.checker.triplet import HEADER, compiled, floats

SCALE = """kernel void scale(device float* y, device const float* x, constant uint& n,
                  uint i [[thread_position_in_grid]]) {
    if (i < n) {
        y[i] = 2 * x[i];
    }
}
"""
SUM = """kernel void total(device float* y, device const float* x, constant uint& n,
                  uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < n; k++) {
        sum += x[4 * k + i];
    }
    y[i] = sum;
}
"""
SIMPLE = """kernel void simple(device {T}* y, device const {T}* x, uint i [[thread_position_in_grid]]) {
    {BODY}
}
"""


def zeros(count: int, dtype: Any = np.float32) -> np.ndarray:
    return np.zeros(count, dtype)


def check(text: str, *arguments: object, **sizes: Any) -> Report:
    return mt.check(compiled(HEADER + text), *arguments, **sizes)


def broken(report: Report, **more: Any) -> str:
    why = report.explain(**more)
    link = why.answer
    assert (why.broken is None) == (report.ok and "expected" not in more)
    assert link is not None, report.explain().text()
    assert link.hint
    return link.said


def simple(body: str, kind: str = "float") -> str:
    return SIMPLE.replace("{T}", kind).replace("{BODY}", body)


def test_no_thread_passed_the_guard():
    report = check(SCALE, zeros(64), floats(64), 0, grid=64)
    said = broken(report)
    assert "no thread reached line 6" in said and "if (i < n)" in said and "n is 0" in said
    assert report.explain().text().startswith("why is 'y' of scale all zeros?\n  ok   64 threads ran")


def test_the_input_was_zero():
    assert "'x' holds 0 at element 0; every element of it is 0" in broken(
        check(SCALE, zeros(64), zeros(64), 64, grid=64)
    )


def test_whole_numbers_were_divided():
    text = simple("y[i] = x[i] / 1000 * 5;", "int")
    said = broken(check(text, zeros(8, np.int32), np.arange(1, 9, dtype=np.int32), grid=8))
    assert "1 / 1000 is 0 in whole numbers" in said


def test_one_was_divided_by_a_whole_number():
    said = broken(
        check(simple("y[i] = 1 / x[i];", "int"), zeros(8, np.int32), np.full(8, 9, np.int32), grid=8)
    )
    assert "division in whole numbers" in said and "1 / x[i]" in said


def test_the_loop_never_ran():
    said = broken(check(SUM, zeros(4), floats(64), 0, grid=4))
    assert "nothing was added" in said and "'n', which the caller passes, is 0" in said


def test_one_factor_was_zero():
    text = SUM.replace("x[4 * k + i]", "x[4 * k + i] * x[63]")
    x = floats(64)
    x[63] = 0
    assert "'x' holds 0 at element 63" in broken(check(text, zeros(4), x, 8, grid=4))


def test_the_grid_was_taken_for_threadgroups():
    said = broken(check(SCALE, zeros(1024), floats(1024), 1024, grid=4, threadgroup=256))
    assert "only 4 of 1024 elements" in said and "looks like a count of threadgroups" in said


def test_a_hundred_threads_for_two_hundred_outputs():
    said = broken(check(SCALE, zeros(200), floats(200), 200, grid=100))
    assert "only 100 of 200 elements of 'y' were written; not 100 to 199" in said
    assert "the kernel's condition lets 200 threads along x write, and 100 of them ran" in said


def test_every_thread_wrote_to_one_place():
    said = broken(check(simple("y[0] = x[i];"), zeros(64), floats(64), grid=64))
    assert "every thread stores to the same element" in said


def test_every_thread_wrote_one_value():
    report = check(simple("y[i] = 3;"), zeros(64), floats(64), grid=64)
    assert "does not depend on the thread" in broken(report)
    assert report.explain().subject == "why is 'y' of simple all 3.0?"


def test_the_stores_went_outside():
    said = broken(check(simple("y[i + 1000] = x[i];"), zeros(64), floats(64), grid=64))
    assert "the stores went outside 'y': the first to element 1000 of 64" in said


def test_some_stores_went_outside():
    report = check(simple("y[i < 40 ? i : i + 1000] = x[i];"), zeros(64), floats(64), grid=64)
    assert "24 stores went outside 'y': the first to element 1040 of 64" in broken(report)


def test_stores_went_to_the_same_elements():
    report = check(simple("y[i % 16] = x[i];"), zeros(64), floats(64), grid=64)
    said = broken(report)
    assert "only 16 of 64" in said and "64 stores went to 16 elements" in said


def test_infinities_have_a_reason():
    report = check(simple("y[i] = x[i] * 60000.0h;", "half"), zeros(8, np.float16),
                   np.full(8, 2, np.float16), grid=8)  # fmt: skip
    assert report.explain().subject.endswith("all inf?") and broken(report).startswith("M403")


def test_threadgroup_argument_without_memory():
    text = """kernel void swap(device float* y, device const float* x, threadgroup float* s [[threadgroup(0)]],
                 uint i [[thread_position_in_grid]]) {
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = s[i ^ 1];
}
"""
    said = broken(check(text, zeros(64), floats(64), grid=64, threadgroup=64))
    assert "nothing ran: M108 's' is threadgroup memory" in said


def test_a_scalar_that_was_not_bound():
    assert "nothing ran: M306 argument 'n'" in broken(check(SCALE, zeros(64), floats(64), grid=64))
    said = broken(check(SCALE, zeros(64), floats(64), None, grid=64))
    assert "'n' is not bound: nothing came for index 2" in said


def test_nothing_was_committed():
    device = mt.device()
    y = device.zeros(64)
    with mt.checked() as report:
        commands = device.queue().command_buffer()
        with commands.compute_encoder() as encoder:
            encoder.dispatch(compiled(HEADER + SCALE), y, floats(64), 64, grid=64)
        said = broken(report)
    assert "nothing ran" in said and "commit" in said
    commands.commit()
    commands.wait_until_completed()


def test_the_run_stopped_at_a_barrier():
    text = simple("threadgroup float s[64]; if (i > 40) return; s[i] = x[i];"
                  " threadgroup_barrier(mem_flags::mem_threadgroup); y[i] = s[i ^ 1];")  # fmt: skip
    assert "no thread reached line" in broken(check(text, zeros(64), floats(64), grid=64, threadgroup=64))


def test_threads_overwrote_each_other():
    text = """kernel void scatter(device float* grad, device const int* at, device const float* v,
                    uint i [[thread_position_in_grid]]) {
    grad[at[i]] += v[i];
}
"""
    at = (np.arange(64) % 8).astype(np.int32)
    report = check(text, zeros(8), at, floats(64), grid=64)
    assert broken(report, output="grad").startswith("M202")


def test_a_wrong_element_names_its_thread():
    x = floats(64)
    report = check(simple("y[i] = i == 17 ? 1.0f : 2 * x[i];"), zeros(64), x, grid=64)
    said = broken(report, expected=2 * x)
    assert "element 17 is 1.0, expected 36.0; thread (17, 0, 0) wrote it" in said


def test_nothing_is_broken():
    report = check(SCALE, zeros(64), floats(64), 64, grid=64)
    assert report.explain().broken is None
    assert "nothing on the way is broken" in report.explain().text()


@pytest.mark.parametrize("x", [200.0, 90.0])
def test_a_function_gave_zero(x: float):
    text = simple("y[i] = exp(-x[i] * 1000.0f);")
    link = check(text, zeros(8), np.full(8, x, np.float32), grid=8).explain().answer
    assert link is not None and "element 0" in link.said


def test_memory_that_nobody_wrote_may_hold_a_signaling_nan() -> None:
    """Looked at, it is "invalid" for numpy: a warning of its own in the middle of an explanation."""
    y = np.zeros(64, np.float32)
    y.view(np.uint32)[20:] = 0x7F800001
    report = check(SCALE, y, np.ones(64, np.float32), 20, grid=20, threadgroup=4)
    assert "20 of 64" in report.explain().text()
