"""Neighbours that a lane loads and stores: as rows, at known and at unknown addresses, copied, at the edge."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.backends.cpu.pipeline import sized, vector_code, vector_stage
from metalloid.errors import KernelFault
from tests.engine.both import LESSER, WIDE, launch, program, same, scalar_ir

RNG = np.random.default_rng(5)
WIDTHS = (0, 8, 32, 64)
DTYPES = {"uchar": np.uint8, "ushort": np.uint16, "float": np.float32}


def floats(n: int) -> np.ndarray:
    return RNG.integers(-99, 99, n).astype(np.float32)


FLOAT4 = "kernel void k(device const float4* a, device float4* b, uint i [[thread_position_in_grid]]) { b[i] = a[i].wzyx * 2 + 1; }"
STRIDED = """kernel void k(device const float* a, device float* b, constant uint& n, uint i [[thread_position_in_grid]]) {
  for (uint j = 0; j < 8; j++) b[i * n + j] = a[i * n + 7 - j] + j; }"""
ANYWHERE = """kernel void k(device const float* a, device float* b, device const uint* at, uint i [[thread_position_in_grid]]) {
  device const float* x = a + 4 * at[i]; device float* y = b + 4 * at[i + 64];
  float p = x[0], q = x[1], r = x[2], s = x[3];
  y[0] = s + 1; y[1] = r; y[2] = q; y[3] = p; }"""
COPIED = """kernel void k(device const float4* a, device float4* b, device const uint* at, uint i [[thread_position_in_grid]],
  uint t [[thread_index_in_threadgroup]]) {
  threadgroup float4 s[64]; s[t] = a[at[i]]; threadgroup_barrier(mem_flags::mem_threadgroup); b[i] = s[63 - t]; }"""
HALVES = """kernel void k(device const half* a, device half* b, constant uint& n, uint i [[thread_position_in_grid]]) {
  half v[8]; for (uint j = 0; j < 8; j++) v[j] = a[i * n + j]; for (uint j = 0; j < 8; j++) b[i * n + j] = v[7 - j]; }"""
BETWEEN = """kernel void k(device float* a, device float* b, uint i [[thread_position_in_grid]]) {
  b[2 * i] = 1; float x = a[i]; b[2 * i + 1] = x + b[2 * i]; a[i] = x * 3; }"""
BYTES = """kernel void k(device const uchar* a, device uint* b, device const uint* at, uint i [[thread_position_in_grid]]) {
  uint near = 7, far = 5;
  for (uint j = 0; j < 16; j++) near = near * 31 + a[i * 35 + j];
  for (uint j = 0; j < 16; j++) far = far * 37 + a[at[i] * 16 + j];
  b[i] = near ^ far; }"""


def cases() -> dict[str, tuple[str, list[np.ndarray]]]:
    at = np.concatenate([RNG.permutation(64), RNG.permutation(64)]).astype(np.uint32)
    return {
        "float4": (FLOAT4, [floats(256), np.zeros(256, np.float32)]),
        "strided": (STRIDED, [floats(64 * 11), np.zeros(64 * 11, np.float32), np.array([11], np.uint32)]),
        "anywhere": (ANYWHERE, [floats(256), np.zeros(256, np.float32), at]),
        "copied": (COPIED, [floats(256), np.zeros(256, np.float32), at]),
        "halves": (
            HALVES,
            [floats(64 * 9).astype(np.float16), np.zeros(64 * 9, np.float16), np.array([9], np.uint32)],
        ),
        "bytes": (BYTES, [RNG.integers(0, 256, 64 * 35, np.uint8), np.zeros(64, np.uint32), at]),
        "between": (BETWEEN, [floats(64), np.zeros(128, np.float32)]),
    }


@pytest.mark.parametrize("name", cases())
@pytest.mark.parametrize("guard", [True, False])
def test_rows_are_what_single_accesses_are(name, guard):
    text, arrays = cases()[name]
    few = name == "bytes"  # of sixteen accesses each, guarded one by one
    for grid, group in ((64, 64), (61, 32)) if few else ((64, 64), (64, 32), (61, 32), (40, 8)):
        same(text, arrays, grid, group, widths=(0,) if few else WIDTHS, guard=guard)


@pytest.mark.parametrize("level", LESSER)
@pytest.mark.parametrize("name", cases())
def test_on_lesser_processors(name, level):
    text, arrays = cases()[name]
    expected = same(text, arrays, 64, 32)
    ir, signature = scalar_ir(text, "k")
    got = [a.copy() for a in arrays]
    cpu_program(ir, signature, target=codegen.limited(level)).run(launch(got, 64, 32))
    for a, b in zip(expected, got, strict=True):
        np.testing.assert_array_equal(a, b)


def test_bytes_change_places_with_neighbours() -> None:
    """Sixteen rows of sixteen bytes, all steps inside of 16 bytes; as one vector LLVM took ten times as many."""
    code = vector_stage(scalar_ir(BYTES, "k")[0], (64, 1, 1), WIDE)
    assert "shufflevector <64 x i8>" in code and "<1024 x i8>" not in code and "<512 x i8>" not in code


@pytest.mark.parametrize("kind", ["uchar", "ushort", "float"])
def test_idle_lanes_read_the_row_of_one_that_runs(kind: str) -> None:
    """The last gang of a grid: its rows are loaded as they are in others, not element by element."""
    text = f"""kernel void k(device const {kind}* a, device {kind}* b, uint i [[thread_position_in_grid]]) {{
      {kind} most = 0; for (uint j = 0; j < 32; j++) most = max(most, a[i * 64 + j]); b[i] = most; }}"""
    ir, size = scalar_ir(text, "k")[0], (64, 1, 1)
    code = vector_code(sized(ir, size), (size, True, False, False, False, None), 0, WIDE).text
    assert "masked.gather" not in code
    arrays = [RNG.integers(0, 200, 61 * 64).astype(DTYPES[kind]), np.zeros(64, DTYPES[kind])]
    for grid in (61, 3):
        same(text, arrays, grid, 64, guard=False)


def test_no_scatter_is_left():
    for text in (FLOAT4, ANYWHERE, COPIED):
        code = vector_stage(scalar_ir(text, "k")[0], (64, 1, 1))
        assert "masked.scatter" not in code.replace("declare void @llvm.masked.scatter", "")


@pytest.mark.parametrize("name", ["float4", "strided", "anywhere", "copied", "halves"])
@pytest.mark.parametrize("which", [0, 1])
def test_a_row_that_does_not_fit_is_a_fault(name, which):
    """One element short, at either end of the copy: the fault names the buffer, and nothing outside changes."""
    text, arrays = cases()[name]
    if name == "anywhere" and which == 0:
        arrays[2] = np.concatenate([np.arange(64), np.arange(64)]).astype(np.uint32)
    whole = np.full(arrays[which].size + 512, 77, arrays[which].dtype)
    start = 256
    short = whole[start : start + arrays[which].size - 1]
    if name in ("strided", "halves"):
        short = short[: -(11 - 8) if name == "strided" else -(9 - 8)]
    short[:] = arrays[which].ravel()[: short.size]
    made = [a.copy() for a in arrays]
    made[which] = short
    with pytest.raises(KernelFault) as caught:
        program(text, "k", 32).run(launch(made, 64, 64))
    assert caught.value.finding.buffer == which
    assert (whole[:start] == 77).all() and (whole[start + short.size :] == 77).all()
