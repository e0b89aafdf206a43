"""A thread that walks along its row has one guard for several elements, and still stops at the first one outside."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cpu import pipeline
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import WIDE, scalar_ir

TEXT = """kernel void k(device const int* starts, device const int* columns, device const float* values,
                        device const float* x, device float* y, uint r [[thread_position_in_grid]]) {
    float sum = 0;
    for (int i = starts[r]; i < starts[r + 1]; i++) sum += values[i] * x[columns[i]];
    y[r] = sum;
}"""
HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"


def _rows(rows: int, longest: int) -> list[np.ndarray]:
    rng = np.random.default_rng(rows)
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, longest, rows))]).astype(np.int32)
    count = int(starts[-1])
    columns, values = rng.integers(0, 50, count).astype(np.int32), rng.integers(-4, 5, count)
    return [starts, columns, values.astype(np.float32), np.arange(50, dtype=np.float32)]


@pytest.mark.parametrize("longest", [3, 9, 40])
@pytest.mark.parametrize("guard", [True, "robust", False])
def test_rows_of_any_length(longest: int, guard: bool | str) -> None:
    starts, columns, values, x = _rows(70, longest)
    y = np.full(70, np.nan, np.float32)
    mt.device("cpu").library(HEAD + TEXT)["k"](
        starts, columns, values, x, y, grid=70, threadgroup=32, guard=guard
    )
    wanted = [(values[a:b] * x[columns[a:b]]).sum() for a, b in itertools.pairwise(starts)]
    np.testing.assert_array_equal(y, np.float32(wanted))


@pytest.mark.parametrize("short", [1, 2, 3, 5])
@pytest.mark.parametrize("which", ["columns", "values"])
def test_the_first_element_outside_is_told(short: int, which: str) -> None:
    starts, columns, values, x = _rows(1, 2)
    starts = np.int32([0, 16])
    columns, values = np.zeros(16, np.int32), np.ones(16, np.float32)
    if which == "columns":
        columns = columns[:-short].copy()
    else:
        values = values[:-short].copy()
    with pytest.raises(mt.KernelFault) as told:
        mt.device("cpu").library(HEAD + TEXT)["k"](
            starts, columns, values, x, np.zeros(1, np.float32), grid=1
        )
    assert f"'{which}'" in str(told.value) and "M101" in str(told.value)


def test_an_index_before_the_start_is_told() -> None:
    _, columns, values, x = _rows(3, 30)
    starts = np.int32([-2, 14])
    with pytest.raises(mt.KernelFault):
        mt.device("cpu").library(HEAD + TEXT)["k"](
            starts, columns, values, x, np.zeros(1, np.float32), grid=1
        )


def test_four_elements_have_one_guard() -> None:
    variant = ((64, 1, 1), False, False, True, False, None)
    text = pipeline.vector_code(canonical(scalar_ir(TEXT, "k", "fast")[0]), variant, 0, WIDE).text
    assert (
        len(re.findall(r"= sub i64 %\w+, 12\n", text)) == 2
    )  # is there room for the last of four columns, and values?


def test_a_report_keeps_the_registers_of_the_loop() -> None:
    """What lives across a call that is never made need not go to the stack."""
    variant = ((64, 1, 1), False, False, True, False, None)
    text = pipeline.vector_code(canonical(scalar_ir(TEXT, "k", "fast")[0]), variant, 0, WIDE).text
    calls = re.findall(
        r"call (.*)void @(report\.\w+|mt_fault)\(", text.split("define internal i32 @segment0")[1]
    )
    assert calls and all(how == "preserve_mostcc " and name == "report.one" for how, name in calls)
