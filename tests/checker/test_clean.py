"""No false alarm: kernels that are right stay without a finding, and their results are right under the checker."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources

import ml_dtypes
import numpy as np
import pytest

import metalloid as mt
from metalloid.demo import CASES, Case
from metalloid.mlx import metal_kernel


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__.strip("_"))
def test_the_kernels_of_the_demo_are_clean(make: Callable[[], Case]):
    case = make()
    text = (resources.files("metalloid.demo") / "kernels.metal").read_text(encoding="utf-8")
    kernel = mt.device().library(text, name="kernels.metal")[case.kernel]
    arguments = case.fresh()
    report = mt.check(
        kernel,
        **arguments,
        grid=case.grid,
        threadgroup=case.threadgroup,
        threadgroup_memory=case.threadgroup_memory,
    )
    assert report.ok, report.text()
    np.testing.assert_allclose(arguments[case.output], case.expected, rtol=max(1e-5, case.tolerance))
    assert report.explain(case.output).broken is None


@pytest.mark.parametrize("engine", ["vector", "oracle"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_an_output_that_was_filled_may_stay_as_it_is(
    dtype: type, engine: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("METALLOID_CHECK_ENGINE", engine)
    copy = metal_kernel(
        name="copy",
        input_names=["x"],
        output_names=["out"],
        source="uint i = thread_position_in_grid.x; out[i] = x[i];",
    )
    x = np.arange(1, 9).astype(dtype)
    call = {"inputs": [x], "output_dtypes": [dtype], "grid": (8, 1, 1), "threadgroup": (8, 1, 1)}
    with mt.checked() as report:
        (out,) = copy(**call, output_shapes=[(16,)], init_value=3)
    assert report.ok, report.text()
    np.testing.assert_array_equal(out.astype(np.float32), [*range(1, 9), *[3] * 8])
    with mt.checked() as report:
        copy(**call, output_shapes=[(16,)])
    assert [f.rule for f in report.findings] == ["M305"]
