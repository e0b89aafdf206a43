"""Atomics in device and threadgroup memory: every operation, its effect and the value it returns."""
# ruff: noqa: E501  a row of a table is one line

import numpy as np
import pytest

from tests.language.launch import DTYPES, agree, check, poisoned, run

RELAXED = "memory_order_relaxed"
MODIFY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "min": min,
    "max": max,
}


@pytest.mark.parametrize("space", ["device", "threadgroup"])
@pytest.mark.parametrize(("kind", "element"), [("atomic_int", "int"), ("atomic_uint", "uint"), ("atomic<int>", "int"), ("metal::atomic<uint>", "uint"), ("volatile atomic_uint", "uint")])  # fmt: skip
def test_integers(space: str, kind: str, element: str) -> None:
    dtype = DTYPES[element]
    start = np.array([-100 if element == "int" else 2**32 - 100], np.int64).astype(dtype)[0]
    value = dtype(57)
    lines, expected = [], []
    for number, (name, function) in enumerate(MODIFY.items()):
        lines.append(f"o[{number * 2}] = atomic_fetch_{name}_explicit(p + {number}, v, {RELAXED});")
        lines.append(f"o[{number * 2 + 1}] = atomic_load_explicit(p + {number}, {RELAXED});")
        wide = function(int(start), int(value))
        expected += [start, np.array([wide], np.int64).astype(dtype)[0]]
    n = len(MODIFY)
    shared = f"threadgroup {kind} p[{n}];" if space == "threadgroup" else ""
    given = f", device {kind}* p" if space == "device" else ""
    body = f"""kernel void k(device {element}* o, constant {element}& v, constant {element}& s{given}) {{
  {shared}
  for (int i = 0; i < {n}; i++) atomic_store_explicit(&p[i], s, {RELAXED});
  {chr(10).join(lines)}
}}"""
    out, memory = poisoned(2 * n, dtype), poisoned(n, dtype)
    bound = [out, np.array([value]), np.array([start])] + ([memory] if space == "device" else [])
    run(body, *bound)
    np.testing.assert_array_equal(out, np.array(expected, dtype))
    if space == "device":
        np.testing.assert_array_equal(memory, out[1::2])


@pytest.mark.parametrize("element", ["int", "uint", "float", "bool"])
def test_load_store_exchange_and_compare(element: str) -> None:
    dtype = DTYPES[element]
    a, b, c = (dtype(v) for v in ((1, 0, 1) if element == "bool" else (3, 5, 7)))
    out = poisoned(8, dtype)
    memory = np.array([a, a, a, a], dtype)
    body = f"""
kernel void k(device {element}* o, device atomic<{element}>* p, constant {element}* v) {{
  o[0] = atomic_exchange_explicit(p, v[1], memory_order_relaxed);
  {element} expected = v[0];
  o[1] = atomic_compare_exchange_weak_explicit(&p[1], &expected, v[1], memory_order_relaxed, memory_order_relaxed);
  o[2] = expected;
  expected = v[1];
  o[3] = atomic_compare_exchange_weak_explicit(&p[2], &expected, v[2], memory_order_relaxed, memory_order_relaxed);
  o[4] = expected;
  threadgroup atomic_{element} t;
  atomic_store_explicit(&t, v[2], memory_order_relaxed);
  o[5] = atomic_exchange_explicit(&t, v[0], memory_order_relaxed);
  o[6] = atomic_load_explicit(&t, memory_order_relaxed);
}}"""
    run(body, out, memory, np.array([a, b, c], dtype))
    np.testing.assert_array_equal(out[:7], np.array([a, 1, a, 0, a, c, a], dtype))
    np.testing.assert_array_equal(memory, np.array([b, b, a, a], dtype))


