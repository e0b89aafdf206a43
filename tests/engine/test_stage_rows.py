"""Loops down the rows of a large matrix run in pieces, from a copy: the same bits as without."""

from __future__ import annotations

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends import patience
from metalloid.backends.cpu import group_shape, pipeline
from metalloid.backends.cpu.program import Program
from metalloid.errors import KernelFault

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
PRODUCT = (
    HEAD
    + """
kernel void product(device const T* a, device const T* b, device T* c, constant uint& n, constant uint& k,
                    uint2 p [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint i = 0; i < k; i++) sum += float(a[p.y * k + i]) * float(b[i * n + p.x]);
    c[p.y * n + p.x] = T(sum);
}
kernel void checked(device const T* a, device const T* b, device T* c, constant uint& n, constant uint& k,
                    constant uint& m, uint2 p [[thread_position_in_grid]]) {
    if (p.x >= n || p.y >= m) return;
    float sum = 0;
    for (uint i = 0; i < k; i++) sum += float(a[p.y * k + i]) * float(b[i * n + p.x]);
    c[p.y * n + p.x] = T(sum);
}
kernel void distances(device const T* a, device const T* b, device const T* w, device T* c, constant int& n,
                      constant int& k, uint2 p [[thread_position_in_grid]]) {
    float sum = 0, most = -1;
    int x = p.x, y = p.y;
    for (int i = 3; i < k; i++) {
        float d = (float(a[y * k + i]) - float(b[i * n + x])) * float(w[i * n + x]);
        sum += d * d;
        most = max(most, fabs(d));
    }
    c[y * n + x] = T(sum + most);
}
kernel void batches(device const T* a, device const T* b, device T* c, constant uint& n, constant uint& k,
                    constant uint& count, uint2 p [[thread_position_in_grid]]) {
    float best = -1e9f;
    for (uint q = 0; q < count; q++) {
        float sum = 0;
        for (uint i = 0; i < k; i++) sum += float(a[(q * 100 + p.y) * k + i]) * float(b[(q * k + i) * n + p.x]);
        best = max(best, sum);
    }
    c[p.y * n + p.x] = T(best);
}
kernel void in_pairs(device const T* a, device const T* b, device T* c, constant uint& n, constant uint& k,
                     constant uint& stride, uint2 p [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint i = 0; i < k; i++) sum += float(a[p.y * k + i]) * float(b[i * stride + (p.y OF_PAIR) + p.x]);
    c[p.y * n + p.x] = T(sum);
}
kernel void some_rows(device const T* a, device const T* b, device T* c, constant uint& n, constant uint& k,
                      uint2 p [[thread_position_in_grid]]) {
    float sum = 0;
    if ((p.y >> 1) % 3 == 1)
        for (uint i = 0; i < k; i++) sum += float(a[p.y * k + i]) * float(b[i * n + p.x]);
    uint i = p.y >> 1;
    do sum += float(b[i * n + p.x]); while (++i != k);
    c[p.y * n + p.x] = T(sum);
}
kernel void all_numbers(device const float* b, device float* c, constant uint& n, constant uint& k, constant uint& r,
                        uint2 p [[thread_position_in_grid]]) {
    float s = 0;
    uint i = r;
    do { s = s * .5f + b[i * n + p.x]; } while (++i != k);
    c[p.y * 640 + p.x] = s;
}
kernel void added(device const float* a, device const float* b, device float* c, constant uint& n, constant uint& k,
                  uint2 p [[thread_position_in_grid]]) {
    float sum = c[p.y * n + p.x];
    for (uint i = 0; i < k; i++) sum += a[p.y * k + i] * b[i * n + p.x];
    c[p.y * n + p.x] = sum;
}
kernel void looked_up(device const float* a, device const float* b, device float* c, constant uint& n,
                      constant uint& k, device const uint* at, device const float* table,
                      uint2 p [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint i = 0; i < k; i++) sum += a[p.y * k + i] * b[i * n + p.x];
    c[p.y * n + p.x] = sum + table[at[p.x]];
}
kernel void in_place(device T* b, constant uint& n, constant uint& k, uint2 p [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint i = 0; i < k; i++) { sum += float(b[i * n + p.x]); b[(k + p.y) * n + p.x] = T(sum); }
}
"""
)


