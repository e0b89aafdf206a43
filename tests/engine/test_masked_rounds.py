"""Rows of sparse matrices: rounds that fill a register at once, under a mask, and a gather for what they look up."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.records import replace
from metalloid.targets.info import TargetInfo
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import HEADER, WIDE, same, scalar_ir

SPARSE = """kernel void k(device const int* starts, device const {index}* columns, device const {value}* values,
    device const {value}* x, device float* y, constant uint& n, uint i [[thread_position_in_grid]]) {{
    if (i >= n) return;
    device const {value}* from = x + {moved};
    float s = 0;
    for (int k = starts[i]; k < starts[i + 1]; k++) s += values[k] * from[columns[k]];
    y[i] = s; }}"""
RNG = np.random.default_rng(0)


def quick(info: TargetInfo) -> TargetInfo:
    return replace(info, quick_gathers=True)


@pytest.fixture
def gathers(monkeypatch):
    """A host that gathers quickly, whether it does or not."""
    found = quick(codegen.host().info)
    monkeypatch.setitem(codegen.host().__dict__, "info", found)


def rows(count: int, longest: int, width: int, moved: int = 0):
    lengths = RNG.integers(0, longest, count)
    lengths[0], lengths[-1] = longest, 0
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return starts, RNG.integers(-moved, width - moved, starts[-1])


@pytest.mark.parametrize("longest", [3, 17, 40, 200])
@pytest.mark.parametrize(
    ("index", "value", "moved"),
    [
        ("int", "float", 0),
        ("uint", "float", 0),
        ("int", "float", 50),
        ("int", "int", 0),
        ("short", "float", 0),
    ],
)
@pytest.mark.parametrize("guard", [True, False, "robust"])
def test_the_same_sums(gathers, index, value, moved, longest, guard):
    starts, columns = rows(90, longest, 130, moved)
    number = np.float32 if value == "float" else np.int32
    kinds = {"int": np.int32, "uint": np.uint32, "short": np.int16}
    values, x = (RNG.integers(-9, 9, n).astype(number) for n in (len(columns), 130))
    arrays = [starts, columns.astype(kinds[index]), values, x, np.full(90, 7, np.float32), np.uint32([90])]
    text = SPARSE.format(index=index, value=value, moved=moved)
    same(text, arrays, 96, 32, math="fast", guard=guard, baseline=True)


def code(text: str, info: TargetInfo) -> str:
    target = codegen.Target("emeraldrapids", WIDE.features)
    target.__dict__["info"] = info
    module = canonical(scalar_ir(text, "k", "fast")[0])
    return vector_code(module, ((64, 1, 1), False, False, True, False, None), 0, target).text


def test_who_gathers():
    text = SPARSE.format(index="int", value="float", moved=0)
    made = code(text, quick(WIDE.info))
    assert "llvm.masked.gather.v16f32" in made
    assert made.count("@llvm.masked.load.v16f32.p0(ptr align 4 %") == 1
    assert "gather" not in code(text, replace(WIDE.info, quick_gathers=False))


def test_an_index_outside_is_told(gathers):
    kernel = mt.device("cpu").library(HEADER + SPARSE.format(index="int", value="float", moved=0))["k"]
    starts = np.arange(0, 33 * 40, 40).astype(np.int32)
    columns, x = RNG.integers(0, 50, 32 * 40).astype(np.int32), np.ones(50, np.float32)
    values, y = np.ones(len(columns), np.float32), np.zeros(32, np.float32)
    for at, wrong in ((40 * 7 + 13, 50), (40 * 20 + 39, -1), (40 * 9 + 35, 1 << 30)):
        bad = columns.copy()
        bad[at] = wrong
        with pytest.raises(mt.MetalloidError, match=rf"thread \({at // 40},0,0\)"):
            kernel(starts, bad, values, x, y, 32, grid=32, threadgroup=32)
    kernel(starts, columns, values, x, y, 32, grid=32, threadgroup=32)
    assert y.tolist() == [40] * 32


def test_a_row_outside_is_told(gathers):
    """Lengths that go beyond the values: the last rounds of a row are not there, and nobody looks at them."""
    kernel = mt.device("cpu").library(HEADER + SPARSE.format(index="int", value="float", moved=0))["k"]
    starts, y = np.int32([0, 5, 30, 33]), np.zeros(3, np.float32)
    columns, values, x = np.zeros(33, np.int32), np.ones(33, np.float32), np.ones(4, np.float32)
    kernel(starts, columns, values, x, y, 3, grid=3, threadgroup=3)
    assert y.tolist() == [5, 25, 3]
    for longer in (columns[:-1].copy(), columns):
        short = values if longer is not columns else values[:-1].copy()
        with pytest.raises(mt.MetalloidError, match=r"thread \(2,0,0\)"):
            kernel(starts, longer, short, x, y, 3, grid=3, threadgroup=3)


@pytest.mark.parametrize("counter", ["int", "uint", "long", "ushort"])
def test_counters_up_to_their_last_number(gathers, counter):
    """A counter that would go round behind the last round."""
    last = {"int": 2**31 - 1, "uint": 2**32 - 1, "long": 2**40, "ushort": 2**16 - 1}[counter]
    text = f"""kernel void k(device const int* columns, device const float* x, device float* y,
        constant {counter}& first, constant {counter}& last, uint i [[thread_position_in_grid]]) {{
        float s = 0;
        for ({counter} k = first; k < last; k++) s += x[columns[k - first]];
        y[i] = s; }}"""
    kind = {"int": np.int32, "uint": np.uint32, "long": np.int64, "ushort": np.uint16}[counter]
    columns, x = RNG.integers(0, 50, 40).astype(np.int32), RNG.integers(0, 9, 50).astype(np.float32)
    for length in (0, 1, 16, 17, 40):
        bounds = [np.array([n], kind) for n in (last - length, last)]
        same(text, [columns, x, np.full(8, 7, np.float32), *bounds], 8, 8, math="fast")


@pytest.mark.parametrize("goes", ["<", "!="])
@pytest.mark.parametrize("counter", ["uint", "ushort", "uchar"])
def test_narrow_counters(gathers, counter, goes):
    """How many rounds are left is a number of few bits."""
    text = f"""kernel void k(device const int* starts, device const uint* columns, device const float* x,
        device float* y, uint i [[thread_position_in_grid]]) {{
        float s = 0;
        const {counter} first = starts[i], last = starts[i + 1];
        for ({counter} k = first; k {goes} last; k++) s += x[columns[k]];
        y[i] = s; }}"""
    starts = np.cumsum([0, 3, 0, 40, 16, 17, 1, 0, 50]).astype(np.int32)
    columns, x = RNG.integers(0, 50, starts[-1]).astype(np.uint32), RNG.integers(0, 9, 50).astype(np.float32)
    same(text, [starts, columns, x, np.full(8, 7, np.float32)], 8, 8, math="fast")


FORMS = {
    "every second": "a[2 * k]",
    "backwards": "a[M - 1 - k]",
    "by a parameter": "a[k * w]",
    "two of them": "a[k] * a[4 * k + 1]",
    "one for all": "a[i]",
    "alike": "a[k & 7]",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loop", ["for (; k < e; k++) {", "do {", "for (; k != e; k++) {"])
def test_other_loads_beside_a_lookup(gathers, form, loop):
    """Loads that are no neighbours are no masked vector, and a loop that asks behind its round runs it once."""
    end = " k++; } while (k < e);" if loop == "do {" else " }"
    text = f"""kernel void k(device const int* starts, device const int* columns, device const float* a,
        device const float* x, device float* y, constant int& w, uint i [[thread_position_in_grid]]) {{
        const int M = 900;
        int k = starts[i], e = starts[i + 1];
        float s = 0;
        {loop} s += {FORMS[form]} * x[columns[k]];{end}
        y[i] = s; }}"""
    lengths = RNG.integers(0, 12, 32)
    lengths[:6] = 40, 0, 0, 17, 16, 1
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    columns = RNG.integers(0, 50, starts[-1] + 1).astype(np.int32)
    a, x = (RNG.integers(-9, 9, n).astype(np.float32) for n in (1 + 5 * 900, 50))
    arrays = [starts, columns, a, x, np.full(32, 7, np.float32), np.int32([2])]
    for guard in (True, False, "robust"):
        same(text, arrays, 32, 32, math="fast", guard=guard, baseline=True)
