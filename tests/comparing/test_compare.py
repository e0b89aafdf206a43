"""`mt.compare` finds the mistakes people make, and says what would help to mend them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import metalloid as mt
from tests.comparing import mistakes

MATRICES = {"a": "M K", "b": "N K"}


def matrices(**options) -> list[mt.Case]:
    return mt.cases(MATRICES, **{"tiles": 16, "largest": 1 << 12, **options})


@pytest.mark.parametrize("function", [mistakes.matmul_nt, mistakes.each_thread_another_row])
def test_a_right_kernel_is_right_everywhere(function):
    result = mt.compare(function, mistakes.matmul_reference, matrices(), length="K")
    assert result.ok and result, result.text()
    assert result.smallest is None and result.first_wrong is None
    assert len(result.outcomes) > 200
    assert result.text().startswith(f"compare: all {len(result.outcomes)} cases are right")


def store_of_the_sum() -> int:
    """The line of the Python file in which the kernel's text stores its result."""
    lines = Path(mistakes.__file__).read_text().splitlines()
    return 1 + lines.index("    if (row < M && col < N) C[row * N + col] = sum;")


@pytest.mark.parametrize(
    "function, smallest",
    [(mistakes.loaded_from_other_rows, (1, 1, 2)), (mistakes.summed_the_other_way, (1, 1, 2))],
)
def test_the_tile_loading_mistake_is_found_and_explained(function, smallest):
    result = mt.compare(function, mistakes.matmul_reference, matrices(), length="K")
    assert not result.ok
    assert tuple(dict(result.smallest.sizes).values()) == smallest  # M, K, N
    text = result.text()
    assert "'b' is read with its two axes swapped" in text
    written = "written by thread (1, 0, 0), threadgroup (0, 0, 0) of kernel 'matmul_nt'"
    assert f"{written}, at tests/comparing/mistakes.py:{store_of_the_sum()}\n" in text
    with pytest.raises(AssertionError, match="axes swapped"):
        result.raise_if_wrong()


def test_one_token_at_a_time():
    """The tile of B is loaded by the rows of A: a prompt of whole tiles is right, one token is not."""
    result = mt.compare(
        mistakes.loaded_by_threads_with_a_row, mistakes.matmul_reference, matrices(), length="K"
    )
    assert dict(result.smallest.sizes) == {"M": 1, "K": 2, "N": 1}
    assert result.first_wrong.index == (0, 0)
    assert "does not depend on a[0, 1], b[0, 1], and should" in result.text()
    assert "the wrong values are the answer for K=1: the last 1 of 2 are left out" in result.text()


def test_right_for_small_wrong_for_large_is_said():
    result = mt.compare(mistakes.first_tile_only, mistakes.matmul_reference, matrices(), length="K")
    assert result.limit == ("K", 16, 17)
    assert dict(result.smallest.sizes) == {"M": 1, "K": 17, "N": 1}
    text = result.text()
    assert "right for small, wrong for large: right up to K=16, wrong from K=17 on" in text
    assert "the wrong values are the answer for K=16: the last 1 of 17 are left out" in text


@pytest.mark.parametrize(
    "function, limit, look",
    [
        (mistakes.byte_index, 1 << 8, "no thread of kernel 'twice' wrote it"),
        (mistakes.capped_grid, 1 << 12, "no thread of kernel 'twice' wrote it"),
    ],
)
def test_a_size_that_is_too_large(function, limit, look):
    result = mt.compare(function, mistakes.doubled, mt.cases({"x": "N"}, tiles=256))
    assert result.limit == ("N", limit, limit + 1)
    assert result.first_wrong.index == (limit,)
    assert look in result.text()


def test_sizes_that_are_no_multiple():
    result = mt.compare(mistakes.fours_without_a_tail, mistakes.doubled, mt.cases({"x": "N"}, tiles=4))
    assert result.common.text == "N is not a multiple of 4"
    assert dict(result.smallest.sizes) == {"N": 1}
    assert result.limit is None
    assert "no thread of kernel 'twice' wrote it: 'y' holds what was there before" in result.text()
    assert ".###\n" in result.error_map and result.error_map.count("#") == 4  # three elements, and the legend


