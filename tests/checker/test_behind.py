"""What pointers inside argument buffers lead to is written once by a check, as by the launch itself."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from tests.checker.triplet import HEADER, compiled

ARGUMENTS = """struct Args { device half* x; device atomic_uint* count; device uint* order; };
kernel void k(constant Args& args, uint i [[thread_position_in_grid]]) {
    {BODY}
}"""
BODIES = {
    "numbers": "args.x[i] += args.x[i] * 2;",
    "orders": "args.x[i] += 2; args.order[atomic_fetch_add_explicit(args.count, 1, memory_order_relaxed)] = i;",
    "a barrier": "args.x[i] += 2; if (i < 50) threadgroup_barrier(mem_flags::mem_device);",
}


@pytest.mark.parametrize("engine", ["vector", "oracle"])
@pytest.mark.parametrize("name", BODIES)
def test_a_check_changes_them_once(name: str, engine: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("METALLOID_CHECK_ENGINE", engine)
    x, count, order = np.ones(64, np.float16), np.zeros(1, np.uint32), np.zeros(64, np.uint32)
    kernel = compiled(HEADER + ARGUMENTS.replace("{BODY}", BODIES[name]))
    report = mt.check(kernel, {"x": x, "count": count, "order": order}, grid=64)
    assert report.ok == (name != "a barrier"), report.text()
    assert (x == 3).all()
    assert count[0] == (64 if name == "orders" else 0)
    assert sorted(order) == (list(range(64)) if name == "orders" else [0] * 64)
