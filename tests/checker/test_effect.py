"""A launch in which nothing was stored is told, with the condition that no thread passed; unless that is meant."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.findings import ERROR, NOTE
from tests.checker.triplet import HEADER, blank, compiled, floats

ARGUMENTS = "device float* y, device const float* x, constant uint& n, uint i [[thread_position_in_grid]]"


@pytest.fixture(params=["vector", "oracle"], autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALLOID_CHECK_ENGINE", request.param)


def told(body: str, n: int, y: object = None, x: np.ndarray | None = None) -> list[tuple[str, str, int, str]]:
    """Rule, severity, line of the body and hint of what is found in a launch of 64 threads."""
    kernel = compiled(f"{HEADER}kernel void k({ARGUMENTS}) {{\n{body}\n}}")
    report = mt.check(kernel, blank(64) if y is None else y, floats(64) if x is None else x, n, grid=64)
    line = HEADER.count("\n") + 1
    return [(f.rule, f.severity, f.location.line - line, f.hint) for f in report.findings if f.location]


GUARD = "if (i + 1000 >= n)\n return;\ny[i] = x[i];"


def test_a_guard_that_turns_every_thread_away_is_found_with_its_numbers():
    hint = "pass the size that the condition compares with; n is 64 in this launch"
    assert told(GUARD, 64) == [("M106", ERROR, 1, hint)]
    assert told(GUARD.replace(" + 1000", ""), 64) == []


def test_a_condition_without_arguments():
    ((rule, severity, line, _),) = told("uint j = i;\nif (j > 64)\n y[i] = x[i];", 64)
    assert (rule, severity, line) == ("M106", ERROR, 2)


def test_a_size_of_0_may_be_meant_and_is_a_note():
    for body in ("if (i < n) y[i] = x[i];", "for (uint k = i; k < n; k += 64) y[k] = x[k];"):
        assert [(r, s) for r, s, *_ in told(body, 0)] == [("M106", NOTE)]
        assert told(body, 64) == []
        assert told(body, 0, y=np.zeros(0, np.float32)) == []  # there is nothing to write


def test_a_size_of_0_leaves_garbage_in_memory_that_nobody_set():
    assert [(r, s) for r, s, *_ in told("if (i < n) y[i] = x[i];", 0, mt.device().empty(64))] == [
        ("M106", ERROR)
    ]


def test_conditions_on_data_may_be_false_for_all_of_it():
    assert told("if (x[i] > 1000) y[i] = x[i];", 64) == []
    assert told("if (x[i] > 1000 && i < n) y[i] = 1;", 0) == []


def test_a_kernel_without_a_store():
    ((rule, severity, line, hint),) = told("float z = 2 * x[i];", 64)
    assert (rule, severity, line) == ("M106", ERROR, 0) and "'y'" in hint
    read_only = compiled(
        HEADER + "kernel void look(device const float* x, uint i [[thread_position_in_grid]]) { }"
    )
    assert not mt.check(read_only, floats(8), grid=8).findings