def test_counting_histogram_and_returned_slots() -> None:
    values = np.random.default_rng(2).integers(0, 5, 100).astype(np.uint32)
    counts, order, slots = np.zeros(5, np.uint32), np.zeros(1, np.int32), poisoned(100)
    run(
        """
kernel void k(device const uint* v, device atomic_uint* counts, device atomic_int* order, device int* slots,
              uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]],
              uint n [[threads_per_threadgroup]]) {
  threadgroup atomic_uint local[5];
  for (uint j = l; j < 5; j += n) atomic_store_explicit(&local[j], 0, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&local[v[i]], 1u, memory_order_relaxed);
  slots[atomic_fetch_add_explicit(order, 1, memory_order_relaxed)] = i;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint j = l; j < 5; j += n)
    atomic_fetch_add_explicit(&counts[j], atomic_load_explicit(&local[j], memory_order_relaxed), memory_order_relaxed);
}""",
        *(values, counts, order, slots),
        grid=100,
        threadgroup=32,
        agrees=lambda one, other: agree(np.sort(one), np.sort(other)),  # who comes first is nobody's promise
    )
    np.testing.assert_array_equal(counts, np.bincount(values, minlength=5))
    assert order[0] == 100 and sorted(slots) == list(range(100))


def test_float_add_and_a_compare_exchange_loop() -> None:
    values = (np.arange(37) % 7).astype(np.float32)
    total, least, largest = np.zeros(2, np.float32), np.array([99], np.float32), np.array([0], np.float32)
    run(
        """
void atomic_max(device atomic_float* p, float v) {
  float seen = atomic_load_explicit(p, memory_order_relaxed);
  while (seen < v && !atomic_compare_exchange_weak_explicit(p, &seen, v, memory_order_relaxed, memory_order_relaxed));
}
kernel void k(device const float* v, device atomic_float* total, device atomic<float>* least,
              device atomic_uint* largest, uint i [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(&total[0], v[i], memory_order_relaxed);
  atomic_fetch_sub_explicit(total + 1, v[i] * 0.5f, memory_order_relaxed);
  float old = atomic_load_explicit(least, memory_order_relaxed);
  do { if (old <= v[i]) break; }
  while (!atomic_compare_exchange_weak_explicit(least, &old, v[i], memory_order_relaxed, memory_order_relaxed));
  atomic_max((device atomic_float*)largest, v[i]);
}""",
        *(values, total, least, largest),
        grid=37,
        threadgroup=10,
    )
    np.testing.assert_array_equal(total, [values.sum(), -values.sum() / 2])
    assert least[0] == 0 and largest[0] == 6


def test_ulong_min_and_max() -> None:
    big = np.array([2**63 + 5, 2**40], np.uint64)
    memory = np.array([2**63, 2**63], np.uint64)
    run(
        """
kernel void k(device atomic_ulong* p, constant ulong* v) {
  atomic_max_explicit(p, v[0], memory_order_relaxed);
  atomic_min_explicit(p + 1, v[1], memory_order_relaxed);
}""",
        *(memory, big),
    )
    np.testing.assert_array_equal(memory, big)


def test_atomics_in_structs_and_references() -> None:
    out = np.array([5, 10, 0, 0], np.int32)
    run(
        """
struct Head { int n; atomic_int count; atomic_uint flags[2]; };
void bump(device atomic_int& c, int by) { atomic_fetch_add_explicit(&c, by, memory_order_relaxed); }
template <typename A> void mark(A* p, uint bit) { atomic_fetch_or_explicit(p, 1u << bit, memory_order_relaxed); }
kernel void k(device Head& head, uint i [[thread_position_in_grid]]) {
  bump(head.count, head.n);
  mark(&head.flags[i % 2], i);
}""",
        out,
        grid=7,
        threadgroup=4,
    )
    np.testing.assert_array_equal(out, [5, 45, 0b1010101, 0b0101010])


def test_orders_and_the_flag_that_init_sets() -> None:
    check(
        [
            ("int", "atomic_load_explicit(p, memory_order_relaxed)", 9),
            ("int", "atomic_fetch_add_explicit(p, 1, memory_order::memory_order_relaxed)", 9),
            ("int", "atomic_fetch_add_explicit(p, 1u, metal::memory_order_relaxed)", 10),
        ],
        ("device atomic_int* p", np.array([9], np.int32)),
    )