@pytest.fixture
def staged(monkeypatch, tmp_path):
    """How many rows threadgroups have whose loops were put in pieces."""
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path))  # what is there already is not made
    found, real = [], pipeline.stage_rows

    def stage(module, plan, across, height):
        found.append(height)
        return real(module, plan, across, height)

    monkeypatch.setattr(pipeline, "stage_rows", stage)
    return found


def _library(type="float", of_pair=">> 1"):
    return mt.device("cpu").library(PRODUCT, defines={"T": type, "OF_PAIR": of_pair})


def _both(monkeypatch, name, arrays, numbers, type="float", of_pair=">> 1", **sizes):
    """What a kernel leaves in its last array, as it is and with threadgroups that are not tall."""
    results = []
    for tall in (True, False):
        with patience.measuring(), monkeypatch.context() as patch:
            if not tall:
                patch.setattr(group_shape, "tall_group", lambda *_: None)
            kernel = _library(type, of_pair)[name]
            for _ in range(2):
                out = np.full_like(arrays[-1], 7)
                kernel(*arrays[:-1], out, *numbers, **sizes)
            results.append(out)
    return results


@pytest.mark.parametrize(
    ("rows", "k", "columns"),
    [(96, 1100, 600), (133, 1024, 577), (40, 1025, 640), (257, 700, 512), (64, 2049, 513), (72, 2, 140_000)],
)
@pytest.mark.parametrize("type", ["float", "half"])
def test_products(monkeypatch, staged, rows, k, columns, type):
    rng = np.random.default_rng(rows)
    kind = {"float": np.float32, "half": np.float16}[type]
    a, b = (rng.uniform(-1, 1, shape).astype(kind) for shape in ((rows, k), (k, columns)))
    if b.nbytes < 1 << 20:
        pytest.skip("fits the second cache")
    c = np.empty((rows, columns), kind)
    ours, plain = _both(
        monkeypatch, "product", (a, b, c), (columns, k), type, grid=(columns, rows), threadgroup=(16, 16)
    )
    assert staged
    assert min(staged) > 32
    assert np.array_equal(ours.view(np.uint8), plain.view(np.uint8))
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(ours - wanted).max() < (1e-3 if type == "float" else 0.1)


@pytest.mark.parametrize("grid", [(640, 96), (600, 90), (608, 128)])
def test_a_test_that_holds_for_all_threads_is_gone(monkeypatch, staged, grid):
    """And one that does not is not: those threads come to no barrier."""
    columns, rows, k = 600, 90, 1100
    a, b = np.random.rand(rows, k).astype(np.float32), np.random.rand(k, columns).astype(np.float32)
    c = np.empty((rows, columns), np.float32)
    ours, plain = _both(
        monkeypatch, "checked", (a, b, c), (columns, k, rows), grid=grid, threadgroup=(16, 16)
    )
    assert bool(staged) == (grid == (columns, rows))
    assert np.array_equal(ours, plain)
    assert np.allclose(ours, a.astype(np.float64) @ b, rtol=1e-4)


def test_two_loads_and_a_counter_with_a_sign(monkeypatch, staged):
    rows, k, columns = 80, 1300, 544
    rng = np.random.default_rng(0)
    a, b, w = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((rows, k), (k, columns), (k, columns)))
    c = np.empty((rows, columns), np.float32)
    ours, plain = _both(
        monkeypatch, "distances", (a, b, w, c), (columns, k), grid=(columns, rows), threadgroup=(32, 8)
    )
    assert staged
    assert np.array_equal(ours, plain)
    d = (a[:, None, 3:].astype(np.float64) - b.T[None, :, 3:]) * w.T[None, :, 3:]
    assert np.allclose(ours, (d * d).sum(2) + np.abs(d).max(2), rtol=1e-4)


