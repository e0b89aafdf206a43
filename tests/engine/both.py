"""Run a kernel on the oracle and on the engine, and compare."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product

import numpy as np

from metalloid.backends import interpret
from metalloid.backends.base import Launch
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.backends.cpu.program import Program
from metalloid.backends.patience import Patience
from metalloid.compile import scalar
from metalloid.source import Source

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
# Processors that this one can pretend to be: see `machine.limited`.
LESSER = ("avx2", "sse") if platform.machine() in ("x86_64", "AMD64") else ()
# One with registers of 512 bits, for tests that look at code and do not run it.
WIDE = codegen.Target("x86-64-v4", "+avx512f", "x86_64-unknown-linux-gnu")
Triple = tuple[int, int, int]


class Endless(Patience):
    """Baseline code for all launches, those with a limit of time too."""

    over = False


@cache
def scalar_ir(text: str, name: str, math: str = "safe"):
    return scalar(Source(HEADER + text, math=math), name)


@cache
def program(text: str, name: str, width: int = 0, math: str = "safe", baseline: bool = False) -> Program:
    ir, signature = scalar_ir(text, name, math)
    return cpu_program(ir, signature, width, patience=Endless() if baseline else None)


def triple(size: int | Sequence[int]) -> Triple:
    parts = [size] if isinstance(size, int) else list(size)
    x, y, z = (*parts, 1, 1)[:3]
    return x, y, z


def launch(arrays: Sequence[np.ndarray], grid, threadgroup, local: Mapping[int, int] | None = None) -> Launch:
    buffers = dict(enumerate(arrays))
    return Launch(triple(grid), triple(threadgroup), buffers, dict(local or {}), kernel="test")


def same(
    text: str,
    arrays: Sequence[np.ndarray],
    grid,
    threadgroup,
    *,
    name: str = "k",
    local: Mapping[int, int] | None = None,
    widths: Sequence[int] = (0,),
    tolerance: float = 0.0,
    guard: bool = True,
    math: str = "safe",
    baseline: bool = False,
) -> list[np.ndarray]:
    """All arrays, as the oracle leaves them; the engine must leave the same, in any order of instances; and with
    baseline code, where that is asked for."""
    ir, _ = scalar_ir(text, name, math)
    expected = [a.copy() for a in arrays]
    interpret.run(ir, launch(expected, grid, threadgroup, local))
    for width in widths:
        for early, backwards in product((False, True)[: 1 + baseline], (False, True)):
            got = [a.copy() for a in arrays]
            made = program(text, name, width, math, early)
            made.run(launch(got, grid, threadgroup, local), guard=guard, backwards=backwards)
            how = f"{width or 'chosen'} lanes, backwards={backwards}, baseline={early}"
            for index, (a, b) in enumerate(zip(expected, got, strict=True)):
                compare(a, b, tolerance, f"buffer {index}, {how}")
    return expected


def compare(expected: np.ndarray, got: np.ndarray, tolerance: float, what: str) -> None:
    if expected.dtype.kind == "f" and tolerance:
        np.testing.assert_allclose(
            got, expected, rtol=tolerance, atol=tolerance, err_msg=what, equal_nan=True
        )
    else:
        np.testing.assert_array_equal(got, expected, err_msg=what)
