"""Neighbouring elements of the same lanes, read and written together: float4, rows of tiles, copies, matrices."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.errors import KernelFault
from tests.engine.both import launch, program, same

WIDTHS = (0, 1, 8, 32, 64)
RNG = np.random.default_rng(3)


def values(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RNG.integers(-50, 50, shape).astype(dtype)


@pytest.mark.parametrize("n", [64, 100])
def test_vectors_of_four_are_read_and_written(n):
    text = """kernel void k(device const float4* a, device float4* out, uint i [[thread_position_in_grid]]) {
        out[i] = a[i].wzyx * 2 + a[i];
    }"""
    a = values(n, 4)
    got = same(text, [a, np.full((n, 4), np.nan, "float32")], n, 32, widths=WIDTHS)[1]
    np.testing.assert_array_equal(got, a[:, ::-1] * 2 + a)


@pytest.mark.parametrize("type", ["float", "half", "uint", "ushort"])
@pytest.mark.parametrize("count", [2, 3, 4, 8])
def test_rows_at_a_distance_that_is_known_at_run_time(type, count):
    text = f"""kernel void k(device const {type}* a, device {type}* out, constant uint& pitch, uint i [[thread_position_in_grid]]) {{
        {type} row[{count}];
        for (uint j = 0; j < {count}; ++j) row[j] = a[i * pitch + j];
        for (uint j = 0; j < {count}; ++j) out[i * pitch + j] = row[{count - 1} - j] + row[0];
    }}"""
    dtype = {"float": "float32", "half": "float16", "uint": "uint32", "ushort": "uint16"}[type]
    a = RNG.integers(0, 50, (64, 11)).astype(dtype)
    out = np.full((64, 11), 7, dtype)
    got = same(text, [a, out.copy(), np.array([11], "uint32")], 64, 64, widths=WIDTHS)[1]
    expected = out.copy()
    expected[:, :count] = a[:, :count][:, ::-1] + a[:, :1]
    np.testing.assert_array_equal(got, expected)


def test_rows_anywhere():
    text = """kernel void k(device const float* a, device float* out, device const uint* from, device const uint* to, uint i [[thread_position_in_grid]]) {
        device const float* p = a + from[i];
        device float* q = out + to[i];
        float x = p[0], y = p[1], z = p[2], w = p[3];
        q[0] = x + y; q[1] = y + z; q[2] = z + w; q[3] = w;
    }"""
    n = 64
    a, source, target = (
        values(4 * n + 9),
        RNG.integers(0, 4 * n + 5, n).astype("uint32"),
        RNG.permutation(n).astype("uint32") * 4,
    )
    got = same(text, [a, np.full(4 * n, np.nan, "float32"), source, target], n, 32, widths=WIDTHS)[1]
    rows = a[source[:, None] + np.arange(4)]
    expected = np.empty((n, 4), "float32")
    expected[target // 4] = rows + np.pad(rows, ((0, 0), (0, 1)))[:, 1:]
    np.testing.assert_array_equal(got, expected.reshape(-1))


def test_a_load_between_stores_sees_the_first():
    text = """kernel void k(device float* a, device float* out, uint i [[thread_position_in_grid]]) {
        a[i * 4] = i;
        float seen = a[i * 4];
        a[i * 4 + 1] = seen + 1;
        a[i * 4] = seen + 2;
        a[i * 4 + 2] = a[i * 4] + a[i * 4 + 1];
        out[i] = a[i * 4 + 2];
    }"""
    got = same(text, [values(256), np.zeros(64, "float32")], 64, 32, widths=WIDTHS)[1]
    np.testing.assert_array_equal(got, 2 * np.arange(64) + 3)


def test_a_store_through_another_pointer_comes_between():
    text = """kernel void k(device float* a, device const uint* shift, uint i [[thread_position_in_grid]]) {
        device float* p = a + i * 4;
        device float* q = p + shift[0];
        p[0] = 1; q[0] = 2; p[1] = 3; q[1] = 4;
    }"""
    got = same(text, [values(512), np.zeros(1, "uint32")], 64, 32, widths=WIDTHS)[0]
    np.testing.assert_array_equal(got[:256].reshape(64, 4)[:, :2], np.tile([2.0, 4.0], (64, 1)))


def test_tiles_are_copied_row_by_row_through_threadgroup_memory():
    text = """struct alignas(16) Row { float v[8]; };
    kernel void k(device const float* a, device float* out, constant uint& pitch, constant uint& rounds,
        uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
        threadgroup float tile[64 * 20];
        device const float* from = a + (g * 64 + t / 2) * pitch + t % 2 * 8;
        threadgroup float* to = tile + t / 2 * 20 + t % 2 * 8;
        float sum = 0;
        for (uint k = 0; k < rounds; ++k) {
            threadgroup_barrier(mem_flags::mem_threadgroup);
            *(threadgroup Row*)to = *(device const Row*)from;
            threadgroup_barrier(mem_flags::mem_threadgroup);
            for (uint j = 0; j < 16; ++j) sum += tile[t / 2 * 20 + j] * (1 + t % 2);
            from += 16;
        }
        out[g * 128 + t] = sum;
    }"""
    a = values(128, 48)
    arguments = [a, np.zeros(256, "float32"), np.array([48], "uint32"), np.array([3], "uint32")]
    got = same(text, arguments, 256, 128, widths=(0, 1, 8, 32, 128))[1]
    np.testing.assert_array_equal(got, np.repeat(a.sum(1), 2) * np.tile([1, 2], 128))


def test_the_last_row_may_end_at_the_end_and_not_beyond():
    text = """kernel void k(device const float* a, device float* out, constant uint& pitch, uint i [[thread_position_in_grid]]) {
        for (uint j = 0; j < 4; ++j) out[i * pitch + j] = a[i * pitch + j] + 1;
    }"""
    n, pitch = 64, 5
    whole = (n - 1) * pitch + 4
    a = values(whole)
    same(text, [a, np.zeros(whole, "float32"), np.array([pitch], "uint32")], n, 32, widths=WIDTHS)
    for short_input, rule in ((True, "M101"), (False, "M102")):
        arrays = [a[: whole - short_input].copy(), np.zeros(whole - (not short_input), "float32")]
        with pytest.raises(KernelFault, match=rf"{rule}.*offset {4 * (whole - 1)} .*thread \(63, 0, 0\)"):
            program(text, "k").run(launch([*arrays, np.array([pitch], "uint32")], n, 32))


@pytest.mark.parametrize(("left", "right"), [(1, 1), (2, 2), (2, 4), (4, 4), (4, 5)])
def test_many_matrix_products(left, right):
    text = f"""kernel void k(device const float* a, device const float* b, device float* out, constant uint& depth) {{
        simdgroup_float8x8 x[{left}], y[{right}], c[{left}][{right}];
        for (int i = 0; i < {left}; ++i) for (int j = 0; j < {right}; ++j) c[i][j] = make_filled_simdgroup_matrix<float, 8>(0.5f);
        for (uint k = 0; k < depth; k += 8) {{
            for (int i = 0; i < {left}; ++i) simdgroup_load(x[i], a + i * 8 * depth + k, depth);
            for (int j = 0; j < {right}; ++j) simdgroup_load(y[j], b + k * {8 * right} + j * 8, {8 * right});
            for (int i = 0; i < {left}; ++i) for (int j = 0; j < {right}; ++j)
                simdgroup_multiply_accumulate(c[i][j], x[i], y[j], c[i][j]);
        }}
        for (int i = 0; i < {left}; ++i) for (int j = 0; j < {right}; ++j)
            simdgroup_store(c[i][j], out + i * 8 * {8 * right} + j * 8, {8 * right});
    }}"""
    depth = 24
    a, b = values(8 * left, depth), values(depth, 8 * right)
    out = np.full((8 * left, 8 * right), np.nan, "float32")
    got = same(text, [a, b, out, np.array([depth], "uint32")], 32, 32)[2]
    np.testing.assert_array_equal(got, a @ b + np.float32(0.5))
