"""Whole kernels, from MSL to results, against numpy; under several schedules."""

import ml_dtypes
import numpy as np
import pytest

from tests.oracle.launch import SCHEDULES, run

rng = np.random.default_rng(3)
every_schedule = pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.order)


@every_schedule
def test_vector_add_with_a_ragged_last_threadgroup(schedule) -> None:
    a, b, out = rng.random(100, np.float32), rng.random(100, np.float32), np.zeros(100, np.float32)
    run(
        "kernel void k(device const float* a, device const float* b, device float* o,"
        " uint i [[thread_position_in_grid]]) { o[i] = a[i] + b[i]; }",
        *(a, b, out),
        grid=100,
        threadgroup=32,
        schedule=schedule,
    )
    np.testing.assert_array_equal(out, a + b)


REDUCE = """
kernel void k(device const float* a, device float* o, uint l [[thread_index_in_threadgroup]],
              uint n [[threads_per_threadgroup]], uint g [[threadgroup_position_in_grid]],
              uint i [[thread_position_in_grid]]) {
  threadgroup float s[128];
  s[l] = a[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint k = n / 2; k; k /= 2) {
    if (l < k) s[l] += s[l + k];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (l == 0) o[g] = s[0];
}
"""


@every_schedule
def test_reduction_in_threadgroup_memory(schedule) -> None:
    a, out = rng.integers(0, 100, 384).astype(np.float32), np.zeros(3, np.float32)
    run(REDUCE, a, out, grid=384, threadgroup=128, schedule=schedule)
    np.testing.assert_array_equal(out, a.reshape(3, 128).sum(1))


def test_without_its_barriers_the_result_depends_on_the_schedule() -> None:
    broken = REDUCE.replace("threadgroup_barrier(mem_flags::mem_threadgroup);", "")
    a = rng.integers(0, 100, 128).astype(np.float32)
    results = set()
    for schedule in SCHEDULES:
        out = np.zeros(1, np.float32)
        run(broken, a, out, grid=128, threadgroup=128, schedule=schedule)
        results.add(float(out[0]))
    assert len(results) > 1


@every_schedule
def test_tiled_matmul_on_a_2d_grid(schedule) -> None:
    a, b = (rng.integers(-4, 5, (16, 16)).astype(np.float32) for _ in range(2))
    out = np.zeros((16, 16), np.float32)
    run(
        """
kernel void k(device const float* a, device const float* b, device float* c, constant uint& n,
              uint2 i [[thread_position_in_grid]], uint2 l [[thread_position_in_threadgroup]]) {
  threadgroup float ta[8][8], tb[8][8];
  float sum = 0;
  for (uint t = 0; t < n; t += 8) {
    ta[l.y][l.x] = a[i.y * n + t + l.x];
    tb[l.y][l.x] = b[(t + l.y) * n + i.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < 8; k++) sum += ta[l.y][k] * tb[k][l.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  c[i.y * n + i.x] = sum;
}
""",
        *(a, b, out, np.array([16], np.uint32)),
        grid=(16, 16),
        threadgroup=(8, 8),
        schedule=schedule,
    )
    np.testing.assert_array_equal(out, a @ b)


@every_schedule
def test_atomics_on_device_and_threadgroup_memory(schedule) -> None:
    values = rng.integers(0, 8, 200).astype(np.uint32)
    bins, total, largest = np.zeros(8, np.uint32), np.zeros(1, np.float32), np.full(1, -1000, np.int32)
    run(
        """
kernel void k(device const uint* v, device atomic_uint* bins, device atomic_float* total,
              device atomic_int* largest, uint i [[thread_position_in_grid]],
              uint l [[thread_index_in_threadgroup]]) {
  threadgroup atomic_uint here[8];
  if (l < 8) atomic_store_explicit(&here[l], 0, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&here[v[i]], 1u, memory_order_relaxed);
  atomic_fetch_add_explicit(total, 0.5f, memory_order_relaxed);
  atomic_fetch_max_explicit(largest, int(v[i]) - 100, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (l < 8) atomic_fetch_add_explicit(&bins[l], atomic_load_explicit(&here[l], memory_order_relaxed),
                                       memory_order_relaxed);
}
""",
        *(values, bins, total, largest),
        grid=200,
        threadgroup=50,
        schedule=schedule,
    )
    np.testing.assert_array_equal(bins, np.bincount(values, minlength=8))
    assert total[0] == 100 and largest[0] == int(values.max()) - 100


