"""Long code is compiled by two processes; what they make together is the same kernel."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cpu import codegen, parallel_codegen
from metalloid.backends.cpu.lower import region_text as passes
from tests.engine.both import same

SOURCE = """#include <metal_stdlib>
using namespace metal;
kernel void k(device const float* a, device float* b, constant uint& n, threadgroup float* t [[threadgroup(0)]],
              uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
              ushort lane [[thread_index_in_simdgroup]]) {
    t[l] = a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float left = simd_shuffle(t[(l + 255) % 256], lane);  // instances of 32 lanes, so that there are segments
    threadgroup_barrier(mem_flags::mem_threadgroup);
    t[l] = left * 2 + a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    b[n + i] = t[255 - l];
}
"""


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[parallel_codegen.Halves]:
    """Every kernel counts as long; what is compiled in halves is noted."""
    made: list[parallel_codegen.Halves] = []

    def noted(text: str) -> parallel_codegen.Halves | None:
        found = parallel_codegen.halves(text)
        made.extend([found] if found else [])
        return found

    monkeypatch.setattr(passes, "MAX_INLINED", 0)
    monkeypatch.setattr(codegen, "LARGE", -1)
    monkeypatch.setattr(parallel_codegen, "LONG", 0)
    monkeypatch.setattr(codegen, "halves", noted)
    monkeypatch.setenv("METALLOID_THREADS", "2")
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path))
    return made


def check() -> None:
    a = np.arange(512, dtype=np.float32)
    b = np.full(512, np.nan, np.float32)
    run = mt.Device("cpu").library(SOURCE)["k"]
    run(a, b, 0, grid=512, threadgroup=256, threadgroup_memory={0: 1024})
    groups = a.reshape(2, 256)
    expected = (np.roll(groups, 1, axis=1) * 2 + groups)[:, ::-1].reshape(-1)
    np.testing.assert_array_equal(b, expected)
    with pytest.raises(mt.KernelFault, match="past 'b'"):
        run(a, b, 1, grid=512, threadgroup=256, threadgroup_memory={0: 1024})


def test_two_halves_are_the_whole(
    long: list[parallel_codegen.Halves], monkeypatch: pytest.MonkeyPatch
) -> None:
    objects: list[bytes] = []
    result = parallel_codegen.OtherProcess.result

    def noted(self: parallel_codegen.OtherProcess) -> bytes:
        objects.append(result(self))
        return objects[-1]

    monkeypatch.setattr(parallel_codegen.OtherProcess, "result", noted)
    check()
    assert long and all(h.exported for h in long)
    assert objects and all(
        o.startswith((b"\x7fELF", b"\xcf\xfa\xed\xfe")) for o in objects
    )  # the other process did it
    count = len(long)
    check()  # from the disk
    assert len(long) == count


@pytest.mark.parametrize(
    "way", [lambda: "/nowhere/python", lambda: _failing("exit 3"), lambda: _failing("echo noise")]
)
def test_where_the_other_process_fails_the_work_is_done_here(
    long: list[parallel_codegen.Halves], way: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", way())
    check()
    assert long


def _failing(line: str) -> str:
    import tempfile

    path = Path(tempfile.mkdtemp()) / "python"
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o700)
    return str(path)


def test_short_code_and_shared_tables_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALLOID_THREADS", "2")
    part = "define internal i64 @segment{}(i32 %j) noinline nounwind {{\nstart:\n  ret i64 0\n}}\n"
    text = (
        "".join(part.format(n) for n in range(4))
        + "define void @mt_threadgroup() nounwind {\n  ret void\n}\n"
    )
    assert parallel_codegen.halves(text) is None
    monkeypatch.setattr(parallel_codegen, "LONG", 0)
    assert parallel_codegen.halves(text) is not None
    assert parallel_codegen.halves("@table = internal constant [2 x i32] zeroinitializer\n" + text) is None
    monkeypatch.setenv("METALLOID_THREADS", "1")
    assert parallel_codegen.halves(text) is None


def test_segments_that_are_written_twice(long: list[parallel_codegen.Halves]) -> None:
    """Threads that return early: a segment has a version with a mask and one without, and both go together."""
    text = SOURCE.split(";\n", 1)[1].replace(
        "    t[l] = a[i];\n", "    t[l] = a[i];\n    if (l >= n) return;\n"
    )
    for n in (250, 256):
        arrays = [np.arange(512, dtype=np.float32), np.zeros(1024, np.float32), np.array([n], np.uint32)]
        same(text, arrays, 512, 256, local={0: 1024})
    assert any("segment1.some" in h.first and "segment1.some" in h.second for h in long)
