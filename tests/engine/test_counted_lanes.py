"""Lanes that count up, in gangs of many registers."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import re

import numpy as np
import pytest

from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import sized, vector_code
from tests.engine.both import WIDE, same, scalar_ir

TOTAL = """kernel void k(device const float* a, device float* out, constant uint& n, uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]], uint size [[threads_per_threadgroup]]) {
    threadgroup float part[1024]; part[t] = i {test} ? a[i {by}] : 0.0f; threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = size / 2; d > 0; d /= 2) { if (t < d) part[t] += part[t + d]; threadgroup_barrier(mem_flags::mem_threadgroup); }
    if (t == 0) out[g] = part[0]; }"""
TESTS = {"below": ("< n", ""), "twice": ("* 2 < n", "* 2"), "from behind": ("- 7 < n", "- 7"), "some": ("% 3 == 1 && i < n", ""), "one": ("== n", "- 1")}  # fmt: skip


def text(name: str) -> str:
    test, by = TESTS[name]
    return TOTAL.replace("{test}", test).replace("{by}", by)


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("group", [1024, 512])
def test_as_the_oracle(name: str, group: int) -> None:
    n = 1100
    a = np.random.default_rng(2).integers(-9, 9, n).astype(np.float32)
    for guard in (True, False):
        same(text(name), [a, np.zeros(4, np.float32), np.uint32([n])], 2048, group, guard=guard)


@pytest.mark.parametrize("group", [1024, 512])
def test_they_are_no_constants_each(group: int) -> None:
    """One register of them, and a base for each; or all are copied to the stack, whoever runs."""
    ir, size = scalar_ir(text("below"), "k")[0], (group, 1, 1)
    code = vector_code(sized(ir, size), (size, False, False, False, False, None), 0, WIDE).text
    made = codegen.to_assembly(code, WIDE)
    assert f"<{group} x float>" in code
    assert len(re.findall(r"^\.LCPI\S+:", made, re.M)) < 24