def test_strides_that_are_ignored():
    cases = mt.cases(
        {"x": "rows D"}, layouts=("contiguous", "offset", "strided", "transposed"), largest=1 << 10
    )
    assert mt.compare(mistakes.strided, mistakes.doubled, cases).ok
    result = mt.compare(mistakes.strides_ignored, mistakes.doubled, cases)
    assert {o.case.layout for o in result.failures} == {"strided", "transposed"}
    assert result.smallest.layout in ("strided", "transposed")


def test_a_half_sum_loses_digits_that_a_float_sum_keeps():
    cases = mt.cases({"x": "rows N"}, dtypes="float16", values="ordinary", largest=1 << 10)
    assert mt.compare(mistakes.row_sums, mistakes.row_sums_reference, cases, length="N", schedules=0).ok
    result = mt.compare(mistakes.half_sums, mistakes.row_sums_reference, cases, length="N")
    assert not result.ok
    assert (
        "the errors are those of a sum that is accumulated in float16; accumulate in float32" in result.text()
    )
    forgiven = mt.compare(
        mistakes.half_sums, mistakes.row_sums_reference, cases, length="N", accumulate="float16", schedules=0
    )
    assert forgiven.ok


def test_a_result_that_depends_on_the_schedule():
    cases = mt.cases({"x": mt.Input("N", "int32")}, sizes={"N": (1, 32, 33, 100, 256)}, layouts="contiguous")
    assert mt.compare(mistakes.total, mistakes.total_reference, cases).ok
    result = mt.compare(mistakes.total_without_barrier, mistakes.total_reference, cases)
    assert not result.ok and [o.kind for o in result.failures] == ["schedule"]
    assert "M406 the result depends on the schedule" in result.text()
    assert mt.compare(mistakes.total_without_barrier, mistakes.total_reference, cases, schedules=0).ok


def test_a_fault_is_a_failure_and_a_refusal_is_not():
    text = """
kernel void past(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) { y[i] = 2 * x[i + 1]; }
"""

    def past(x):
        out = np.zeros(x.shape, x.dtype)
        mistakes.kernel(text)(x, out, grid=x.size)
        return out

    result = mt.compare(past, mistakes.doubled, mt.cases({"x": "N"}, sizes={"N": (0, 1, 5)}))
    assert {o.kind for o in result.outcomes if dict(o.case.sizes)["N"] == 0} == {"refused"}
    assert "M301" in result.refused[0].message
    assert dict(result.smallest.sizes) == {"N": 1}
    assert "M101" in result.text() and "refused, nothing computed" in result.text()


def test_cases_that_the_caller_made():
    arrays = [(np.arange(n, dtype="float32"),) for n in (1, 4, 6, 8)]
    result = mt.compare(mistakes.fours_without_a_tail, mistakes.doubled, arrays)
    assert len(result.failures) == 2
    assert str(result.smallest) == "case 0: float32[1]" or str(result.smallest) == "case 2: float32[6]"


def test_several_outputs_and_what_does_not_fit():
    def split(x):
        return {"double": 2 * x, "half": x / 2 + (x > 0.5)}

    result = mt.compare(split, lambda x: {"double": 2 * x, "half": x / 2}, mt.cases({"x": "N"}, largest=64))
    assert result.first_wrong.output == "half"
    assert "half[0] is" in result.text()
    short = mt.compare(lambda x: x[:-1], lambda x: x, mt.cases({"x": "N"}, sizes={"N": 4}))
    assert "result has shape (3,); expected (4,)" in short.text()
    with pytest.raises(mt.MetalloidError, match="the function returned nothing"):
        mt.compare(lambda x: None, lambda x: x, mt.cases({"x": "N"}, sizes={"N": 4}))
