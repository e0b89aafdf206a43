"""No false alarm: kernels that are right stay without a finding, and their results are right under the checker."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources

import numpy as np
import pytest

import metalloid as mt
from metalloid.demo import CASES, Case


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
