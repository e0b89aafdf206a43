"""`timeout=` covers compiling: Python that takes too long is interrupted, LLVM's part is another process's then."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import metalloid as mt
from metalloid import deadline
from metalloid.backends.cpu import codegen, pipeline
from metalloid.backends.cpu.build import cpu_program
from metalloid.errors import NotVectorised, OutOfTime
from metalloid.ir import read
from metalloid.runtime.places import SlowKernelWarning
from tests.engine.both import launch, scalar_ir

TWICE = """kernel void twice(device const float* a, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = {} * a[i];
}"""


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "LEAST", 0.0)


def test_real_code_is_given_up_in_time():
    ir, signature = scalar_ir(conditional(160), "k")  # 7 s of a processor
    program = cpu_program(ir, signature)
    data = [np.ones(256, np.float32), np.ones(256, np.float32)]
    begun = time.thread_time()
    with pytest.raises(OutOfTime, match=r"longer than the 0\.5 s.*\n.*timeout="):
        program.run(launch(data, 256, 256), timeout=0.5)
    assert time.thread_time() - begun < 1.5


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that does not come to its end."""
    function = read(scalar_ir(TWICE.replace("{}", "1.0f"), "twice")[0]).functions[0]

    def for_ever(*arguments: object, **named: object) -> None:
        while True:
            function.map_instructions(lambda i: i)

    monkeypatch.setattr(pipeline, "vector_code", for_ever)


def test_a_launch_with_a_limit_does_not_wait_for_its_code(endless: None):
    kernel = mt.device().library(TWICE.replace("{}", "2.0f"))["twice"]
    a, out = np.arange(8, dtype=np.float32), np.full(8, -1, np.float32)
    with pytest.warns(SlowKernelWarning, match=r"compiling takes longer than the 0\.2 s"):
        kernel(a, out, grid=8, timeout=0.2)
    np.testing.assert_array_equal(out, 2 * a)
    assert not kernel.interpreted  # another launch may have more


def test_a_check_with_a_limit_does_not_wait_for_its_code(endless: None):
    kernel = mt.device().library(TWICE.replace("{}", "3.0f"))["twice"]
    a, out = np.arange(8, dtype=np.float32), np.full(7, -1, np.float32)
    report = mt.check(kernel, a, out, grid=8, timeout=0.2)
    assert [f.rule for f in report.findings] == ["M102"]
    assert any("compiling took longer than 0.2 s" in text for text in report.left)


def test_long_code_is_made_by_a_process_that_can_be_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(codegen, "LARGE", 0)
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path))  # nobody has made it before
    kernel = mt.device().library(TWICE.replace("{}", "5.0f"))["twice"]
    a, out = np.arange(8, dtype=np.float32), np.full(8, -1, np.float32)
    with pytest.warns(SlowKernelWarning, match="compiling takes longer"):
        kernel(a, out, grid=8, timeout=0.01)
    out[:] = -1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel(a, out, grid=8, timeout=100)
    np.testing.assert_array_equal(out, 5 * a)


BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"


def conditional(count: int) -> str:
    lines = (
        f"if (a[{n}] > 0) {{ s[t] = v; {BARRIER} v = s[t ^ {n}]; {BARRIER} }}" for n in range(count // 2)
    )
    return f"""kernel void k(device const float* a, device float* out, uint t [[thread_index_in_threadgroup]]) {{
    threadgroup float s[1024]; float v = a[t];
    for (uint j = 0; j < uint(a[3]); j++) {{ {" ".join(lines)} }}
    out[t] = v; }}"""


def test_barriers_that_may_follow_each_other_in_any_order_are_refused_in_a_sentence():
    """300 of them kept the search for shared code busy for minutes; each may be the next to each."""
    ir, _ = scalar_ir(conditional(300), "k")
    with pytest.raises(NotVectorised, match=r"300 barriers .* instructions\.\n.*behind the `if`"):
        pipeline.vector_stage(ir, (256, 1, 1))


def test_some_barriers_under_conditions_are_compiled():
    assert pipeline.vector_stage(scalar_ir(conditional(20), "k")[0], (256, 1, 1))
