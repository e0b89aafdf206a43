"""SIMD-group operations: results, inactive lanes, and who meets whom where lanes diverge."""

import numpy as np
import pytest

from metalloid.backends import interpret
from metalloid.backends.base import Launch
from tests.oracle.launch import SCHEDULES, run

rng = np.random.default_rng(5)
every_schedule = pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s.order)


NUMPY = {"float": np.float32, "half": np.float16, "int": np.int32, "long": np.int64, "uint": np.uint32}


def lanes(expression: str, values: np.ndarray, kind: str, result: str = "", **options) -> np.ndarray:
    """What each of the threads gets from an expression of `v` (its value) and `l` (its lane)."""
    out = np.zeros(len(values), NUMPY[result or kind])
    run(
        f"kernel void k(device const {kind}* a, device {result or kind}* o,"
        " uint i [[thread_position_in_grid]], ushort l [[thread_index_in_simdgroup]])"
        f"{{ {kind} v = a[i]; o[i] = {expression}; }}",
        *(values, out),
        grid=len(values),
        threadgroup=len(values),
        **options,
    )
    return out


def test_reductions_see_all_lanes_of_each_simdgroup() -> None:
    v = rng.integers(-50, 50, 48).astype(np.float32)
    groups = (v[:32], v[32:])
    for name, numpy in (("sum", np.sum), ("max", np.max), ("min", np.min)):
        got = lanes(f"simd_{name}(v)", v, "float")
        np.testing.assert_array_equal(got, np.concatenate([np.full(len(g), numpy(g)) for g in groups]))


def test_integer_reductions_know_their_sign() -> None:
    v = np.array([-1, 5, 7, -3] * 8, np.int32)
    assert lanes("simd_max(v)", v, "int")[0] == 7
    assert lanes("simd_max(v)", v.view(np.uint32), "uint")[0] == 2**32 - 1
    assert lanes("simd_min(v)", v.astype(np.int64), "long")[0] == -3
    assert lanes("simd_or(v)", v.view(np.uint32), "uint")[0] == 2**32 - 1
    assert lanes("simd_xor(v)", np.arange(32, dtype=np.uint32) * 3, "uint")[0] == np.bitwise_xor.reduce(
        np.arange(32) * 3
    )


def test_scans() -> None:
    v = rng.integers(1, 9, 32).astype(np.float32)
    np.testing.assert_array_equal(lanes("simd_prefix_inclusive_sum(v)", v, "float"), np.cumsum(v))
    np.testing.assert_array_equal(lanes("simd_prefix_exclusive_sum(v)", v, "float"), np.cumsum(v) - v)
    w = np.array([1, 2, 3, 1] * 8, np.int64)
    np.testing.assert_array_equal(lanes("simd_prefix_inclusive_product(v)", w, "long"), np.cumprod(w))


L = np.arange(32)
SHUFFLES = {
    "simd_shuffle(v, (l * 5) % 32)": (L * 5) % 32,
    "simd_shuffle(v, ushort(40))": L,
    "simd_shuffle_xor(v, 3)": L ^ 3,
    "simd_shuffle_up(v, 3)": np.where(L < 3, L, L - 3),
    "simd_shuffle_down(v, 3)": np.where(L > 28, L, L + 3),
    "simd_shuffle_rotate_up(v, 3)": (L - 3) % 32,
    "simd_shuffle_rotate_down(v, 3)": (L + 3) % 32,
    "simd_broadcast(v, 9)": np.full(32, 9),
    "simd_broadcast_first(v)": np.zeros(32, int),
    "quad_shuffle_xor(v, 1)": L ^ 1,
    "quad_broadcast(v, 2)": L // 4 * 4 + 2,
    "quad_shuffle_up(v, 1)": np.where(L % 4 < 1, L, L - 1),
    "quad_shuffle_rotate_down(v, 1)": L // 4 * 4 + (L + 1) % 4,
}


@pytest.mark.parametrize("expression", SHUFFLES)
def test_shuffles(expression: str) -> None:
    v = rng.normal(size=32).astype(np.float32)
    np.testing.assert_array_equal(lanes(expression, v, "float"), v[SHUFFLES[expression]])


def test_shuffle_and_fill_takes_what_moves_in_from_the_other_end() -> None:
    v = L.astype(np.float32)
    got = lanes("simd_shuffle_and_fill_up(v, v + 100, 3)", v, "float")
    np.testing.assert_array_equal(got, np.where(L < 3, L - 3 + 32 + 100, L - 3))
    got = lanes("simd_shuffle_and_fill_down(v, v + 100, 3, 8)", v, "float")
    np.testing.assert_array_equal(got, np.where(L % 8 > 4, L + 3 - 8 + 100, L + 3))


def test_votes() -> None:
    v = (L % 3).astype(np.float32)
    ballot = sum(1 << int(n) for n in L if n % 3 == 1)
    assert lanes("uint(ulong(simd_ballot(v == 1)))", v, "float", "uint")[4] == ballot
    assert (
        lanes(
            "uint(simd_any(v == 2)) + 2 * uint(simd_all(v < 3)) + 4 * uint(simd_all(v < 2))",
            v,
            "float",
            "uint",
        )[0]
        == 3
    )
    np.testing.assert_array_equal(lanes("uint(simd_is_first())", v, "float", "uint"), L == 0)
    np.testing.assert_array_equal(lanes("quad_sum(v)", v, "float"), np.repeat(v.reshape(8, 4).sum(1), 4))