@pytest.mark.parametrize("of_pair", [">> 1", "/ 4 % 7", "& ~1u", ">> 5", "/ 70"])
def test_rows_that_differ_from_those_far_below(monkeypatch, staged, of_pair):
    rows, k, columns = 96, 700, 640
    a, b = np.random.rand(rows, k).astype(np.float32), np.random.rand(k, columns + 128).astype(np.float32)
    c = np.empty((rows, columns), np.float32)
    sizes = {"grid": (columns, rows), "threadgroup": (16, 16)}
    numbers = (columns, k, columns + 128)
    ours, plain = _both(monkeypatch, "in_pairs", (a, b, c), numbers, of_pair=of_pair, **sizes)
    assert not staged
    assert np.array_equal(ours, plain)
    y = np.arange(rows)
    at = eval(f"y {of_pair.replace('/', '//').replace('u', '')}")
    assert np.allclose(ours, [a[r].astype(np.float64) @ b[:, at[r] : at[r] + columns] for r in y], rtol=1e-4)


def test_loops_that_some_rows_do_not_come_to(monkeypatch, staged):
    rows, k, columns = 96, 700, 640
    a, b = np.random.rand(rows, k).astype(np.float32), np.random.rand(k, columns).astype(np.float32)
    c = np.empty((rows, columns), np.float32)
    sizes = {"grid": (columns, rows), "threadgroup": (16, 16)}
    ours, plain = _both(monkeypatch, "some_rows", (a, b, c), (columns, k), **sizes)
    assert not staged
    assert np.array_equal(ours, plain)


def test_a_loop_over_all_numbers_is_stopped(staged):
    b, c = np.ones((512, 640), np.float32), np.zeros((96, 640), np.float32)
    for _ in range(2):
        with patience.measuring(), pytest.raises(KernelFault, match="still running"):
            _library()["all_numbers"](b, c, 0, 3, 3, grid=(640, 96), threadgroup=(16, 16), timeout=1)


@pytest.mark.parametrize("k", [300, 1024, 1500])
def test_a_loop_in_a_loop(monkeypatch, staged, k):
    rows, columns, count = 100, 600, 3
    rng = np.random.default_rng(k)
    a, b = (rng.uniform(-1, 1, (count, *s)).astype(np.float32) for s in ((rows, k), (k, columns)))
    c = np.empty((rows, columns), np.float32)
    ours, plain = _both(
        monkeypatch, "batches", (a, b, c), (columns, k, count), grid=(columns, rows), threadgroup=(16, 16)
    )
    assert staged
    assert np.array_equal(ours, plain)
    assert np.allclose(ours, (a.astype(np.float64) @ b).max(0), atol=1e-3)


def test_a_loop_that_stores_stays_as_it_is(staged):
    b = np.random.rand(1200, 600).astype(np.float32)
    with patience.measuring():
        for _ in range(2):
            _library()["in_place"](b, 600, 1000, grid=(600, 96), threadgroup=(16, 16))
    assert not staged
    assert np.allclose(b[1000:1096], b[:1000].sum(0), rtol=1e-4)


@pytest.mark.parametrize("guard", [False, "robust", True])
def test_guards(staged, guard):
    rows, k, columns = 96, 1100, 600
    a, b = np.random.rand(rows, k).astype(np.float32), np.random.rand(k, columns).astype(np.float32)
    c = np.zeros((rows, columns), np.float32)
    kernel = _library()["product"]
    with patience.measuring():
        for _ in range(2):
            kernel(a, b, c, columns, k, grid=(columns, rows), threadgroup=(16, 16), guard=guard)
    assert staged
    assert np.allclose(c, a.astype(np.float64) @ b, rtol=1e-4)


def test_what_is_outside_is_told_in_the_launchs_own_threadgroups(staged):
    rows, k, columns = 96, 1100, 600
    a, b = np.random.rand(rows, k).astype(np.float32), np.random.rand(k - 1, columns).astype(np.float32)
    c = np.zeros((rows, columns), np.float32)
    with patience.measuring(), pytest.raises(KernelFault, match="threadgroup"):
        for _ in range(2):
            _library()["product"](a, b, c, columns, k, grid=(columns, rows), threadgroup=(16, 16), guard=True)
    assert not staged


