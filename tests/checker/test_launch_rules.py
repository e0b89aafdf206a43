"""M301 to M309, M503 to M506: mistakes of the caller. Each test has the mistake and the same thing put right.

The pages of these rules have one more pair each (test_python_pages.py).
"""

from __future__ import annotations

import contextlib
import inspect

import numpy as np
import pytest

import metalloid as mt
import metalloid.mlx
from metalloid.findings.places import nearby
from tests.checker.triplet import HEADER, blank, compiled, floats

FILL = "kernel void fill(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 1; }"


def told(launches, **inputs):
    """(rule, line inside `launches`) of what a function of launches is told, notes included."""
    with contextlib.suppress(mt.LaunchError), mt.checked() as report:
        kept = launches(**inputs)  # noqa: F841  # what it made is alive until the block ends
    first = inspect.getsourcelines(launches)[1]
    for finding in report.findings:
        assert finding.hint and finding.location is not None
        assert finding.location.file == nearby(__file__), finding.text()
    return [(f.rule, f.location.line - first) for f in report.findings]


def kernel(text, **settings):
    return compiled(HEADER + text, **settings)


# Sizes


def test_m301_a_size_of_zero():
    def launch(columns):
        x = blank(8)
        kernel(FILL)(x, grid=(8, columns))
        return x

    assert told(launch, columns=0) == [("M301", 2)]
    assert told(launch, columns=1) == []


