"""What a worker answers: mistakes with places, parameters, arrays with what nobody wrote, lines of generated texts."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.studio.jobs import JOBS
from metalloid.studio.jobs.arrays import summary

TEXT = """#include <metal_stdlib>
using namespace metal;

static float twice(float v) {
    return v * 2.0f;
}

kernel void double_it(device const float* x [[buffer(0)]], device float* out [[buffer(1)]],
                      constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    if (i < n) {
        out[i] = twice(x[i]);
    }
}
"""
FORM = {
    "grid": "64",
    "threadgroup": "32",
    "inputs": {
        "x": {"fill": "arange", "shape": "64"},
        "out": {"fill": "output", "shape": "64"},
        "n": {"fill": "value", "value": "60"},
    },
}


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALLOID_CHECK_ENGINE", "oracle")  # a launch sets it, and it is put back


def test_a_mistake_has_its_place_and_its_hint() -> None:
    said = JOBS["diagnose"]({"text": TEXT.replace("twice(x", "twise(x")})
    (found,) = said["diagnostics"]
    assert (found["rule"], found["line"], found["column"], found["here"]) == ("M602", 11, 18, True)
    assert "twice" in found["message"] + found["hint"]
    assert said["kernels"] == []


def test_parameters_are_told_for_the_form() -> None:
    (kernel,) = JOBS["diagnose"]({"text": TEXT})["kernels"]
    assert [(p["name"], p["access"], p["value"], p["kind"]) for p in kernel["parameters"]] == [
        ("x", "read", False, "number"),
        ("out", "write", False, "number"),
        ("n", "read", True, "number"),
    ]


def test_a_launch_tells_what_came_out_and_what_nobody_wrote() -> None:
    answer = JOBS["launch"]({"text": TEXT, **FORM})
    out = next(a for a in answer["arrays"] if a["name"] == "out")
    assert out["values"][:60] == [f"{2 * n}" for n in range(60)]
    assert out["values"][60:] == [None] * 4 and out["untouched"] == 4 and out["output"]
    assert [f["rule"] for f in answer["findings"]] == ["M106"]
    assert 'class="never"' in answer["maps"] and answer["why"]["links"][-1]["holds"] is False


def test_arrays_show_what_is_no_number() -> None:
    made = summary("x", np.array([1.5, np.nan, np.inf, -2], np.float32), poisoned=False)
    assert made["values"] == ["1.5", "nan", "inf", "-2"]
    assert (made["low"], made["high"], made["nan"], made["infinite"]) == (-2.0, 1.5, 1, 1)
    assert summary("e", np.zeros(0, np.float32), poisoned=True)["line"] == []


@pytest.mark.parametrize(
    "stage", ["metal", "rewritten", "ll", "canon.ll", "regions.ll", "vec.ll", "asm", "ptx"]
)
def test_lines_of_a_generated_text_lead_to_the_source_and_back(stage: str) -> None:
    answer = JOBS["stage"]({"text": TEXT, "stage": stage, "threadgroup": "32"})
    text = answer["text"].split("\n")
    assert len(answer["lines"]) == len(text)
    linked = {line for line in answer["lines"] if line}
    assert linked <= set(range(1, TEXT.count("\n") + 2))
    assert {10, 11} <= linked
    assert 5 in linked or stage in (
        "asm",
        "ptx",
    )  # the helper's own line; LLVM may join its code with the caller's
    if stage.endswith("ll"):
        multiplied = [n for n, line in enumerate(text) if " fmul " in line]
        assert {answer["lines"][n] for n in multiplied} == {5}


def test_what_is_inlined_from_a_header_is_the_line_that_called_it() -> None:
    text = TEXT.replace("v * 2.0f", "fract(v)")
    answer = JOBS["stage"]({"text": text, "stage": "ll"})
    assert 5 in answer["lines"] and max(answer["lines"]) <= text.count("\n")


def test_a_stage_that_is_not_there_is_a_sentence() -> None:
    with pytest.raises(Exception, match="there is no stage 'x'"):
        JOBS["stage"]({"text": TEXT, "stage": "x"})


def test_a_launch_is_measured() -> None:
    found = JOBS["measure"]({"text": TEXT, "kernel": "double_it", **FORM})
    assert found["operations"] == 60 and found["bytes"] == 64 * 8 + 4
    assert found["machine"]["bandwidth"] > 0 and found["median"] > 0
