"""Parameters that a loop reads again after each store are read once, where nobody can change them."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.analysis.intervals import is_fixed
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.lower.lane_or_loop import alone
from metalloid.ir import Function
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.layout import data_layout
from metalloid.ir.verify import misplaced
from metalloid.transforms.canonicalize import canonical
from metalloid.transforms.merge_fixed import merge_fixed
from tests.engine.both import HEADER, same, scalar_ir

ROWS = """kernel void k(device const uchar* a, device uint* o, constant int& w, constant int& h,
    uint i [[thread_position_in_grid]]) {
    if (int(i) >= h) return;
    uint s = 0;
    for (int x = 0; x < w; x++) { s += a[i * w + x]; o[i * w + x] = s; }
}"""
BRANCHES = """kernel void k(device const int* a, device int* o, constant int& w, constant int& h,
    uint i [[thread_position_in_grid]]) {
    int s = 0;
    for (int y = 0; y < h; y++) {
        if (a[i] & 1) { o[i] = w; s += w; } else { o[i] = h; s -= y; }
        for (int x = 0; x < w; x++) { o[i] = s; s += x * h; }
    }
    o[i] = s + (a[i] > 3 ? w : h);
}"""

PADDED = """kernel void k(device const int* a, device int* o, constant int& w, constant int& h,
    uint2 p [[thread_position_in_grid]]) {
    int x = int(p.x) - 1, y = int(p.y) - 1, s = 0;
    for (int n = 0; n < 3; n++) {
        if (x + n < 0) s += w;
        else if (y < 0) s -= a[(x + n) % w] * w;
        else if (x + n < w && y < h) s += a[y * w + x + n];
        else s += 2 * w + h;
    }
    o[p.y * (w + 2) + p.x] = s;
}"""


def merged(text: str) -> tuple[Function, Function]:
    module = canonical(scalar_ir(text, "k")[0])
    before = module.function[ENTRY]
    parameters = {
        i.name for i in before.instructions() if i.called == "__mt_buffer" and i.operands[0].value > 1
    }

    def fixed(load) -> bool:
        return getattr(load.operands[0], "name", "") in parameters

    return before, merge_fixed(before, data_layout(module.datalayout), fixed)


def loads(function: Function) -> int:
    return sum(i.opcode == "load" and str(i.type) == "i32" for i in function.instructions())


@pytest.mark.parametrize(("text", "left"), [(ROWS, 2), (BRANCHES, None)])
def test_one_load_for_each(text: str, left: int | None) -> None:
    before, after = merged(text)
    assert loads(after) < loads(before)
    assert not misplaced(after)
    if left is not None:
        assert loads(after) == left
        assert (
            len(list(after.instructions())) < len(list(before.instructions())) - 1
        )  # a phi has gone as well


@pytest.mark.parametrize("text", [ROWS, BRANCHES])
@pytest.mark.parametrize(("width", "height"), [(7, 5), (0, 3), (33, 0), (100, 64)])
def test_the_same_results(text: str, width: int, height: int) -> None:
    rng = np.random.default_rng(width)
    count = 64
    kind, result = (np.uint8, np.uint32) if text == ROWS else (np.int32, np.int32)
    a = rng.integers(0, 9, max(1, width) * count).astype(kind)
    o = np.full(max(1, width) * count, 7, result)
    sizes = [np.int32([width]), np.int32([min(height, count)])]
    same(text, [a, o, *sizes], count, 32, widths=(0, 1, 16))


def test_a_load_on_every_side_of_a_branch_is_one_before_it() -> None:
    before, after = merged(PADDED)
    assert not misplaced(after)
    assert loads(before) > loads(after)
    width = [
        i.name for i in after.instructions() if i.opcode == "load" and i.operands[0].name.endswith(".place")
    ]
    assert width and all(after.home[name] == after.entry.name for name in width)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (7, 5), (64, 31)])
def test_padded_rows(width: int, height: int) -> None:
    a = np.random.default_rng(width).integers(0, 9, width * height).astype(np.int32)
    o = np.full((width + 2) * (height + 2), 7, np.int32)
    sizes = [np.int32([width]), np.int32([height])]
    same(PADDED, [a, o, *sizes], (width + 2, height + 2), (8, 4), widths=(0, 1, 16))


def test_rows_with_a_running_sum_go_one_after_the_other() -> None:
    assert alone(canonical(scalar_ir(ROWS, "k")[0]), codegen.host().info) is not None


def test_a_parameter_that_the_kernel_writes_is_read_again() -> None:
    """Bound twice: as what is written, and as a number."""
    text = """kernel void k(device int* o, constant int* n, uint i [[thread_position_in_grid]]) {
        for (int x = 0; x < n[0]; x++) o[x] = 2 * x + 1 - (x == 0 ? 1 - n[0] / 2 : 0); }"""
    kernel = mt.device("cpu").library(HEADER + text)["k"]
    for _ in range(3):
        o = np.int32([12] + [0] * 20)
        kernel(o, o, grid=1, threadgroup=1, overlap=True)
        wanted, n, x = np.int32([12] + [0] * 20), 12, 0
        while x < n:
            wanted[x] = 2 * x + 1 - (1 - n // 2 if x == 0 else 0)
            n, x = int(wanted[0]), x + 1
        np.testing.assert_array_equal(o, wanted)


def test_marks_are_what_it_goes_by() -> None:
    module = canonical(scalar_ir(ROWS, "k")[0])
    function = module.function[ENTRY]
    assert merge_fixed(function, data_layout(module.datalayout), is_fixed) is function
