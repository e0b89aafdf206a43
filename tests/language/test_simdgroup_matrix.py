"""simdgroup_matrix: load, store, multiply, fill, diagonal, elements; types, strides, origins, transposes."""
# ruff: noqa: E501  a row of a table is one line

from typing import Any

import numpy as np
import pytest

from tests.language.launch import DTYPES, REALS, memory_of, poisoned, run

rng = np.random.default_rng(6)


def small(shape: tuple[int, ...], kind: str) -> Any:
    return rng.integers(-4, 5, shape).astype(DTYPES[kind])


@pytest.mark.parametrize("kind", REALS)
@pytest.mark.parametrize("space", ["device", "threadgroup"])
def test_load_and_store(kind: str, space: str) -> None:
    a = np.arange(16 * 19).reshape(16, 19).astype(DTYPES[kind])
    out = poisoned((6, 16, 19), DTYPES[kind])
    body = f"""
kernel void k(device const {kind}* a, device {kind}* o, uint i [[thread_position_in_grid]]) {{
  threadgroup {kind} s[16 * 19];
  threadgroup {kind} t[16 * 19];
  for (uint j = i; j < 16 * 19; j += 32) {{ s[j] = a[j]; t[j] = {kind}(-1); for (int n = 0; n < 6; n++) o[n * 304 + j] = {kind}(-1); }}
  threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
  {space} const {kind}* p = {"a" if space == "device" else "s"};
  simdgroup_matrix<{kind}, 8, 8> m;
  simdgroup_load(m, p, 19);
  simdgroup_store(m, o, 19);
  simdgroup_load(m, p, 19, ulong2(3, 5));
  simdgroup_store(m, o + 304, 19, ulong2(11, 8));
  simdgroup_load(m, p, 19, ulong2(2, 1), true);
  simdgroup_store(m, o + 608, 19);
  simdgroup_load(m, p + 4, 19, 0, false);
  simdgroup_store(m, o + 912, 19, ulong2(2, 1), true);
  simdgroup_load(m, p);
  simdgroup_store(m, o + 1216, 8);
  simdgroup_load(m, p, 19, ulong2(1, 1));
  simdgroup_store(m, t, 19, ulong2(4, 2));
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint j = i; j < 16 * 19; j += 32) o[1520 + j] = t[j];
}}"""
    run(body, memory_of(a), memory_of(out), grid=32, threadgroup=32)
    expected = np.full((6, 16, 19), -1).astype(DTYPES[kind])
    expected[0][:8, :8] = a[:8, :8]
    expected[1][8:16, 11:19] = a[5:13, 3:11]
    expected[2][:8, :8] = a[2:10, 1:9].T
    expected[3][2:10, 1:9] = a[:8, 4:12].T
    expected[4].reshape(-1)[:64] = a.reshape(-1)[:64]
    expected[5][2:10, 4:12] = a[1:9, 1:9]
    np.testing.assert_array_equal(out.astype(np.float32), expected.astype(np.float32))


MIXES = [("float",) * 4, ("half",) * 4, ("bfloat",) * 4, ("float", "half", "half", "float"), ("half", "half", "float", "half"), ("float", "bfloat", "float", "float"), ("float", "float", "half", "float"), ("float", "bfloat", "bfloat", "float")]  # fmt: skip


@pytest.mark.parametrize("mix", MIXES, ids="-".join)
def test_multiply_accumulate(mix: tuple[str, ...]) -> None:
    d, a, b, c = mix
    left, right, third = small((8, 8), a), small((8, 8), b), small((8, 8), c)
    out = poisoned((3, 8, 8), DTYPES[d])
    run(
        f"""
kernel void k(device const {a}* a, device const {b}* b, device const {c}* c, device {d}* o) {{
  simdgroup_matrix<{a}, 8, 8> ma;
  simdgroup_matrix<{b}, 8, 8> mb;
  simdgroup_matrix<{c}, 8, 8> mc;
  simdgroup_matrix<{d}, 8, 8> md, me;
  simdgroup_load(ma, a);
  simdgroup_load(mb, b);
  simdgroup_load(mc, c);
  simdgroup_multiply_accumulate(md, ma, mb, mc);
  simdgroup_store(md, o);
  simdgroup_multiply(md, ma, mb);
  simdgroup_store(md, o + 64);
  me = make_filled_simdgroup_matrix<{d}, 8, 8>({d}(2));
  simdgroup_multiply_accumulate(me, ma, mb, me);
  simdgroup_multiply_accumulate(me, ma, mb, me);
  simdgroup_store(me, o + 128);
}}""",
        *(memory_of(left), memory_of(right), memory_of(third), memory_of(out)),
        grid=32,
        threadgroup=32,
    )
    product = left.astype(np.float32) @ right.astype(np.float32)
    expected = [product + third.astype(np.float32), product, 2 * product + 2]
    np.testing.assert_array_equal(
        out.astype(np.float32), np.array(expected).astype(DTYPES[d]).astype(np.float32)
    )