@pytest.fixture
def edges(monkeypatch):
    """For which threadgroups code was asked for, with threads left out at an edge and without."""
    asked, real = [], Program.variant

    def variant(self, key, baseline=False):
        asked.append((key[0], key[1] or key[2]))
        return real(self, key, baseline)

    monkeypatch.setattr(Program, "variant", variant)
    return asked


def _odd(name, c, *more, rows=133, k=1101, columns=607):
    rng = np.random.default_rng(k)
    a, b = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((rows, k), (k, columns)))
    with patience.measuring():
        for _ in range(2):
            _library()[name](a, b, c, columns, k, *more, grid=(columns, rows), threadgroup=(16, 16))
    return a.astype(np.float64) @ b


def test_the_last_of_a_row_begins_before_the_edge(staged, edges):
    """Its threads that have run already run again: no code for fewer is made."""
    c = np.full((133, 607), np.nan, np.float32)
    assert np.allclose(_odd("product", c), c, rtol=1e-4, atol=1e-4)
    assert staged
    tall = [edge for (x, y, _), edge in edges if x * y > 1024]
    assert tall
    assert not any(tall)


def test_what_is_read_and_written_runs_once(staged, edges):
    c = np.ones((133, 607), np.float32)
    wanted = 1 + 2 * _odd("added", c)
    assert np.allclose(wanted, c, rtol=1e-4, atol=1e-4)
    assert any(edge for (x, y, _), edge in edges if x * y > 1024)


def test_memory_that_is_bound_twice_is_written_once(staged, edges):
    """The last numbers of `a` are those of `c`, and nobody reads them."""
    rows, k, columns = 133, 1101, 607
    memory = np.random.default_rng(1).uniform(-1, 1, rows * (k + columns)).astype(np.float32)
    b = np.random.default_rng(2).uniform(-1, 1, (k, columns)).astype(np.float32)
    c = memory[rows * k :].reshape(rows, columns)
    with patience.measuring():
        for _ in range(2):
            _library()["product"](
                *(memory, b, c, columns, k), grid=(columns, rows), threadgroup=(16, 16), overlap=True
            )
    wanted = memory[: rows * k].reshape(rows, k).astype(np.float64) @ b
    assert np.allclose(wanted, c, rtol=1e-4, atol=1e-4)
    assert any(edge for (x, y, _), edge in edges if x * y > 1024)


@pytest.mark.parametrize("column", [3, 606])
def test_a_fault_at_an_edge_is_told_of_its_thread(staged, edges, column):
    at = np.zeros(607, np.uint32)
    at[column] = 7
    c = np.zeros((133, 607), np.float32)
    with pytest.raises(KernelFault, match=rf"thread \({column},\d+,0\)"):
        _odd("looked_up", c, at, np.zeros(4, np.float32))
    assert staged
    assert not any(edge for (x, y, _), edge in edges if x * y > 1024)


def test_heights():
    assert group_shape.tall_group((1024, 1024, 1), 32, False) == (32, 256, 1)
    assert group_shape.tall_group((1000, 1000, 1), 32, False) == (32, 200, 1)
    assert group_shape.tall_group((64, 64, 1), 32, False) is None


def test_rows_of_more_threads_where_registers_are_long():
    assert group_shape.tall_group((1024, 1024, 1), 64, False) == (64, 256, 1)
    assert group_shape.tall_group((1000, 1000, 1), 64, False)[0] == 32  # 40 columns would be left over
    assert group_shape.tall_group((1000, 1000, 1), 64, True)[0] == 64  # 24 run twice
    assert group_shape.tall_group((640, 40, 1), 64, False) == (32, 40, 1)  # ten threadgroups are too few
    assert group_shape.tall_group((64, 64, 1), 64, False) is None
