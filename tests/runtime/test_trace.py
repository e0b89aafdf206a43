"""Tracing tells every step of a launch and how it went."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.errors import CompileError, KernelFault, LaunchError

TEXT = """
kernel void add(device float* x, constant float& a, uint i [[thread_position_in_grid]]) { x[i] += a; }
"""


def test_every_step_of_a_launch_is_recorded():
    device = mt.device("cpu")
    with device.trace() as trace:
        add = device.library(TEXT)["add"]
        add(np.zeros(100, np.float32), 1.5, grid=100, threadgroup=32)
    text = trace.text()
    for words in (
        "compile add",
        "index 0 'x' 400 bytes of float, float32[100]",
        "index 1 'a' 4 bytes of float",
        "grid (100, 1, 1) threads in threadgroups of (32, 1, 1) = (4, 1, 1) threadgroups",
        "threadgroup memory add: 0 bytes declared",
        "pipeline add: machine code for threadgroups of (32, 1, 1)",
        "run add",
        "-> completed",
    ):
        assert words in text
    assert [s.kind for s in trace.steps if s.kind == "run"] == ["run"] and trace.steps[-1].seconds > 0


def test_what_goes_wrong_is_recorded_too():
    device = mt.device("cpu")
    add = device.library(TEXT)["add"]
    with device.trace() as trace:
        with pytest.raises(LaunchError):
            add(np.zeros(100, np.float32), grid=100)
        with pytest.raises(KernelFault):
            add(np.zeros(10, np.float32), 1.0, grid=100)
        with pytest.raises(CompileError):
            device.library("kernel void broken(device float* x) { y[0] = 1; }")["broken"]
        commands = device.queue().command_buffer()
        with commands.compute_encoder() as encoder:
            encoder.dispatch(add, np.zeros(10, np.float32), 1.0, grid=10)
        commands.commit()
        commands.wait_until_completed()
    text = trace.text()
    assert "refused add: nothing ran -> LaunchError" in text and "-> KernelFault" in text
    assert "library kernel.metal" in text and "-> CompileError" in text
    assert "commit <command buffer" in text and "complete <command buffer" in text


def test_without_a_trace_nothing_is_kept():
    device = mt.device("cpu")
    with device.trace() as trace:
        pass
    device.library(TEXT)["add"](np.zeros(4, np.float32), 1.0, grid=4)
    assert trace.steps == ()