def test_m301_no_threadgroups():
    def launch(count):
        kernel(FILL)(blank(8), threadgroups=count, threadgroup=8)

    assert told(launch, count=7 // 8) == [("M301", 1)]
    assert told(launch, count=1) == []


def test_m302_a_kernel_may_allow_fewer_threads_than_the_device():
    text = "[[max_total_threads_per_threadgroup(64)]] " + FILL

    def launch(size):
        kernel(text)(blank(256), grid=256, threadgroup=size)

    assert told(launch, size=128) == [("M302", 1)]
    assert told(launch, size=64) == []


def test_m302_the_product_of_the_axes_counts():
    def launch(size):
        queue = mt.device().queue()
        commands = queue.command_buffer()
        with commands.compute_encoder() as encoder:
            encoder.set_pipeline(kernel(FILL))
            encoder.set_buffer(mt.device().zeros(64 * 64), index=0)
            encoder.dispatch_threads((4096, 1), size)
        commands.commit()
        commands.wait_until_completed()

    assert told(launch, size=(64, 32)) == [("M302", 6)]
    assert told(launch, size=(512, 1)) == []


def test_m303_declared_and_passed_memory_count_together():
    text = """kernel void turn(device float* x, threadgroup float* more [[threadgroup(0)]],
                               uint i [[thread_position_in_threadgroup]]) {
        threadgroup float tile[7500];
        tile[i] = more[i] = x[i];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        x[i] = tile[63 - i] + more[63 - i];
    }"""

    def launch(size):
        kernel(text)(floats(64), grid=64, threadgroup=64, threadgroup_memory={0: size})

    assert told(launch, size=4096) == [("M303", 1)]
    assert told(launch, size=2768 // 16 * 16) == []  # what the hint allows


# Grids that count threadgroups


def test_m304_a_kernel_that_works_by_threadgroups():
    text = """kernel void rows(device float* out, uint row [[threadgroup_position_in_grid]],
                               uint i [[thread_position_in_threadgroup]]) { if (i == 0) out[row] = row; }"""

    def launch(**sizes):
        kernel(text)(blank(8), **sizes, threadgroup=64)

    assert told(launch, grid=8) == [("M304", 1)]
    assert told(launch, threadgroups=8) == []


def test_m304_in_mlx_form():
    made = metalloid.mlx.metal_kernel(
        name="twice",
        input_names=["x"],
        output_names=["out"],
        source="uint i = thread_position_in_grid.x; out[i] = 2 * x[i];",
    )

    def launch(grid):
        made(
            inputs=[floats(1024)],
            output_shapes=[(1024,)],
            output_dtypes=[np.float32],
            grid=(grid, 1, 1),
            threadgroup=(256, 1, 1),
        )

    assert told(launch, grid=4) == [("M304", 1)]
    assert told(launch, grid=1024) == []


# Arguments

SCALE = """kernel void scale(device float* x [[buffer(0)]], constant half& by [[buffer(1)]],
                              constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    if (i < n) x[i] *= by;
}"""


def test_m306_arguments_in_the_wrong_order():
    def launch(*, x=0, by=1):
        given = [floats(8), 2.0]
        kernel(SCALE)(given[x], given[by], 8, grid=8)

    assert told(launch, x=1, by=0) == [("M306", 2)]
    assert told(launch) == []


def test_m306_an_argument_that_is_not_there():
    def launch(**more):
        kernel(SCALE)(floats(8), 2.0, **more, grid=8)

    assert told(launch) == [("M306", 1)]
    assert told(launch, n=8) == []


def test_m306_an_index_that_was_never_set():
    def launch(indices):
        commands = mt.device().queue().command_buffer()
        encoder = commands.compute_encoder()
        encoder.set_pipeline(kernel(SCALE))
        encoder.set_buffer(mt.device().buffer(floats(8)), index=0)
        for index, value in indices.items():
            encoder.set_bytes(value, index=index)
        encoder.dispatch_threads(8, 8)
        encoder.end_encoding()
        commands.commit()
        commands.wait_until_completed()

    assert told(launch, indices={1: 2.0}) == [("M306", 7)]
    assert told(launch, indices={1: 2.0, 2: 8}) == []


@pytest.mark.parametrize(
    ("by", "n", "rules"),
    [(2.0, -1, ["M307"]), (70000.0, 8, ["M307"]), (2.0, 4.5, ["M307"]), (65504.0, 8, [])],
)
def test_m307_numbers_that_do_not_fit(by, n, rules):
    def launch():
        kernel(SCALE)(floats(8), by, n, grid=8)

    assert told(launch) == [(rule, 1) for rule in rules]


# Command buffers and buffers


def test_m308_work_that_is_never_committed():
    def launch(commit):
        x = mt.device().zeros(8)
        commands = mt.device().queue().command_buffer()
        with commands.compute_encoder() as encoder:
            encoder.dispatch(kernel(FILL), x, grid=8)
        if commit:
            commands.commit()
            commands.wait_until_completed()

    assert told(launch, commit=False) == [("M308", 2)]
    assert told(launch, commit=True) == []


def test_m308_a_result_that_is_read_before_the_work_has_run():
    def launch(wait):
        queue = mt.device().queue()
        x, ready, commands = mt.device().zeros(8), queue.event(), queue.command_buffer()
        commands.wait_for_event(ready, 1)
        with commands.compute_encoder() as encoder:
            encoder.dispatch(kernel(FILL), x, grid=8)
        commands.commit()
        if wait:
            ready.signal(1)
            commands.wait_until_completed()
        x.numpy()
        ready.signal(1)
        commands.wait_until_completed()

    assert told(launch, wait=False) == [("M308", 10)]
    assert told(launch, wait=True) == []


def encoded(x):
    commands = mt.device().queue().command_buffer()
    with commands.compute_encoder() as encoder:
        encoder.dispatch(kernel(FILL), x, grid=8)
    return commands


@pytest.mark.parametrize("keep", [True, False], ids=["kept", "gone"])
def test_m308_is_said_once_of_a_result_that_is_read_and_never_committed(keep):
    def launch():
        x = mt.device().zeros(8)
        commands = encoded(x)
        x.numpy()
        x.numpy()
        return commands if keep else None

    assert told(launch) == [("M308", 3)]


def test_m308_says_which_command_buffer_and_which_kernel():
    x = mt.device().zeros(8)
    with mt.checked() as report:
        commands = encoded(x)
        x.numpy()
    made = inspect.getsourcelines(encoded)[1] + 1
    (finding,) = report.findings
    assert f"the command buffer with kernel 'fill', made at {nearby(__file__)}:{made}," in finding.message
    assert finding.message.startswith("the buffer bound as 'x' is read before it is written")
    commands.commit()
    commands.wait_until_completed()


def test_m308_waiting_for_what_was_never_committed_is_one_finding():
    def launch():
        commands = encoded(mt.device().zeros(8))
        commands.wait_until_completed()

    assert told(launch) == [("M308", 2)]


ENCODER = {
    "M103": lambda e, x: e.set_buffer(x, offset=2),
    "M306 an offset": lambda e, x: e.set_buffer(x, offset=64),
    "M306 an index": lambda e, x: e.set_buffer(x, index=31),
    "M306 bytes": lambda e, x: e.set_bytes(x),
    "M306 a buffer": lambda e, x: e.set_buffer(7),
    "M306 a pipeline": lambda e, x: e.set_pipeline("fill"),
    "M306 no pipeline": lambda e, x: e.dispatch_threads(8, 8),
    "M308": lambda e, x: (e.end_encoding(), e.dispatch_threads(8, 8)),
}


@pytest.mark.parametrize("name", ENCODER)
def test_what_an_encoder_refuses_has_a_rule_and_a_hint(name):
    def launch(mistake):
        x = mt.device().zeros(8)
        encoder = mt.device().queue().command_buffer().compute_encoder()
        mistake(encoder, x)

    with pytest.raises(mt.LaunchError, match=name[:4]) as raised, mt.checked() as report:
        launch(ENCODER[name])
    assert [f.rule for f in report.findings] == [name[:4]]
    assert raised.value.hint and report.findings[0].hint == raised.value.hint


def test_m309_a_buffer_more_with_each_launch():
    def launch(keep):
        history = []
        for _ in range(12):
            x = mt.device().buffer(floats(8), copy=True)
            kernel(FILL)(x, grid=8)
            history.append(x if keep else x.numpy().sum())
        return history

    assert told(launch, keep=True) == [("M309", 3)]
    assert told(launch, keep=False) == []


def test_m309_weights_that_are_made_before_the_launches_are_no_leak():
    def launch():
        weights = [mt.device().buffer(floats(8), copy=True) for _ in range(40)]
        for x in weights:
            kernel(FILL)(x, grid=8)
        return weights

    assert told(launch) == []


# What costs time


def test_m503_a_threadgroup_that_does_not_fill_a_simd_group():
    text = "kernel void fill2(device float* x, uint2 at [[thread_position_in_grid]]) { x[at.y * 64 + at.x] = 1; }"

    def launch(size):
        kernel(text)(blank(32, 64), grid=(64, 32), threadgroup=size)

    assert told(launch, size=(4, 4)) == [("M503", 1)]
    assert told(launch, size=(32, 8)) == []


def test_m504_one_thread_that_does_it_all():
    text = """kernel void sum(device const float* x, device atomic_float* out, constant uint& each,
                              uint i [[thread_position_in_grid]]) {
        float total = 0;
        for (uint k = 0; k < each; k++) total += x[i * each + k];
        atomic_fetch_add_explicit(out, total, memory_order_relaxed);
    }"""

    def launch(threads):
        out = np.zeros(1, np.float32)
        kernel(text)(floats(1500), out, 1500 // threads, grid=threads)
        assert out[0] == floats(1500).sum()

    assert told(launch, threads=1) == [("M504", 2)]
    assert told(launch, threads=1500) == []


def test_m505_an_input_that_does_not_lie_in_rows():
    made = metalloid.mlx.metal_kernel(
        name="copy_of",
        input_names=["x"],
        output_names=["out"],
        source="uint i = thread_position_in_grid.x; out[i] = x[i];",
    )

    def launch(x):
        made(
            inputs=[x],
            output_shapes=[(64, 32)],
            output_dtypes=[np.float32],
            grid=(2048, 1, 1),
            threadgroup=(256, 1, 1),
        )

    image = floats(2048).reshape(32, 64)
    assert told(launch, x=image.T) == [("M505", 1)]
    assert told(launch, x=np.ascontiguousarray(image.T)) == []


def test_m505_an_array_of_another_type():
    def launch(x, copy=None):
        kernel(FILL)(mt.device().buffer(x, dtype="float32", copy=copy), grid=1024)

    assert told(launch, x=np.ones(1024)) == [("M505", 1)]
    assert told(launch, x=np.ones(1024), copy=True) == []
    assert told(launch, x=np.ones(1024, np.float32)) == []


def test_m506_a_library_that_is_made_in_every_call():
    text = HEADER + FILL
    library = mt.device().library(text)

    def launch(once):
        for _ in range(6):
            made = library if once else mt.device().library(text)
            made["fill"](blank(8), grid=8)

    assert told(launch, once=False) == [("M506", 3)]
    assert told(launch, once=True) == []
