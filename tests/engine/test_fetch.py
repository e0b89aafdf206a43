"""Rows of a matrix are asked for before they are wanted: which loads do, and that it changes no result."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import mmap

import numpy as np
import pytest

from metalloid.analysis.divergence import Flow
from metalloid.analysis.loop_stride import Strides
from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.ir.layout import data_layout
from metalloid.transforms.canonicalize import ENTRY, canonical
from tests.engine.both import WIDE, launch, program, same, scalar_ir

RNG = np.random.default_rng(17)
PRODUCT = """kernel void k(device const float* A, device const float* B, device float* C, constant uint& N, uint2 g [[thread_position_in_grid]]) {
    float acc = 0;
    for (uint k = 0; k < N; k++) acc += A[g.y * N + k] * B[k * N + g.x];
    C[g.y * N + g.x] = acc; }"""
LEFT_TURNED = PRODUCT.replace("A[g.y * N + k]", "A[k * N + g.y]")
RIGHT_TURNED = PRODUCT.replace("B[k * N + g.x]", "B[g.x * N + k]")
UPWARDS = PRODUCT.replace("uint k = 0; k < N; k++", "uint k = N - 1; k < N; k--")
POINTER = PRODUCT.replace("float acc = 0;", "float acc = 0; device const float* b = B + g.x;").replace(
    "k++) acc += A[g.y * N + k] * B[k * N + g.x]", "k++, b += N) acc += A[g.y * N + k] * b[0]"
)
NUMBERS = PRODUCT.replace("k * N + g.x", "k * 20 + g.x")
LONG_NUMBERS = PRODUCT.replace("k * N + g.x", "k * 1000 + g.x")
COLUMN = PRODUCT.replace("A[g.y * N + k] * ", "")
FOUND = PRODUCT.replace("B[k * N + g.x]", "B[uint(A[k]) * N + g.x]")
SQUARE = PRODUCT.replace("B[k * N + g.x]", "B[k * k + g.x]")


WORDS = """kernel void k(device const uint* w, device const uint* x, device int* out, constant uint& n, uint g [[thread_position_in_threadgroup]]) {
    int sum = 0;
    for (uint k = 0; k < n; k++) { uint v = w[k * 16 + g]; sum += WORK; }
    out[g] = sum; }"""
UNPACKED = " + ".join(f"int(v >> {n} & 15) * int(x[k] >> {n} & 15)" for n in (0, 4, 8, 12))


def asked(text: str, size: tuple[int, int, int] = (32, 8, 1)) -> int:
    """How many lines an iteration asks for."""
    return vector_stage(scalar_ir(text, "k")[0], size, WIDE).count("call void @llvm.prefetch")


@pytest.mark.parametrize(
    "text, lines",
    [(PRODUCT, 2), (LEFT_TURNED, 3), (UPWARDS, 2), (POINTER, 2), (LONG_NUMBERS, 2)],
    ids=["product", "left turned", "upwards", "pointer", "long numbers"],
)
def test_a_load_that_moves_by_a_row_asks_for_a_later_one(text, lines):
    assert asked(text) == lines


@pytest.mark.parametrize(
    "text",
    [RIGHT_TURNED, NUMBERS, FOUND, SQUARE],
    ids=["along the row", "short", "nobody knows where", "another way each time"],
)
def test_others_do_not(text):
    assert asked(text) == 0


def test_asking_is_worth_it_behind_arithmetic_only():
    """One sum for each line that is loaded; with eight rows of threads, eight."""
    assert asked(COLUMN, (256, 1, 1)) == 0 and asked(COLUMN, (32, 8, 1)) == 2


def test_a_loop_along_memory_asks_for_lines_behind_arithmetic_of_any_kind():
    """Weights of a few bits, 16 rows side by side: the processor follows as far as its loads are, to the end of a page."""
    long, short = (WORDS.replace("WORK", work) for work in (UNPACKED, "int(v)"))
    assert asked(long, (16, 1, 1)) == 1 and asked(short, (16, 1, 1)) == 0
    assert asked(long.replace("k * 16", "k * 8"), (16, 1, 1)) == 0  # lines that the loop has loaded before
    assert asked(long.replace("k * 16", "k * 48"), (16, 1, 1)) == 1


def test_lanes_of_one_row_ask_for_its_lines_once():
    assert asked(PRODUCT, (16, 16, 1)) == 1 and asked(PRODUCT, (64, 4, 1)) == 4


@pytest.mark.parametrize(
    "text", [PRODUCT, LEFT_TURNED, UPWARDS, POINTER], ids=["plain", "left", "up", "pointer"]
)
@pytest.mark.parametrize("group", [(32, 8), (16, 16), (8, 4), (5, 3)])
def test_results_are_the_oracles(text, group):
    n = 20
    a, b = (RNG.integers(-4, 5, (n, n)).astype(np.float32) for _ in range(2))
    c = np.full((n, n), 77, np.float32)
    for guard in (True, False):
        same(text, [a, b, c, np.array([n], np.uint32)], (n, n), group, guard=guard)


def test_what_is_asked_for_need_not_be_there():
    """The matrix ends with its mapping; rows behind its last are asked for, and are nobody's."""
    n = 64
    memory = mmap.mmap(-1, 4 * n * n)
    b = np.frombuffer(memory, np.float32).reshape(n, n)
    b[:] = RNG.integers(-4, 5, (n, n))
    a = RNG.integers(-4, 5, (n, n)).astype(np.float32)
    c = np.full((n, n), 77, np.float32)
    program(PRODUCT, "k").run(launch([a, b, c, np.array([n], np.uint32)], (n, n), (32, 8)))
    np.testing.assert_array_equal(c, a @ b)


def test_strides_are_sums_of_products():
    """Bytes that each load moves by in an iteration: three times a row, three elements back, who knows."""
    text = """kernel void k(device const float* a, device float* out, constant int& n, uint i [[thread_position_in_grid]]) {
        float s = 0;
        for (int k = 0; k < n; k += 3) s += a[k * n + i] * a[i - k] + a[k * k + i];
        out[i] = s; }"""
    module = canonical(scalar_ir(text, "k")[0])
    function = module.function[ENTRY]
    flow = Flow(function)
    (loop,) = flow.forest.loops.values()
    strides = Strides(function, loop, data_layout(module.datalayout))
    found = [
        strides.of(i.operands[0])
        for name in flow.order
        if name in loop.blocks
        for i in function.block[name].body
        if i.opcode == "load"
    ]
    plain = [None if s is None else tuple(sorted((len(names), n) for names, n in s.items())) for s in found]
    assert sorted(plain, key=str) == sorted([((1, 12),), ((0, -12),), None], key=str)