@every_schedule
def test_compare_exchange_loop(schedule) -> None:
    out = np.zeros(1, np.uint32)
    run(
        """
kernel void k(device atomic_uint* o, uint i [[thread_position_in_grid]]) {
  uint old = atomic_load_explicit(o, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(o, &old, old * 2 % 1009 + 1, memory_order_relaxed,
                                                memory_order_relaxed)) {}
}
""",
        out,
        grid=40,
        threadgroup=40,
        schedule=schedule,
    )
    expected = 0
    for _ in range(40):
        expected = expected * 2 % 1009 + 1
    assert out[0] == expected


def test_divergent_loops_and_private_arrays() -> None:
    out = np.zeros(64, np.uint32)
    run(
        """
kernel void k(device uint* o, uint i [[thread_position_in_grid]]) {
  uint seen[16]; uint n = 0, v = i + 1;
  while (v != 1) { seen[n++ % 16] = v; v = v & 1 ? 3 * v + 1 : v / 2; if (n > 200) break; }
  uint h = n;
  for (uint j = 0; j < min(n, 16u); j++) { if (seen[j] % 3 == 0) continue; h = h * 31 + seen[j]; }
  o[i] = h;
}
""",
        out,
        grid=64,
        threadgroup=64,
    )

    def expected(i: int) -> int:
        seen, n, v = [0] * 16, 0, i + 1
        while v != 1:
            seen[n % 16] = v
            n += 1
            v = 3 * v + 1 if v & 1 else v // 2
        h = n
        for j in range(min(n, 16)):
            if seen[j] % 3:
                h = (h * 31 + seen[j]) % 2**32
        return h

    np.testing.assert_array_equal(out, [expected(i) for i in range(64)])


def test_half_and_bfloat_round_at_every_step() -> None:
    h, b = rng.normal(size=64).astype(np.float16), rng.normal(size=64).astype(ml_dtypes.bfloat16)
    ho, bo = np.zeros(64, np.float16), np.zeros(64, np.uint16)
    run(
        "kernel void k(device const half* h, device const bfloat* b, device half* ho, device bfloat* bo,"
        " uint i [[thread_position_in_grid]]) { half t = h[i] * h[i]; ho[i] = t + half(0.1);"
        " bfloat u = b[i] * b[i]; bo[i] = u + bfloat(0.1f); }",
        *(h, b.view(np.uint16), ho, bo),
        grid=64,
        threadgroup=32,
    )
    fused = (h.astype(np.float64) ** 2 + np.float64(np.float16(0.1))).astype(np.float16)
    separate = h * h + np.float16(0.1)
    assert all(got in (x, y) for got, x, y in zip(ho, fused, separate, strict=True))
    np.testing.assert_array_equal(bo.view(ml_dtypes.bfloat16), b * b + ml_dtypes.bfloat16(0.1))


