"""What the vectoriser cannot take is interpreted: right, slow, and said."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import re
import warnings
from inspect import signature
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import metalloid as mt
from metalloid.backends.cpu import codegen, pipeline
from metalloid.backends.cpu.lower import instructions
from metalloid.cli import group
from metalloid.errors import KernelFault
from metalloid.ir import Module, read, write
from metalloid.runtime.places import SlowKernelWarning
from metalloid.transforms import canonicalize
from metalloid.transforms.barriers import split
from tests.engine.both import HEADER

# An operation of clang's own that Metal does not have; the engine knows nothing of it.
POWERS = f"""{HEADER}
kernel void powers(device const bfloat* x, device float* y, constant int& n, uint i [[thread_position_in_grid]]) {{
    threadgroup float s[64];
    s[i & 63] = __builtin_powif(float(x[i]), n);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = s[(i & 63) ^ 1] + float(simd_sum(1));
}}"""


def launch(kernel: mt.Kernel, y: np.ndarray, grid: int, **more: object) -> None:
    x = (np.arange(64) / 8 - 4).astype(np.float32)
    bits = (x.view(np.uint32) >> 16).astype(np.uint16)
    kernel(bits.view("bfloat16"), y, 3, grid=grid, threadgroup=64, **more)


def test_a_kernel_without_vector_code_is_interpreted():
    kernel = mt.device("cpu").library(POWERS)["powers"]
    y = np.full(64, -1, np.float32)
    with pytest.warns(SlowKernelWarning, match=r"no vector code for this kernel \(llvm.powi"):
        launch(kernel, y, 64)
    x = np.arange(64) / 8 - 4
    np.testing.assert_array_equal(y, (x**3)[np.arange(64) ^ 1] + 32)
    with warnings.catch_warnings():  # said once
        warnings.simplefilter("error")
        y[:] = -1
        launch(kernel, y, 64)
    np.testing.assert_array_equal(y, (x**3)[np.arange(64) ^ 1] + 32)
    with pytest.raises(KernelFault, match="M101"):
        launch(kernel, y, 65, guard=False)  # it stays guarded


def test_a_runaway_is_stopped_on_the_slow_way_too():
    wait = "while (atomic_load_explicit((device atomic_int*)y, memory_order_relaxed) == 0) {} y[i] ="
    endless = POWERS.replace("y[i] =", wait)
    kernel = mt.device("cpu").library(endless)["powers"]
    with pytest.warns(SlowKernelWarning), pytest.raises(KernelFault, match="when its time was up"):
        launch(kernel, np.zeros(64, np.float32), 64, timeout=0.5)


@pytest.mark.parametrize("stage", ("vec.ll", "asm"))
def test_show_says_so(tmp_path, stage):
    file = tmp_path / "powers.metal"
    file.write_text(POWERS)
    shown = CliRunner().invoke(group, ["show", str(file), "--stage", stage])
    assert shown.exit_code == 0
    assert "no vector code for this kernel" in shown.output and "llvm.powi" in shown.output


BREAKS = {
    "text": lambda text: text.replace("ret void", "%x = add i32 %missing, 1\n  ret void", 1),
    "types": lambda text: text.replace("ret void", "%x = add i32 0.5, 1\n  ret void", 1),
    "order": lambda text: text.replace("ret void", "%x = add i32 %y, 1\n  %y = add i32 %x, 1\n  ret void", 1),
    "half of it": lambda text: text[: len(text) // 2],
}

STAGES = {
    "kernel": (canonicalize, "read_once"),
    "segments": (split, "checked"),
    "vector code": (codegen, "optimise"),
}


def broken(what, real):
    """What a stage does, of text that was broken before."""

    def run(given, *more, **named):
        if isinstance(given, str):
            return real(BREAKS[what](given), *more, **named)
        return real(read(BREAKS[what](write(Module((given,))))).function[given.name], *more, **named)

    return run


@pytest.mark.parametrize(
    ("stage", "what"),  # a region is no text: it is broken where it can be
    [(s, w) for s in STAGES for w in BREAKS if s != "segments" or w in ("text", "order")],
)
def test_code_that_llvm_refuses_does_not_end_the_process(what, stage, monkeypatch):
    """A mistake in a pass of ours: the kernel is interpreted, and the refusal is told."""
    source = f"""{HEADER}kernel void k(device int* y, uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {{
        threadgroup int t[512]; t[l] = int(i); threadgroup_barrier(mem_flags::mem_threadgroup);
        y[i] = {len(what)} * t[511 - l] + {len(stage)}; }}"""
    module, name = STAGES[stage]
    real = getattr(module, name)
    monkeypatch.setattr(module, name, broken(what, real))
    y = np.full(1024, -1, np.int32)
    with pytest.warns(SlowKernelWarning, match="no vector code for this kernel"):
        mt.device("cpu").library(source)["k"](y, grid=1024, threadgroup=512)
    np.testing.assert_array_equal(y, len(what) * (np.arange(1024) ^ 511) + len(stage))


def test_a_mistake_in_a_pass_sends_the_kernel_the_slow_way_and_leaves_a_report(monkeypatch, tmp_path):
    def broken(*_: object) -> None:
        raise KeyError("insertvalue")

    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path))
    monkeypatch.setitem(instructions.OPCODES, "fmul", broken)
    text = f"{HEADER}kernel void k(device float* y, uint i [[thread_position_in_grid]]) {{ y[i] = y[i] * y[i + 1]; }}"
    y = np.arange(41, dtype=np.float32)
    with pytest.warns(
        SlowKernelWarning, match="a mistake of metalloid's in vector code, KeyError: 'insertvalue'"
    ):
        mt.device("cpu").library(text)["k"](y, grid=40, threadgroup=8)
    np.testing.assert_array_equal(y[:40], np.arange(40) * np.arange(1, 41))
    (report,) = (tmp_path / "reports").iterdir()
    said = (report / "error.txt").read_text()
    assert "KeyError: 'insertvalue'" in said and re.search(r"--threadgroup \d+,1,1", said)
    left = {path.name for path in report.iterdir()}
    assert left == {
        "error.txt",
        "kernel.ll",
        "kernel.canon.ll",
        "kernel.regions.ll",
    }  # up to the one that fails
    monkeypatch.undo()
    shown = CliRunner().invoke(group, said.split("again: metalloid ")[1].split("\n")[0].split())
    assert shown.exit_code == 0 and "@mt_threadgroup" in shown.output


def test_a_mistake_that_only_good_code_meets_leaves_baseline_code(monkeypatch, tmp_path):
    """A kernel that had run sixteen times ended in the error of a pass at its seventeenth launch."""
    real = pipeline.vectorize

    def broken(*given: Any) -> Any:
        if not signature(real).bind(*given).arguments["brief"]:
            raise KeyError("insertvalue")
        return real(*given)

    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(pipeline, "vectorize", broken)
    text = f"{HEADER}kernel void k(device float* y, uint i [[thread_position_in_grid]]) {{ y[i] += 3; }}"
    kernel, y = mt.device("cpu").library(text)["k"], np.zeros(40, np.float32)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(40):
            kernel(y, grid=40, threadgroup=8)
    assert (y == 120).all()
    assert "there is no good code (a mistake of metalloid's in vector code, KeyError" in str(told[0].message)
    assert not any(issubclass(w.category, SlowKernelWarning) for w in told)


def test_a_report_says_how_to_see_the_stage_that_fails(monkeypatch, tmp_path):
    def broken(*_: object, **__: object) -> None:
        raise KeyError("loop_form")

    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(canonicalize, "loop_form", broken)
    kernel = mt.device("cpu").library(
        f"{HEADER}kernel void k(device float* y, uint i [[thread_position_in_grid]]) {{ y[i] += 3; }}"
    )["k"]
    with pytest.warns(SlowKernelWarning, match="a mistake of metalloid's in canonical form"):
        kernel(np.zeros(8, np.float32), grid=8, threadgroup=8)
    (report,) = (tmp_path / "reports").iterdir()
    assert "--stage canon.ll --threadgroup" in (report / "error.txt").read_text()


def test_a_fault_of_an_interpreted_kernel_is_told_like_any_other():
    y = np.ones(64, np.float32)
    kernel = mt.device("cpu").library(POWERS)["powers"]
    with pytest.warns(SlowKernelWarning), pytest.raises(mt.KernelFault) as caught:
        launch(kernel, y, 65)
    assert isinstance(caught.value.finding, mt.Finding)
    said = str(caught.value)
    assert "2 bytes past 'x' (128 bytes)" in said and "hint: the grid has 65 threads" in said
