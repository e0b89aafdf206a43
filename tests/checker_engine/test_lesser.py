"""Checked launches on processors that have no loads and stores of some lanes: the same findings and results."""

from __future__ import annotations

import platform

import numpy as np
import pytest

from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import checked_program
from metalloid.backends.observe import Observation
from tests.checker_engine.both import checked_ir, keys
from tests.checker_engine.test_planted import BARRIER, TREE, floats, poison
from tests.engine.both import launch

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="code of lesser x86 processors runs on x86"
)

# Lanes that are off lie in front of the memory, behind it, and anywhere; the last threadgroup is not whole.
EDGES = """kernel void k(device const float* a, device float* o, THREAD) {
    threadgroup float s[64];
    s[t] = a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v = 0;
    if (t >= 1 && t <= FIRST) v += s[t - 1];
    if (t + 9 < 64 && i + 9 < 100) v += s[t + 9];
    if (a[i] < 0) v += s[t + 100000000];
    if (i < 90) o[i] = v;
}"""


def seen_on(level: str, text: str, arrays: list[np.ndarray], grid: int, group: int, patch) -> Observation:
    patch.setattr(codegen, "host", lambda: codegen.limited(level))
    return checked_program(*checked_ir(text)).run(launch(arrays, grid, group, None), timeout=60.0)


@pytest.mark.parametrize("level", ["sse", "avx2"])
@pytest.mark.parametrize(
    ("between", "expected"),
    [(BARRIER, set()), ("", {("race in threadgroup memory", 7, 7)})],
    ids=["clean", "no barrier"],
)
def test_a_tree_of_sums(level: str, between: str, expected: set, monkeypatch: pytest.MonkeyPatch):
    out = poison(2)
    seen = seen_on(level, TREE.replace("BETWEEN", between), [floats(512), out], 512, 256, monkeypatch)
    assert keys(seen.records) == expected
    if not expected:
        assert out.tolist() == [32896, 98432]


@pytest.mark.parametrize("level", ["sse", "avx2"])
def test_lanes_that_are_off_lie_outside(level: str, monkeypatch: pytest.MonkeyPatch):
    a, out = floats(100), poison(90)
    seen = seen_on(level, EDGES.replace("FIRST", "64"), [a, out], 100, 64, monkeypatch)
    assert not seen.records
    t, i = np.arange(100) % 64, np.arange(100)
    left = np.where(t >= 1, np.roll(a, 1), 0)
    right = np.where((t + 9 < 64) & (i + 9 < 100), np.roll(a, -9), 0)
    assert np.array_equal(out, (left + right)[:90])


def test_words_beside_the_lanes_that_are_on_stay():
    """Of what a gang holds back nothing is written, and nothing is forgotten of what others wrote."""
    text = """kernel void k(device const float* a, device float* o, THREAD) {
    threadgroup float s[64];
    if (t % 2 == 0) s[t] = a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t % 2 == 1) s[t] = a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t >= 5) o[i] = s[t] + s[t - 5];
}"""
    with pytest.MonkeyPatch.context() as patch:
        seen = seen_on("sse", text, [floats(64), poison(64)], 64, 64, patch)
        wrong = seen_on(
            "sse", text.replace("t % 2 == 1", "t % 4 == 1"), [floats(64), poison(64)], 64, 64, patch
        )
    assert not seen.records
    assert {r.kind for r in wrong.records} == {"threadgroup read before write"}
