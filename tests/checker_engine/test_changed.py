"""Reads whose place the same thread writes next: who read is not written down, and no finding is lost by that."""

from __future__ import annotations

import numpy as np
import pytest

from metalloid.ir import read
from metalloid.transforms.check_sites import Options
from metalloid.transforms.instrument import instrument
from tests.checker_engine.both import both, checked_ir, keys

KERNEL = "kernel void k(device const float* a, device float* o, THREAD) {{\n{body}\n}}"
AT_ONCE, ELSEWHERE, WAITS = (
    "o[i] += a[i];",
    "float v = o[i]; o[i + 64] = v; o[i] = v + 1;",
    ("float v = o[i]; threadgroup_barrier(mem_flags::mem_device); o[i] = v + a[i];"),
)


@pytest.mark.parametrize(("body", "changed"), [(AT_ONCE, 1), (ELSEWHERE, 0), (WAITS, 0)])
def test_only_what_nothing_comes_between_counts(body: str, changed: int):
    module = read(checked_ir(KERNEL.format(body=body))[0])
    assert sum(site.changed for site in instrument(module, Options())[1].sites) == changed


# Lanes that meet: the read is on line 2, the write on line 3.
MEET = {
    "at one place": ("o[0]", {("lockstep", 2, 3), ("race in device memory", 3, 3)}),
    "in pairs": ("o[i / 2]", {("lockstep", 2, 3), ("race in device memory", 3, 3)}),
    "each its own": ("o[i]", set()),
}


@pytest.mark.parametrize("name", MEET)
def test_lanes_that_meet_are_told_of_as_by_the_oracle(name: str):
    place, found = MEET[name]
    body = f"float v = {place};\n{place} = v + a[i];"
    arrays = [np.arange(32, dtype=np.float32), np.zeros(32, np.float32)]
    assert keys(both(KERNEL.format(body=body), arrays, 32, 32).records) == found