def test_64_bit_integers_and_structs() -> None:
    kind = np.dtype([("a", np.uint32), ("b", np.int64), ("c", np.uint16)], align=True)
    data = np.zeros(5, kind)
    data["a"], data["b"], data["c"] = range(5), [-(2**40) * n for n in range(5)], 9
    run(
        "struct S { uint a; long b; ushort c; };"
        "kernel void k(device S* s, uint i [[thread_position_in_grid]])"
        "{ S t = s[i]; t.b = t.b * 3 / 7 + t.a; t.c += 65530; s[i] = t; }",
        data.view(np.uint8),
        grid=5,
        threadgroup=5,
    )
    assert data["b"].tolist() == [-(2**40 * n * 3 // 7) + n for n in range(5)]
    assert data["c"].tolist() == [3] * 5


def test_pointers_in_an_argument_buffer() -> None:
    values, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    table = np.array([0x7F0000001000, 0x7F0000002000], np.uint64)
    run(
        "struct A { device const float* in; device float* out; };"
        "kernel void k(constant A& a, uint i [[thread_position_in_grid]]) { a.out[i] = a.in[7 - i]; }",
        table.view(np.uint8),
        grid=8,
        threadgroup=8,
        resources=[(0x7F0000001000, values), (0x7F0000002000, out)],
    )
    np.testing.assert_array_equal(out, values[::-1])


def test_positions_in_a_ragged_3d_grid() -> None:
    grid, out = (5, 3, 4), np.zeros((60, 8), np.uint32)
    run(
        """
kernel void k(device uint* o, uint3 p [[thread_position_in_grid]], uint3 l [[thread_position_in_threadgroup]],
              uint3 g [[threadgroup_position_in_grid]], uint3 n [[threads_per_threadgroup]],
              uint3 all [[threads_per_grid]], uint3 gs [[threadgroups_per_grid]],
              uint index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
  device uint* q = o + 8 * (p.x + all.x * (p.y + all.y * p.z));
  q[0] = 1; q[1] = n.x * 100 + n.y * 10 + n.z; q[2] = index; q[3] = g.x * 100 + g.y * 10 + g.z;
  q[4] = l.x + n.x * (l.y + n.y * l.z); q[5] = gs.x * 100 + gs.y * 10 + gs.z; q[6] = lane;
  q[7] = p.x == g.x * 2 + l.x && p.y == g.y * 2 + l.y && p.z == g.z * 3 + l.z;
}
""",
        out,
        grid=grid,
        threadgroup=(2, 2, 3),
    )
    assert (out[:, 0] == 1).all() and (out[:, 7] == 1).all() and (out[:, 5] == 322).all()
    np.testing.assert_array_equal(out[:, 2], out[:, 4])
    last = out[-1]
    assert last[1] == 111 and last[3] == 211
    assert out[0, 1] == 223


def test_logging_reaches_the_callback() -> None:
    messages = []
    run(
        "kernel void k(device const float* a, uint i [[thread_position_in_grid]])"
        '{ if (a[i] > 1) os_log_default.log("big %f at %d", a[i], int(i) - 5); }',
        np.array([0, 2, 0, 3], np.float32),
        grid=4,
        threadgroup=4,
        on_log=messages.append,
    )
    assert [(m.format, m.arguments, m.thread) for m in messages] == [
        ("big %f at %d", (2.0, -4), (1, 0, 0)),
        ("big %f at %d", (3.0, -2), (3, 0, 0)),
    ]


def test_memory_bound_twice_has_one_address() -> None:
    body = """
kernel void k(device const int* a, device const int* b, device int* out) { out[0] = a == b; out[1] = b[1]; }
"""
    a, out = np.array([4, 5], np.int32), np.zeros(2, np.int32)
    run(body, a, a, out, grid=1, threadgroup=1)
    assert out.tolist() == [1, 5]
    run(body, a, a.copy(), out, grid=1, threadgroup=1)
    assert out.tolist() == [0, 5]


def test_a_missing_barrier_before_overwriting_shows() -> None:
    """Every SIMD-group reads all maxima and writes its sum where its maximum was; nothing keeps them apart."""
    body = """
kernel void k(device const float* x, device float* out, uint i [[thread_index_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]]) {
  threadgroup float shared[32];
  float top = simd_max(x[i]);
  if (lane == 0) shared[group] = top;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  top = simd_max(shared[lane & 3]);
  float sum = simd_sum(exp(x[i] - top));
  if (lane == 0) shared[group] = 100 + sum;
  out[i] = top;
}
"""
    x, out = np.arange(128, dtype=np.float32) / 10, np.zeros(128, np.float32)
    results = []
    for schedule in SCHEDULES[:2]:
        run(body, x, out, grid=128, threadgroup=128, schedule=schedule)
        results.append(out.copy())
    assert not np.array_equal(*results)