def test_inactive_lanes_do_not_count() -> None:
    v = L.astype(np.float32)
    got = lanes("l % 2 ? simd_sum(v) : -simd_sum(v)", v, "float")
    np.testing.assert_array_equal(got, np.where(L % 2, v[1::2].sum(), -v[::2].sum()))
    got = lanes("l < 20 ? simd_shuffle_down(v, 4) : 0", v, "float")
    np.testing.assert_array_equal(got, np.where(L < 16, L + 4, np.where(L < 20, L, 0)))
    got = lanes("l > 5 ? uint(simd_is_first()) : 0", v, "float", "uint")
    np.testing.assert_array_equal(got, L == 6)


@every_schedule
def test_lanes_in_different_iterations_do_not_meet(schedule) -> None:
    got = lanes(
        "0; for (uint j = 0; j < 4; j++) if (l % 4 == j) o[i] = simd_sum(v)",
        L.astype(np.float32),
        "float",
        schedule=schedule,
    )
    np.testing.assert_array_equal(got, [sum(m for m in range(32) if m % 4 == n % 4) for n in range(32)])


@every_schedule
def test_lanes_that_leave_a_loop_wait_for_the_others(schedule) -> None:
    out, trips = np.zeros(32, np.float32), np.zeros(32, np.float32)
    run(
        """
kernel void k(device float* o, device float* trips, ushort l [[thread_index_in_simdgroup]]) {
  float inside = 0;
  for (ushort j = 0; j < 32; j++) {
    if (j > l) break;
    if ((l + j) % 3 == 0) continue;
    inside += simd_sum(1.0f);
  }
  trips[l] = inside;
  o[l] = simd_sum(float(l));
}
""",
        *(out, trips),
        grid=32,
        threadgroup=32,
        schedule=schedule,
    )
    expected = [
        sum(sum(1 for m in L if m >= j and (m + j) % 3) for j in range(n + 1) if (n + j) % 3) for n in L
    ]
    np.testing.assert_array_equal(trips, expected)
    np.testing.assert_array_equal(out, np.full(32, L.sum()))


SHARED_HEADER = """
define void @__mt_entry() {
entry:
  %o = call ptr addrspace(1) @__mt_buffer(i32 0)
  %l = call i32 @__mt_thread_index_in_simdgroup(i32 0)
  %p = getelementptr i32, ptr addrspace(1) %o, i32 %l
  br label %both
both:
  %row = phi i32 [ 0, %entry ], [ %row, %inner ], [ %next, %outer ]
  %i = phi i32 [ 0, %entry ], [ %more, %inner ], [ 0, %outer ]
  %total = phi i32 [ 0, %entry ], [ %total, %inner ], [ %sum, %outer ]
  %again = icmp ult i32 %i, %l
  br i1 %again, label %inner, label %outer
inner:
  %more = add i32 %i, 1
  br label %both
outer:
  %all = call i32 @__mt_simd_sum_u32(i32 1)
  %sum = add i32 %total, %all
  %next = add i32 %row, 1
  %done = icmp eq i32 %next, 3
  br i1 %done, label %end, label %both
end:
  store i32 %sum, ptr addrspace(1) %p
  ret void
}
declare ptr addrspace(1) @__mt_buffer(i32)
declare i32 @__mt_thread_index_in_simdgroup(i32)
declare i32 @__mt_simd_sum_u32(i32)
"""


@every_schedule
def test_all_lanes_meet_after_an_inner_loop_that_shares_its_header(schedule) -> None:
    out = np.zeros(32, np.uint32)
    interpret.run(SHARED_HEADER, Launch((32, 1, 1), (32, 1, 1), {0: out}), schedule)
    np.testing.assert_array_equal(out, np.full(32, 96))


@every_schedule
def test_either_side_of_a_short_circuit_joins(schedule) -> None:
    expression = "(l & 1) || (v > 20 && l % 3 == 0) ? simd_sum(v) : 0"
    got = lanes(expression, L.astype(np.float32), "float", schedule=schedule)
    taking = np.array([bool(n & 1 or (n > 20 and n % 3 == 0)) for n in L])
    np.testing.assert_array_equal(got, np.where(taking, L[taking].sum(), 0))


@every_schedule
def test_matrices(schedule) -> None:
    a, b, c = (rng.integers(-5, 6, (8, 8)).astype(np.float32) for _ in range(3))
    out = np.zeros((8, 8), np.float32)
    body = """
kernel void k(device const float* a, device const float* b, device const float* c, device float* o) {
  simdgroup_float8x8 x, y, z, w;
  simdgroup_load(x, a, 8); simdgroup_load(y, b, 8, ulong2(0), true); simdgroup_load(z, c, 8);
  simdgroup_multiply_accumulate(w, x, y, z);
  simdgroup_store(w, o, 8);
}
"""
    run(body, *(a, b, c, out), grid=32, threadgroup=32, schedule=schedule)
    np.testing.assert_array_equal(out, a @ b.T + c)


def test_half_matrices_in_threadgroup_memory() -> None:
    a, b = (rng.integers(-5, 6, (8, 8)).astype(np.float16) for _ in range(2))
    out = np.zeros((8, 8), np.float16)
    body = """
kernel void k(device const half* a, device const half* b, device half* o,
              ushort l [[thread_index_in_simdgroup]]) {
  threadgroup half s[64];
  s[l] = a[l]; s[l + 32] = a[l + 32];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  simdgroup_half8x8 x, y, z;
  simdgroup_load(x, s, 8); simdgroup_load(y, b, 8);
  simdgroup_multiply(z, x, y);
  simdgroup_store(z, o, 8);
}
"""
    run(body, *(a, b, out), grid=32, threadgroup=32)
    np.testing.assert_array_equal(out, a @ b)
