"""Lanes that lie anywhere are accessed by calls: in baseline code, and wherever a buffer has to be looked for."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.backends.cpu.short_blocks import LENGTH, short_blocks
from metalloid.errors import KernelFault
from metalloid.ir.verify import verify
from metalloid.runtime.guarding import OutsideWarning
from tests.engine.both import HEADER, same, scalar_ir

# Which buffer a pointer is of is told by memory: it has to be looked for. Lanes lie in two buffers at once, or in one.
EITHER = """kernel void k(device const {T}* a, device const {T}* b, device const uint* at, device {T}* out,
                          constant uint& split, device {T}* other, uint i [[thread_position_in_grid]]) {{
    device const {T}* p = i < split ? a : b;
    if (at[i] % 5 == 4) return;
    out[i] = p[at[i]] + p[at[i] + 1];
    device {T}* q = i < split ? out + 64 : other;
    q[39 - i] = p[at[i] + 2];
}}
"""


def memory(kind: type, split: int) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    a, b = rng.integers(1, 40, 70).astype(kind), rng.integers(1, 40, 50).astype(kind)
    return [
        a,
        b,
        rng.permutation(48)[:40].astype(np.uint32),
        np.full(128, 99, kind),
        np.array([split], np.uint32),
        np.full(40, 98, kind),
    ]


@pytest.mark.parametrize("baseline", ("0", "1"))
@pytest.mark.parametrize("split", (0, 17, 40))
@pytest.mark.parametrize(
    "name, kind", [("float", np.float32), ("half", np.float16), ("uchar", np.uint8), ("long", np.int64)]
)
def test_buffers_that_are_looked_for(name: str, kind: type, split: int, baseline: str, monkeypatch) -> None:
    monkeypatch.setenv("METALLOID_BASELINE", baseline)
    same(EITHER.format(T=name), memory(kind, split), 40, 40, widths=(0, 8, 32))


def run(arrays: list[np.ndarray], guard: bool | str = True) -> None:
    made = mt.device("cpu").library(HEADER + EITHER.format(T="float"))["k"]
    made(*arrays, grid=40, threadgroup=40, guard=guard)


@pytest.mark.parametrize("baseline", ("0", "1"))
def test_a_lane_outside_is_told_with_its_thread(baseline: str, monkeypatch) -> None:
    monkeypatch.setenv("METALLOID_BASELINE", baseline)
    arrays = memory(np.float32, 17)
    arrays[2][23] = 100_000_000
    with pytest.raises(KernelFault, match=r"23") as told:
        run(arrays)
    assert "p[at[i]]" in str(told.value)


@pytest.mark.parametrize("baseline", ("0", "1"))
def test_robust_reads_give_nothing_outside(baseline: str, monkeypatch) -> None:
    monkeypatch.setenv("METALLOID_BASELINE", baseline)
    arrays = memory(np.float32, 17)
    arrays[2][23] = 100_000_001
    with pytest.warns(OutsideWarning):
        run(arrays, "robust")
    a, b, at, out, *_ = arrays
    wanted = [
        99 if n % 5 == 4 else 0 if n > 1000 else (a if i < 17 else b)[n : n + 2].sum()
        for i, n in enumerate(at)
    ]
    np.testing.assert_array_equal(out[:40], wanted)


def test_baseline_code_of_scattered_rows_is_short() -> None:
    """Sixteen elements of rows anywhere: a call each, where good code has 32 loads and their turning round."""
    text = """kernel void k(device const half* a, device const uint* at, device float* b, uint i [[thread_position_in_grid]]) {
        float s = 0; for (uint j = 0; j < 16; j++) s += a[at[i] * 40 + j] * a[at[i] * 24 + 2 * j]; b[i] = s; }"""
    ir, _ = scalar_ir(text, "k")
    if codegen.host().info.gathers:
        pytest.skip("this processor gathers")
    lengths = [vector_stage(ir, (32, 1, 1), brief=brief).count("\n") for brief in (True, False)]
    assert 3 * lengths[0] < lengths[1]


def test_long_blocks_are_cut_and_their_successors_know() -> None:
    adds = "\n".join(f"  %v{n} = add i32 %v{n - 1}, {n}" for n in range(1, 3 * LENGTH))
    text = f"""define i32 @f(i32 %v0, i1 %c) {{
start:
  %place = alloca i32
{adds}
  br i1 %c, label %other, label %end
other:
  br label %end
end:
  %r = phi i32 [ %v{3 * LENGTH - 1}, %start ], [ 7, %other ]
  ret i32 %r
}}
"""
    made = short_blocks(text)
    verify(made)
    assert made.count("br label %onward") == 2 and "%onward.2 ], [ 7, %other ]" in made
