"""What one call of a kernel's code does once for all its threadgroups, and how many of them it runs."""

from __future__ import annotations

import re

import numpy as np
import pytest

from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import vector_stage
from tests.engine.both import WIDE, launch, program, scalar_ir

COPY = """kernel void k(device const half* a, device const int* rows, device half* out, constant uint& w,
  uint2 p [[thread_position_in_grid]]) { out[p.y * w + p.x] = a[rows[p.y] * w + p.x]; }"""
LOOP = """kernel void k(device const half* a, device const int* rows, device half* out, constant uint& w,
  uint2 p [[thread_position_in_grid]]) { for (uint n = 0; n < w; n++) out[p.y * w + n] += a[p.x]; }"""


@pytest.mark.parametrize("width", [64, 100])
def test_the_launch_is_read_before_the_first_threadgroup(width):
    """Also where a gang has idle lanes: what is behind a branch stayed in the loop over threadgroups."""
    text = vector_stage(scalar_ir(COPY, "k")[0], (width, 1, 1), WIDE)
    module, _ = codegen.optimise(text, WIDE, 1)
    code = str(module).split("define void @mt_threadgroup")[1].split("\n}")[0]
    inside = code.split("\ngroup:")[1]
    fields = set(re.findall(r"(%\S+) = getelementptr [^\n]*ptr %launch,", code)) | {"%launch"}
    read = re.findall(r"= load \w+, ptr (%[^\s,]+)", inside)
    assert read and not fields.intersection(read)


@pytest.mark.parametrize(
    "text, group, most",
    [(COPY, (100, 1), 81), (COPY, (256, 2), 16), (COPY, (32, 1), 256), (LOOP, (100, 1), 0)],
)
def test_a_call_runs_many_threadgroups_of_code_that_is_done_soon(text, group, most):
    arrays = [np.zeros(100, np.float16), np.zeros(200, np.int32), np.zeros(20000, np.float16)]
    given = launch([*arrays, np.array([100], np.uint32)], (100, 200), group)
    made = program(text, "k", 32)  # a forced width is for the launch's own threadgroup
    assert made.prepared(given, True, False, 1).record.together == most
