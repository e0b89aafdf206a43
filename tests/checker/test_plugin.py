"""The pytest plugin, as a project sees it that has metalloid installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

TESTS = '''
import numpy as np
import pytest
import metalloid as mt

ADD = mt.device().library("""
kernel void add(device const float* a, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = a[i] + 1;
}
""", name="add.metal")["add"]

SPIN = mt.device().library("""
#include <metal_stdlib>
using namespace metal;
kernel void spin(device atomic_uint* x) {
    while (atomic_load_explicit(x, memory_order_relaxed) == 0) {}
}
""")["spin"]

def launch(threads, size=64):
    out = np.zeros(size, np.float32)
    try:
        ADD(np.ones(threads, np.float32), out, grid=threads)
    except mt.KernelFault:
        pass
    return out

@pytest.mark.metalloid_check
def test_marked_and_wrong():
    launch(65)

@pytest.mark.metalloid_check
def test_marked_and_right():
    assert launch(64).sum() == 128

@pytest.mark.metalloid_check(ignore=["M102"])
def test_wrong_on_purpose():
    launch(65)

@pytest.mark.metalloid_check
def test_fails_by_itself():
    assert launch(66)[0] == 5

def test_not_marked():
    launch(65)

@pytest.mark.metalloid_check
def test_never_ends(monkeypatch):
    monkeypatch.setattr("metalloid.checker.engines.SECONDS", 0.2)
    SPIN(np.zeros(1, np.uint32), grid=1)
'''


@pytest.fixture
def run(pytester):
    """Run the tests above in a process of their own, with only this plugin."""
    pytester.makepyfile(test_it=TESTS)
    # An installed metalloid brings the plugin by itself; one that is only on the path does not.
    installed = "metalloid.pytest_plugin" in _entry_points()
    plugin = () if installed else ("-p", "metalloid.pytest_plugin")
    return lambda *words: pytester.runpytest_subprocess(
        *plugin, "-p", "no:cacheprovider", *words, timeout=200
    )


def _entry_points():
    from importlib.metadata import entry_points

    return {point.value for point in entry_points(group="pytest11")}


def test_findings_fail_marked_tests_with_the_text_of_the_report(run):
    result = run("--strict-markers")
    result.assert_outcomes(passed=3, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*add.metal:3:5: M102 out-of-bounds write, 4 bytes past 'out' (256 bytes)",
            "*    out?i? = a?i? + 1;",
            "*hint: *",
            "*1 finding (1 launch, 65 threads checked)",
        ]
    )
    result.stdout.fnmatch_lines(
        [
            "*M209 this loop waits until*",
            "1 finding (1 launch, 1 thread checked; stopped early: still running *",
        ]
    )
    # A test that fails on its own keeps its own error, with what was found beside it.
    result.stdout.fnmatch_lines(["E*assert*== 5*", "*metalloid check*", "add.metal:3:5: M102 *"])


def test_the_option_checks_every_test(run):
    result = run("--metalloid-check", "-k", "not_marked or right or purpose")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*_ test_not_marked _*", "*M102 out-of-bounds write*"])


def test_it_costs_nothing_where_nobody_asks(pytester):
    """The plugin is loaded by every pytest run of everybody who has metalloid installed."""
    code = (
        "import sys, pytest; before = set(sys.modules); import metalloid.pytest_plugin;"
        "print(*sorted(m for m in set(sys.modules) - before if not m.startswith('importlib')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {
        "metalloid",
        "metalloid.garbage",
        "metalloid.lazy",
        "metalloid.pytest_plugin",
    }
