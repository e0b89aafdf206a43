"""How findings read, and what a report says of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import metalloid as mt
import metalloid.mlx
from metalloid.backends.base import Launch
from metalloid.findings import Finding
from metalloid.ir.debug import Location
from metalloid.runtime.kernel import Kernel
from tests.checker.triplet import HEADER, compiled

SCALE = """#include <metal_stdlib>
using namespace metal;
kernel void scale(device float* y [[buffer(0)]], device const float* x [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
    y[i] = 2 * x[i];
}
"""


def kernel(text: str = SCALE, name: str = "scale") -> Kernel:
    return mt.device().library(text, name="scale.metal")[name]


def test_a_finding_reads_like_a_compilers_diagnostic():
    y = np.full(16, 7, np.float32)
    report = mt.check(kernel(), y, np.arange(17, dtype=np.float32), grid=17)
    assert not report.ok
    assert report.text() == (
        "scale.metal:5:5: M102 out-of-bounds write, 4 bytes past 'y' (64 bytes)\n"
        "    y[i] = 2 * x[i];\n"
        "    ^ thread (16,0,0), threadgroup (0,0,0)\n"
        "    hint: the grid has 17 threads and y 16 elements; return before this line where the index is not below 16\n"
        "\n"
        "1 finding (1 launch, 17 threads checked)"
    )
    np.testing.assert_array_equal(y, np.arange(16) * 2)  # the run went on
    (finding,) = report.findings
    assert (finding.rule, finding.buffer, finding.thread) == ("M102", "y", (16, 0, 0))
    assert (finding.location.file, finding.location.line, finding.location.column) == ("scale.metal", 5, 5)


def test_a_clean_launch_gives_an_empty_report():
    y = np.full(16, 7, np.float32)
    report = mt.check(kernel(), y, np.arange(16, dtype=np.float32), grid=16)
    assert report.ok and not report.findings
    assert report.text() == "no findings (1 launch, 16 threads checked)"


def test_a_text_is_no_kernel():
    with pytest.raises(TypeError, match=r"takes a kernel and its arguments; got str.*library\(text\)"):
        mt.check("kernel void k() {}", grid=1)


def test_json_holds_the_same_as_the_text():
    report = mt.check(kernel(), np.zeros(16, np.float32), np.zeros(20, np.float32), grid=20)
    data = json.loads(report.json())
    (finding,) = data["findings"]
    assert not data["ok"] and finding["rule"] == "M102" and finding["count"] == 4
    assert finding["location"] == {"file": "scale.metal", "line": 5, "column": 5}
    assert data["launches"][0]["grid"] == [20, 1, 1]


def test_a_refused_launch_is_a_finding():
    report = mt.check(kernel(), np.zeros(16, np.float32), np.zeros(16, np.float32), grid=16, threadgroup=2048)
    assert [f.rule for f in report.findings] == ["M302"]
    assert "1024" in report.findings[0].hint


def test_every_launch_of_a_block_is_checked_once_and_the_same_mistake_told_once():
    scale, y = kernel(), np.zeros(16, np.float32)
    with mt.checked() as outer, mt.checked() as inner:
        for _ in range(3):
            scale(y, np.ones(18, np.float32), grid=18)
    assert len(outer.launches) == len(inner.launches) == 3
    assert [(f.rule, f.count) for f in outer.findings] == [("M102", 6)]
    assert (y == 2).all()
    with pytest.raises(mt.KernelFault):  # after the block launches are guarded again
        scale(y, np.ones(18, np.float32), grid=18)


def test_command_buffers_are_checked_too():
    device = mt.device()
    y, x = device.zeros(16), device.buffer(np.ones(18, np.float32))
    with mt.checked() as report:
        commands = device.queue().command_buffer()
        with commands.compute_encoder() as encoder:
            encoder.dispatch(kernel(), y, x, grid=18)
        commands.commit()
        commands.wait_until_completed()
    assert [f.rule for f in report.findings] == ["M102"]


def test_a_launch_may_say_which_buffers_start_undefined():
    from metalloid.checker.run import check_launch

    add = SCALE.replace("y[i] = 2", "y[i] += 2")
    made = kernel(add)
    buffers = {0: np.zeros(4, np.float32), 1: np.ones(4, np.float32)}
    launch = Launch((4, 1, 1), (4, 1, 1), buffers, kernel="scale", undefined=frozenset([0]))
    assert [f.rule for f in check_launch(made, launch).findings] == ["M105"]
    assert not check_launch(made, Launch((4, 1, 1), (4, 1, 1), buffers, kernel="scale")).findings


def test_a_report_of_many_launches_lets_go_of_their_memory():
    scale, x = kernel(), np.ones(16, np.float32)
    with mt.checked() as report:
        for n in range(70):
            scale(np.zeros(16 if n else 15, np.float32), x, grid=16)
    assert len(report.launches) == 70 and [(f.rule, f.count) for f in report.findings] == [("M102", 1)]
    assert report.launches[0].launch.buffers and report.launches[-1].launch.buffers
    assert not report.launches[3].launch.buffers
    assert "70 launches, 1120 threads checked" in report.text()
    assert report.explain().subject.startswith("why is 'y'")


def test_an_environment_variable_checks_a_whole_program():
    program = f"""
import numpy as np
import metalloid as mt
scale = mt.device().library({SCALE!r}, name="scale.metal")["scale"]
for _ in range(2):
    scale(np.zeros(15, np.float32), np.ones(16, np.float32), grid=16)
"""
    environment = {**os.environ, "METALLOID_CHECK": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("metalloid: scale.metal:5:5: M102 out-of-bounds write, 4 bytes past 'y'") == 1


def test_one_mistake_in_one_line_is_one_finding():
    add = SCALE.replace("y[i] = 2", "y[i] += 2")
    report = mt.check(kernel(add), np.zeros(15, np.float32), np.ones(16, np.float32), grid=16)
    assert [f.rule for f in report.findings] == ["M102"]


def test_memory_that_is_bound_twice_is_no_input():
    x = np.ones(16, np.float32)
    report = mt.check(kernel(), x, x, grid=16, overlap=True)
    assert report.ok, report.text()
    assert (x == 2).all()


def test_one_missing_bounds_check_is_one_finding():
    text = (
        HEADER
        + """kernel void scale(device float* y, device const float* x, uint i [[thread_position_in_grid]]) {
    float v = x[i];
    y[i] = 2 * v;
}
"""
    )
    report = mt.check(compiled(text), np.zeros(60, np.float32), np.zeros(60, np.float32), grid=64)
    assert [(f.rule, f.count) for f in report.findings] == [("M102", 4)]
    assert "the same with 'x'" in report.text()


def test_in_mlx_the_caller_gets_hints_for_mlx():
    def launch(source: str, grid: int) -> mt.Report:
        kernel = metalloid.mlx.metal_kernel(name="it", input_names=["x"], output_names=["out"], source=source)
        with mt.checked() as report:
            kernel(
                inputs=[np.arange(256, dtype=np.float32)],
                output_shapes=[(8,)],
                output_dtypes=[np.float32],
                grid=(grid, 1, 1),
                threadgroup=(32, 1, 1),
            )
        return report

    counts = launch("out[uint(x[thread_position_in_grid.x]) % 8] += 1;", 256)
    assert any("atomic_outputs=True" in f.hint for f in counts.findings)
    rows = """uint lane = thread_position_in_threadgroup.x, row = threadgroup_position_in_grid.x;
float sum = simd_sum(x[row * 32 + lane]);
if (lane == 0) out[row] = sum;
"""
    few = launch(rows, 8)
    broken = few.explain().broken
    assert [f.rule for f in few.findings] == ["M304"] and broken is not None
    assert "multiply the grid by the threadgroup" in broken.hint


def test_a_caret_may_stand_behind_the_line():
    where = Location("a.metal", 1, 10)
    finding = Finding("M601", "missing ';'", location=where, excerpt="uint i= 1")
    assert finding.text().split("\n")[2] == "    " + " " * 9 + "^"


def test_one_line_of_a_template_is_one_mistake():
    text = (
        HEADER
        + """template <typename T>
kernel void scale(device T* y, uint i [[thread_position_in_grid]]) {
    y[i] = 2;
}
template [[host_name("scale_float")]] kernel void scale<float>(device float*, uint);
template [[host_name("scale_int")]] kernel void scale<int>(device int*, uint);
"""
    )
    library = mt.device().library(text, name="scale.metal")
    with mt.checked() as report:
        library["scale_float"](np.zeros(60, np.float32), grid=64)
        library["scale_int"](np.zeros(60, np.int32), grid=64)
    assert [(f.rule, f.count) for f in report.findings] == [("M102", 8)]


def test_another_block_looks_at_numbers_anew():
    """A kernel and a size that were looked at with other data before."""
    kernel = compiled(
        HEADER
        + """kernel void k(device const half* x, device half* out, uint i [[thread_position_in_grid]]) {
    half sum = 0;
    for (uint j = 0; j < 8; j++) sum += x[8 * i + j] * x[8 * i + j];
    out[i] = half(sqrt(float(sum)));
}"""
    )
    for value, rules in ((1, []), (200, ["M403"])):
        with mt.checked() as report:
            kernel(np.full(64, value, np.float16), np.zeros(8, np.float16), grid=8)
        assert [f.rule for f in report.findings if f.severity != "note"] == rules
