"""Loops of a thread alone that write a row: many rounds at once, where what they write is nobody else's to read."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import re

import numpy as np
import pytest

from metalloid.analysis.intervals.prove import Prover
from metalloid.analysis.intervals.values import Facts
from metalloid.backends import interpret
from metalloid.backends.cpu.lower.lane_or_loop import alone
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.records import replace
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import WIDE, launch, program, scalar_ir

RNG = np.random.default_rng(43)
TEXT = """kernel void k(device const float* x, device float* y, device float* z, constant int& n, uint i [[thread_position_in_grid]]) {{ {body} }}"""
LOOPS = {
    "from another": "for (int j = 0; j < n; j++) y[i * n + j] = x[i * n + j] * 2 + 1;",
    "in place": "for (int j = 0; j < n; j++) y[i * n + j] = y[i * n + j] * 2 + x[j];",
    "from the last": "for (int j = 1; j < n; j++) y[i * n + j] = y[i * n + j - 1] * 0.5f + x[j];",
    "from the next": "for (int j = 0; j < n - 1; j++) y[i * n + j] = y[i * n + j + 1] + 1;",
    "two rows": "for (int j = 0; j < n; j++) { float v = x[i * n + j]; y[i * n + j] = v + 1; z[i * n + j] = v * 3; }",
    "exchanged": "for (int j = 0; j < n; j++) { float v = y[i * n + j]; y[i * n + j] = z[i * n + j]; z[i * n + j] = v; }",
    "behind a sum": "float s = 0; for (int j = 0; j < n; j++) s += x[i * n + j]; for (int j = 0; j < n; j++) y[i * n + j] = x[i * n + j] - s;",
    "turned round": "for (int j = 0; j < n; j++) y[i * n + j] = x[i * n + n - 1 - j];",
    "from the end": "for (int j = 0; j < n; j++) y[i * n + n - 1 - j] = x[i * n + j] + 1;",
    "both from the end": "for (int j = n - 1; j >= 0; j--) y[i * n + j] = x[i * n + j] * 3;",
}  # fmt: skip
APART, OVER = [(0, 2000, 4000), (0, 0, 4000), (3, 3, 3)], [(0, 1, 4000), (1, 0, 4000), (5, 0, 2), (0, 16, 17)]


@pytest.mark.parametrize("body", LOOPS.values(), ids=LOOPS)
def test_buffers_that_are_the_same_memory_or_overlap(body):
    """Rows of twelve threads where buffers are apart or the same, of one thread where they overlap."""
    text = TEXT.format(body=body)
    ir = scalar_ir(text, "k")[0]
    for n in (1, 17, 70):
        for at, starts in enumerate((*APART, *OVER)):
            rows = 12 if starts in APART else 1
            memory = RNG.integers(-9, 9, 6000).astype(np.float32)

            def views(memory, starts=starts, size=rows * n + 1, n=n):
                return [*(memory[start : start + size] for start in starts), np.int32([n])]

            expected, got = memory.copy(), memory.copy()
            interpret.run(ir, launch(views(expected), rows, 12))
            guard = ("robust", False)[at % 2]
            program(text, "k").run(launch(views(got), rows, 12), guard=guard)
            np.testing.assert_array_equal(got, expected, err_msg=f"{n} elements, buffers from {starts}")


@pytest.mark.parametrize("body", LOOPS.values(), ids=LOOPS)
def test_launches_of_one_size_with_memory_bound_once_and_twice(body):
    """What is proved of buffers that lie apart is not so of the same buffers where they overlap."""
    text = TEXT.format(body=body)
    ir = scalar_ir(text, "k")[0]
    made = program(text, "k", 0, "fast")
    for n in (70, 17, 2):
        for starts in (*[APART[0]] * 3, *[OVER[1]] * 3, APART[1], *[OVER[2]] * 2, OVER[3], APART[0]):
            memory = RNG.integers(-9, 9, 6000).astype(np.float32)

            def views(memory, starts=starts, size=n + 1, n=n):
                return [*(memory[start : start + size] for start in starts), np.int32([n])]

            expected, got = memory.copy(), memory.copy()
            interpret.run(ir, launch(views(expected), 1, 1))
            made.run(launch(views(got), 1, 1))
            np.testing.assert_array_equal(got, expected, err_msg=f"{n} elements, buffers from {starts}")


AGAIN = """kernel void k(device const float* x, device float* y, device float* z, device float* w, device float* out, constant int& n, uint i [[thread_position_in_grid]]) {{
    {before} for (int j = 0; j < n; j++) {{ y[i * n + j] = x[i * n + j] + 1; z[i * n + j] = 5; w[i * n + j] = y[i * n + j] * 2; }} }}"""
SUM = "float s = 0; for (int j = 0; j < n; j++) s += x[i * n + j]; out[i] = s;"


@pytest.mark.parametrize("before", ["", SUM], ids=["alone", "behind a sum"])
def test_a_row_that_is_read_after_it_is_written(before):
    """The store between keeps the load, and loads of all rounds went before the stores: the rest of a row, and short
    rows, were made of what had been there before."""
    made = program(AGAIN.format(before=before), "k", 0, "fast")
    for n in (3, 7, 20, 33, 70):
        x = RNG.integers(-9, 9, 40 * n).astype(np.float32)
        for _ in range(3):
            y, z, w, out = (np.full(40 * n, -99, np.float32) for _ in range(4))
            made.run(launch([x, y, z, w, out, np.int32([n])], 40, 40))
            np.testing.assert_array_equal(y, x + 1)
            np.testing.assert_array_equal(w, (x + 1) * 2, err_msg=f"rows of {n}")


@pytest.mark.parametrize("name", ["from another", "turned round", "from the end"])
def test_threads_run_alone_in_either_direction(name):
    """Rows that are read or written backwards are rows: LLVM turns registers round."""
    assert alone(canonical(scalar_ir(TEXT.format(body=LOOPS[name]), "k")[0]), WIDE.info) is not None


@pytest.mark.parametrize("apart", [True, False])
def test_buffers_that_lie_apart_are_told_to_llvm(apart):
    module = canonical(scalar_ir(TEXT.format(body=LOOPS["two rows"]), "k")[0])
    lengths = {0: 1 << 16, 1: 1 << 16, 2: 1 << 16, 3: 4}
    facts = Facts((32, 1, 1), (32, 1, 1), (1, 1, 1), lengths, {}, {3: np.int32([100]).tobytes()})
    proof = replace(Prover(module).prove(facts), apart=apart)
    code = vector_code(module, ((32, 1, 1), False, False, True, False, proof), 0, WIDE).text
    stores = re.findall(r"store float .*", code)
    assert stores and all(("!alias.scope !20" in store) == apart for store in stores)
    assert (
        "!300 = !{!101, !102}" in code
    ) == apart  # what is loaded from the first is in neither of the others


RESTS = {
    "floats": ("float", "float", "y[i * n + j] = x[i * n + j] * s + z[i];"),
    "halves": ("half", "half", "y[i * n + j] = half(float(x[i * n + j]) * s + float(j));"),
    "to bytes": ("float", "char", "y[i * n + j] = char(x[i * n + j] * s);"),
    "from bytes": ("uchar", "float", "y[i * n + j] = float(x[i * n + j]) * s + z[j];"),
    "integers": ("int", "short", "y[i * n + j] = short(x[i * n + j] + j * 3);"),
    "filled": ("float", "float", "y[i * n + j] = s + z[i];"),
    "constant": ("float", "half", "y[i * n + j] = 3;"),
    "in place": ("float", "float", "y[i * n + j] = y[i * n + j] * s + x[i * n + j];"),
    "chosen": ("float", "float", "y[i * n + j] = x[i * n + j] > 0 ? x[i * n + j] : z[j] * s;"),
    "the greatest": ("half", "half", "y[i * n + j] = max(x[i * n + j], half(s));"),
}  # fmt: skip
DTYPES = {
    "float": np.float32,
    "half": np.float16,
    "char": np.int8,
    "uchar": np.uint8,
    "int": np.int32,
    "short": np.int16,
}


@pytest.mark.parametrize("name", RESTS)
def test_rows_of_any_length(name):
    """Proved, with a rest under a mask; the number behind a row's last is left alone."""
    have, want, step = RESTS[name]
    text = f"""kernel void k(device const {have}* x, device {want}* y, device const float* z, constant int& n, constant float& s,
        uint i [[thread_position_in_grid]]) {{ for (int j = 0; j < n; j++) {step} }}"""
    made, ir = program(text, "k", 0, "fast"), scalar_ir(text, "k", "fast")[0]
    for n in (1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 47, 64, 65, 100):
        rows = 9
        x = RNG.integers(0, 9, rows * n).astype(DTYPES[have])
        y = np.full(rows * n + 40, 7, DTYPES[want])
        arrays = [x, y, RNG.integers(-5, 5, n + rows).astype(np.float32), np.int32([n]), np.float32([2])]
        expected = [a.copy() for a in arrays]
        interpret.run(ir, launch(expected, rows, rows))
        for _ in range(3):
            got = [a.copy() for a in arrays]
            made.run(launch(got, rows, rows))
            np.testing.assert_array_equal(got[1], expected[1], err_msg=f"{name}, {n}")


@pytest.mark.parametrize("apart", [True, False])
def test_a_rest_is_stored_under_a_mask(apart):
    module = canonical(scalar_ir(TEXT.format(body=LOOPS["two rows"]), "k")[0])
    lengths = {0: 1 << 16, 1: 1 << 16, 2: 1 << 16, 3: 4}
    facts = Facts((32, 1, 1), (32, 1, 1), (1, 1, 1), lengths, {}, {3: np.int32([100]).tobytes()})
    proof = replace(Prover(module).prove(facts), apart=apart)
    code = vector_code(module, ((32, 1, 1), False, False, True, False, proof), 0, WIDE).text
    assert code.count("call void @llvm.masked.store.v16f32") == (2 if apart else 0)
    assert (
        code.count("@llvm.masked.load.v16f32") - code.count("declare <16 x float> @llvm.masked.load") == apart
    )