@pytest.mark.parametrize("kind", REALS)
def test_fill_diagonal_and_elements(kind: str) -> None:
    out = poisoned((6, 8, 8), DTYPES[kind])
    lanes = poisoned((32, 2), DTYPES[kind])
    a = np.arange(64).reshape(8, 8).astype(DTYPES[kind])
    run(
        f"""
kernel void k(device const {kind}* a, device {kind}* o, device {kind}* e, ushort l [[thread_index_in_simdgroup]]) {{
  simdgroup_store(make_filled_simdgroup_matrix<{kind}, 8, 8>({kind}(3)), o, 8);
  simdgroup_store(simdgroup_matrix<{kind}, 8, 8>({kind}(5)), o + 64, 8);
  simdgroup_store(make_filled_simdgroup_matrix<{kind}, 8>({kind}(4)), o + 128, 8);
  simdgroup_{kind}8x8 m;
  simdgroup_load(m, a, 8);
  e[l * 2] = m.thread_elements()[0];
  e[l * 2 + 1] = m.thread_elements()[1];
  m.thread_elements() *= {kind}(2);
  thread auto& both = m.thread_elements();
  both[0] = both[0] + {kind}(1);
  simdgroup_store(m, o + 192, 8);
  metal::simdgroup_matrix<{kind}, 8, 8> tiles[2] = {{m, simdgroup_{kind}8x8({kind}(1))}};
  tiles[1].thread_elements()[1] += {kind}(1);
  simdgroup_store(tiles[1], o + 256, 8);
  simdgroup_store(m * simdgroup_{kind}8x8({kind}(1)), o + 320, 8);
}}""",
        *(memory_of(a), memory_of(out), memory_of(lanes)),
        grid=32,
        threadgroup=32,
    )
    eye = np.eye(8, dtype=np.float32)
    changed = a.astype(np.float32) * 2
    changed[:, ::2] += 1
    more = eye.copy()
    more[:, 1::2] += 1
    expected = [np.full((8, 8), 3), eye * 5, np.full((8, 8), 4), changed, more, changed]
    np.testing.assert_array_equal(out.astype(np.float32), expected)
    for lane in range(32):
        row = (lane >> 4 & 1) * 4 + (lane >> 1 & 3)
        column = (lane >> 3 & 1) * 4 + (lane & 1) * 2
        np.testing.assert_array_equal(lanes[lane], a[row, column : column + 2])


def test_a_tiled_product_of_several_simdgroups() -> None:
    a, b = small((16, 24), "half"), small((24, 16), "half")
    out = poisoned((16, 16), np.float32)
    run(
        """
kernel void k(device const half* a, device const half* b, device float* c, threadgroup half* s [[threadgroup(0)]],
              uint sg [[simdgroup_index_in_threadgroup]], uint i [[thread_index_in_threadgroup]]) {
  simdgroup_float8x8 acc = make_filled_simdgroup_matrix<float, 8>(0.0f);
  const uint row = sg / 2 * 8, column = sg % 2 * 8;
  for (uint k = 0; k < 24; k += 8) {
    for (uint j = i; j < 128; j += 128) s[j] = b[(k + j / 16) * 16 + j % 16];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_half8x8 x, y;
    simdgroup_load(x, a + row * 24 + k, 24);
    simdgroup_load(y, s, 16, ulong2(column, 0));
    simdgroup_multiply_accumulate(acc, x, y, acc);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  simdgroup_store(acc, c, 16, ulong2(column, row));
}""",
        *(a, b, out),
        grid=128,
        threadgroup=128,
        threadgroup_memory={0: 256},
    )
    np.testing.assert_array_equal(out, a.astype(np.float32) @ b.astype(np.float32))
