"""The shape of threadgroups is the engine's where no thread can tell; edges and rows cost what they should."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import re

import numpy as np
import pytest

from metalloid.analysis.intervals.prove import Prover
from metalloid.analysis.intervals.values import Facts
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.group_shape import LONGEST, group
from metalloid.backends.cpu.lower.free_shape import gang_shape, is_free
from metalloid.backends.cpu.lower.gang_width import choose
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.backends.specialize import ROOM, copied
from metalloid.errors import KernelFault
from metalloid.targets.aarch64 import NEON
from metalloid.targets.x86 import AVX512
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import launch, program, same, scalar_ir, triple

F = np.float32
ARM = codegen.Target("neoverse-n1", "", "aarch64-unknown-linux-gnu")
RNG = np.random.default_rng(0)
SUM = """kernel void k(device const float* a, device const float* b, device float* c, constant uint& w, constant uint& h,
  uint2 p [[thread_position_in_grid]]) { if (p.x < w && p.y < h) c[p.y * w + p.x] = a[p.y * w + p.x] + b[p.y * w + p.x]; }"""
PRODUCT = """kernel void k(device const float* a, device const float* b, device float* c, constant uint& n, uint2 p [[thread_position_in_grid]]) {
  float s = 0; for (uint i = 0; i < n; i++) s += a[p.y * n + i] * b[i * n + p.x];
  c[p.y * n + p.x] = s; }"""
TURNED = """kernel void k(device const float* a, device float* b, constant uint& n, uint2 p [[thread_position_in_grid]]) {
  b[p.x * n + p.y] = a[p.y * n + p.x]; }"""
STENCIL = """kernel void k(device const float* a, device float* b, constant uint& w, constant uint& h, uint2 p [[thread_position_in_grid]]) {
  if (p.x == 0 || p.y == 0 || p.x >= w - 1 || p.y >= h - 1) return;
  uint i = p.y * w + p.x; b[i] = a[i] + a[i - 1] + a[i + 1] + a[i - w] + a[i + w]; }"""
ROWS = """kernel void k(device const float* a, device const float* x, device float* y, constant uint& n, uint r [[thread_position_in_grid]]) {
  float s = 0; for (uint i = 0; i < n; i++) s += a[r * n + i] * x[i];
  y[r] = s; }"""
# Each round needs the one before it, and ends when a number says so: nothing for a lane's own registers.
ESCAPES = """kernel void k(device int* o, constant uint& w, constant uint& most, uint2 p [[thread_position_in_grid]]) {
    float cx = float(p.x) / float(w), cy = float(p.y) / float(w), x = 0, y = 0; uint n = 0;
    while (n < most && x * x + y * y <= 4.0f) { float t = x * x - y * y + cx; y = 2 * x * y + cy; x = t; n++; }
    o[p.y * w + p.x] = n; }"""
# The parts of a char4 are neighbours, and so are those of the next lane.
WORDS = """kernel void k(device const char4* a, device const char4* x, device int* y, constant uint& rows, constant uint& n, uint r [[thread_position_in_grid]]) {
  int s = 0; for (uint k = 0; k < n; k++) { char4 p = a[k * rows + r], q = x[k]; s += int(p.x) * q.x + int(p.y) * q.y + int(p.z) * q.z + int(p.w) * q.w; }
  y[r] = s; }"""
COLUMNS = """kernel void k(device const float* a, device float* y, constant uint& n, uint c [[thread_position_in_grid]]) {
  float s = 0; for (uint i = 0; i < n; i++) s += a[i * n + c];
  y[c] = s; }"""
SPARSE = """kernel void k(device const int* starts, device const int* at, device const float* v, device const float* x, device float* y,
  uint r [[thread_position_in_grid]]) { float s = 0; for (int i = starts[r]; i < starts[r + 1]; i++) s += v[i] * x[at[i]]; y[r] = s; }"""
# Counters of a threadgroup's own: lanes go there one by one.
COUNTED = """kernel void k(device const uint* a, device uint* o, constant uint& n, uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup atomic_uint own[256]; if (t < 256) atomic_store_explicit(&own[t], 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint k = 0; k < n; k++) if (a[i] > k) atomic_fetch_add_explicit(&own[(a[i] * 7 + k) & 255], a[i], memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  o[i] = t < 256 ? atomic_load_explicit(&own[t], memory_order_relaxed) : 0; }"""
ASKS = {
    "place": "kernel void k(device uint* o, uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) { o[i] = t; }",
    "size": "kernel void k(device uint* o, uint i [[thread_position_in_grid]], uint n [[threads_per_threadgroup]]) { o[i] = n; }",
    "group": "kernel void k(device uint* o, uint i [[thread_position_in_grid]], uint g [[threadgroup_position_in_grid]]) { o[i] = g; }",
    "lanes": "kernel void k(device uint* o, uint i [[thread_position_in_grid]]) { o[i] = simd_sum(i); }",
    "old value": "kernel void k(device atomic_uint* o, device uint* p, uint i [[thread_position_in_grid]]) { p[i] = atomic_fetch_add_explicit(o, 1u, memory_order_relaxed); }",
    "barrier": "kernel void k(device uint* o, uint i [[thread_position_in_grid]]) { o[i] = i; threadgroup_barrier(mem_flags::mem_device); o[i] += 1; }",
}
SHAPES = ((20, 20), (7, 3))


def module(text: str, math: str = "safe"):
    return canonical(scalar_ir(text, "k", math)[0])


def one(*numbers: int) -> list[np.ndarray]:
    return [np.array([n], np.uint32) for n in numbers]


@pytest.mark.parametrize("w, h", [(37, 41), (5, 70)])
def test_the_same_in_any_threadgroup(w, h):
    a, b, c = (RNG.random((h, w), F) for _ in range(3))
    for shape in SHAPES:
        same(SUM, [a, b, c, *one(w, h)], (w + 3, h + 2), shape)


@pytest.mark.parametrize("n", [19])
def test_products_and_transposes_in_any_threadgroup(n):
    a, b, c = (RNG.random((n, n), F) for _ in range(3))
    for shape in SHAPES:
        same(PRODUCT, [a, b, c, *one(n)], (n, n), shape, tolerance=1e-5)
        same(TURNED, [a, np.full_like(a, 7), *one(n)], (n, n), shape)


@pytest.mark.parametrize("name", ASKS)
def test_who_asks_for_its_threadgroup_gets_the_launchs_own(name):
    assert not is_free(module(ASKS[name]))
    arrays = [np.zeros(100, np.uint32) for _ in range(2 if name == "old value" else 1)]
    if name != "old value":
        same(ASKS[name], arrays, 100, 20)


def test_shapes_follow_what_is_loaded():
    grid = (1024, 1024, 1)
    assert gang_shape(module(SUM), grid, NEON) == (64, 1, 1)
    across, down, _ = gang_shape(module(PRODUCT), grid, NEON)
    assert across >= 16 and down > 1  # a column's loads are shared by several rows
    across, down, _ = gang_shape(module(TURNED), grid, NEON)
    assert 4 <= across <= 16 and 4 <= down <= 16  # lines of both matrices are used whole


@pytest.mark.parametrize(
    "grid", [(1, 1, 1), (1000, 1, 1), (37, 5, 3), (4096, 4096, 1), (3000, 2, 1), (8, 8, 4096)]
)
@pytest.mark.parametrize("gang", [(64, 1, 1), (16, 4, 1), (8, 8, 1)])
def test_threadgroups_fit_the_device(grid, gang):
    x, y, z = group(grid, gang)
    assert 1 <= x * y * z <= LONGEST


def test_a_fault_names_the_launchs_threadgroup():
    text = "kernel void k(device float* a, uint2 p [[thread_position_in_grid]]) { a[p.y * 64 + p.x] = 1; }"
    with pytest.raises(KernelFault) as caught:
        program(text, "k").run(launch([np.zeros(64 * 20 + 5, F)], (64, 64), (8, 8)))
    x, y, _ = caught.value.finding.thread
    assert y * 64 + x >= 64 * 20 + 5
    assert caught.value.finding.threadgroup == (x // 8, y // 8, 0)


def proof(text: str, arrays, grid, group):
    p = Prover(module(text))
    lengths = {n: a.nbytes for n, a in enumerate(arrays)}
    contents = {n: arrays[n].tobytes() for n in p.parameters}
    made = launch(arrays, grid, group)
    return p.prove(Facts(triple(grid), triple(group), made.threadgroups, lengths, {}, contents))


def test_a_test_that_every_thread_passes_is_no_branch():
    a = np.zeros((32, 64), F)
    arrays = [a, a, a, *one(64, 32)]
    found = proof(SUM, arrays, (64, 32), (64, 1))
    code = vector_code(module(SUM), ((64, 1, 1), False, False, True, False, found), 0, ARM).text
    assert len(found.dead) == 1 and "masked" not in code and "invariant.load" in code
    assert not proof(SUM, arrays, (65, 32), (64, 1)).dead
    assert len(proof(SUM, [a, a, a, *one(0, 32)], (64, 32), (64, 1)).dead) == 1  # nobody is inside


def test_threads_behind_the_end_write_nothing():
    for n, grid in ((50, 64), (64, 50)):
        text = "kernel void k(device float* a, constant uint& n, uint i [[thread_position_in_grid]]) { if (i < n) a[i] = 1; }"
        a = np.full(64, 7, F)
        for _ in range(3):  # guarded, then proved
            program(text, "k").run(launch([a, *one(n)], grid, 20))
        assert (a[: min(n, grid)] == 1).all() and (a[min(n, grid) :] == 7).all()


@pytest.mark.parametrize("w, h", [(33, 5)])
def test_edges_of_images(w, h):
    """Idle lanes at both ends of a row; rows at both ends of the buffers."""
    a, b = RNG.random((h, w), F), np.full((h, w), 7, F)
    same(STENCIL, [a, b, *one(w, h)], (w, h), (16, 4), widths=(0, 8, 32), tolerance=1e-6)
    with pytest.raises(KernelFault):
        program(STENCIL, "k").run(launch([a[:-1], b, *one(w, h)], (w, h), (16, 4)))


@pytest.mark.parametrize("count", [100, 250])
def test_the_last_gang_of_an_odd_threadgroup(count):
    text = "kernel void k(device const half* a, device float* b, uint i [[thread_position_in_grid]], uint n [[threads_per_threadgroup]]) { b[i] = float(a[i]) * n; }"
    a = RNG.random(2 * count).astype(np.float16)
    same(text, [a, np.full(2 * count, 7, F)], 2 * count, count, widths=(0, 16))
    with pytest.raises(KernelFault):
        program(text, "k").run(launch([a, np.full(2 * count - 1, 7, F)], 2 * count, count))


def test_rows_of_their_own_run_one_after_the_other():
    size = (64, 1, 1)
    assert choose(module(ROWS, "fast"), size, NEON) == 1
    assert choose(module(SPARSE), size, NEON) == 1
    assert choose(module(COLUMNS), size, NEON) > 1
    assert choose(module(PRODUCT), size, NEON) > 1
    assert choose(module(SUM), size, NEON) > 1
    assert choose(module(ESCAPES, "fast"), size, NEON) > 1
    for target in (NEON, AVX512):
        assert choose(module(WORDS), size, target) > 1


def test_idle_lanes_are_weighed_against_gangs():
    """Rows of 100 in gangs of 64 have 28 idle lanes, in gangs of 16 12 of them, and more than three times as many gangs."""
    copied = "kernel void k(device const float* a, device float* b, uint i [[thread_position_in_grid]]) { b[i] = a[i]; }"
    long = copied.replace("= a[i];", "= " + "sin(" * 9 + "a[i]" + ")" * 9 + ";")
    assert choose(module(copied), (100, 1, 1), AVX512) == 64
    assert choose(module(long), (100, 1, 1), AVX512) == 16


@pytest.mark.parametrize("kind", ["float", "float4"])
def test_rows_that_are_looked_up_have_gangs_of_their_own(kind):
    """Across rows of threads the addresses have no pattern; inside of one they are neighbours."""
    text = f"""kernel void k(device const {kind}* a, device const int* at, device {kind}* o, constant uint& w,
        uint2 p [[thread_position_in_grid]]) {{ o[p.y * w + p.x] = a[uint(at[p.y]) * w + p.x]; }}"""
    module = canonical(scalar_ir(text, "k")[0])
    assert [choose(module, size, AVX512) for size in ((32, 8, 1), (16, 4, 2), (8, 32, 1))] == [32, 16, 8]
    assert choose(module, (64, 4, 1), AVX512) == choose(module, (256, 1, 1), AVX512) == 64
    straight = canonical(scalar_ir(text.replace("uint(at[p.y])", "p.y"), "k")[0])
    assert choose(straight, (32, 8, 1), AVX512) == 64
    rng = np.random.default_rng(0)
    n = 4 if kind == "float4" else 1
    for w, h, threads in ((32, 20, (32, 4)), (33, 7, (11, 7)), (8, 16, (8, 8))):
        a, at = rng.random((50 * w, n), np.float32), rng.integers(0, 50, h, np.int32)
        same(text, [a, at, np.zeros((h * w, n), np.float32), np.uint32([w])], (w, h), threads)


def test_lanes_that_count_one_by_one_are_few_and_stored_once():
    """Of 256 lanes each was looked for in 256 bits, and all addresses were stored for each of them."""
    size = (1024, 1, 1)
    assert choose(module(COUNTED), size, AVX512) == choose(module(COUNTED), size, NEON) == 64
    for target in (ARM, codegen.host()):
        code = vector_code(module(COUNTED), (size, False, False, True, False, None), 0, target).text
        assert re.search(r"%lanes\d+ = alloca <64 x i64>", code)
    a = RNG.integers(0, 9, 600, np.uint32)
    same(COUNTED, [a, np.full(600, 7, np.uint32), np.array([5], np.uint32)], 600, 300, widths=(0, 32))


@pytest.mark.parametrize("n", [37])
@pytest.mark.parametrize("math", ["safe", "fast"])
def test_rows_of_their_own(n, math):
    a, x, y = RNG.random((n, n), F), RNG.random(n, F), np.full(n, 7, F)
    same(ROWS, [a, x, y, *one(n)], n, 20, math=math, tolerance=1e-5)
    lengths = RNG.integers(0, 9, n)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    at, v = RNG.integers(0, n, starts[-1] + 1).astype(np.int32), RNG.random(starts[-1] + 1, F)
    same(SPARSE, [starts, at, v, x, y], n, 20, math=math, tolerance=1e-5)


def test_a_long_table_of_indices_does_not_hide_the_numbers_beside_it():
    lengths = [64, ROOM + 4, 4, 8]
    assert [(i, size) for i, _, size in copied((1, 2, 3), lengths)] == [(2, 4), (3, 8)]


TREE = """kernel void k(device const int* a, device int* o, uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]],
  uint g [[threadgroup_position_in_grid]], uint n [[threads_per_threadgroup]]) {
  threadgroup int s[256];
  s[t] = a[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint d = n / 2; d > 0; d /= 2) { if (t < d) s[t] += s[t + d]; threadgroup_barrier(mem_flags::mem_threadgroup); }
  if (t == 0) o[g] = s[0] + int(n); }"""
COUNTS = """kernel void k(device const uint* a, device atomic_uint* bins, uint t [[thread_position_in_threadgroup]],
  uint g [[threadgroup_position_in_grid]], uint n [[threads_per_threadgroup]]) {
  threadgroup atomic_uint own[16];
  if (t < 16) atomic_store_explicit(&own[t], 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = 0; i < 3; i++) atomic_fetch_add_explicit(&own[a[(g * 3 + i) * n + t] & 15], t + 1, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < 16) atomic_fetch_add_explicit(&bins[t], atomic_load_explicit(&own[t], memory_order_relaxed), memory_order_relaxed); }"""


@pytest.mark.parametrize("size", [64])
def test_trees_over_the_size_of_the_threadgroup(size):
    """Whole threadgroups have the size as a number; the one at the edge has fewer threads, and is told so."""
    for grid in (2 * size, 2 * size + 20):
        a = RNG.integers(0, 100, grid).astype(np.int32)
        same(TREE, [a, np.full(3, -1, np.int32)], grid, size, widths=(0, 16))


def test_loops_over_the_size_of_a_threadgroup_are_unrolled():
    from metalloid.ir.loops import loops
    from metalloid.transforms.fold_sizes import asks_for_size, folded

    ir = scalar_ir(TREE, "k")[0]
    assert asks_for_size(canonical(ir)) and len(loops(canonical(ir).function["__mt_entry"]).loops) == 1
    assert not loops(folded(ir, (256, 1, 1)).function["__mt_entry"]).loops
    assert not asks_for_size(module(SUM))


def test_a_loop_of_many_rounds_stays_a_loop():
    """Unrolled, the sort below was 102,000 lines of vector code, and compiled for 19 seconds."""
    from metalloid.transforms.fold_sizes import folded

    text = """kernel void k(device int* o, uint t [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
        threadgroup int s[64]; threadgroup bool sorted;
        s[t] = o[t];
        for (int round = 0; round < 200; round++) {
            if (t == 0) sorted = true;
            threadgroup_barrier(mem_flags::mem_threadgroup);
            int a = s[t], b = s[(t + 1) % n];
            threadgroup_barrier(mem_flags::mem_threadgroup);
            if (a > b && t + 1 < n) { sorted = false; if (((t + round) & 1) == 0) { s[t] = b; s[t + 1] = a; } }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            if (sorted) break;
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        o[t] = s[t];
    }"""
    ir = scalar_ir(text, "k")[0]
    assert sum(1 for _ in folded(ir, (45, 1, 1)).function["__mt_entry"].instructions()) < 200
    (found,) = same(text, [RNG.integers(0, 99, 10).astype(np.int32)], 10, 10)
    np.testing.assert_array_equal(found, np.sort(found))


def test_a_division_by_zero_that_the_size_makes_is_zero():
    """LLVM left the store out: a number less the threadgroup's own is a divisor like any other."""
    text = """kernel void k(device int* o, device const int* a, uint i [[thread_position_in_grid]],
        uint t [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
        threadgroup int s[64];
        s[t] = a[i];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        o[4 * i] = int(uint(s[t ^ 1]) / (n - 32u)); o[4 * i + 1] = s[t ^ 1] / (int(n) - 32);
        o[4 * i + 2] = s[t ^ 1] % (int(n) - 33); o[4 * i + 3] = s[t] / (31 - int(n));
    }"""
    a = np.array([-(1 << 31), *range(1, 128)], np.int32)
    for size in (16, 32, 64):
        found, _ = same(text, [np.full(4 * 128, 77, np.int32), a], 128, size, widths=(0, 8))
        if size == 32:
            by = -a.astype(np.int64)
            by[0] = a[0]  # what does not fit is the dividend
            expected = np.stack([0 * a, 0 * a, 0 * a, by.astype(np.int32)], 1)
            np.testing.assert_array_equal(found.reshape(128, 4), expected)


def test_divisions_by_what_is_not_known_have_no_guards_left():
    from metalloid.transforms.fold_sizes import folded

    text = """kernel void k(device int* o, constant uint& w, constant int& h, uint i [[thread_position_in_grid]],
        uint t [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
        threadgroup int s[64];
        s[t] = i / w;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        o[i] = s[(t + 1) % n] / h + i % w;
    }"""
    code = [
        i.opcode for i in folded(scalar_ir(text, "k")[0], (48, 1, 1)).function["__mt_entry"].instructions()
    ]
    assert "select" not in code and {"udiv", "sdiv", "urem"} <= {*code}


def test_counting_in_threadgroup_memory_takes_no_lock():
    for size in (32, 64):
        a = RNG.integers(0, 1 << 30, 6 * size).astype(np.uint32)
        same(COUNTS, [a, np.zeros(16, np.uint32)], 2 * size, size, widths=(0, 8, 1))
    code = vector_code(module(COUNTS), ((64, 1, 1), False, False, True, False, None), 0, ARM).text
    atomics = [line for line in code.splitlines() if "atomicrmw" in line]
    assert atomics and all("monotonic" in line for line in atomics)
    assert code.count("atomicrmw") == code.count("atomicrmw add ptr %t") == len(atomics) <= 2


def test_counters_beside_other_stores_keep_their_order():
    text = "kernel void k(device atomic_uint* n, device uint* a, uint i [[thread_position_in_grid]]) { a[i] = i; atomic_fetch_add_explicit(n, i, memory_order_relaxed); }"
    code = vector_code(module(text), ((64, 1, 1), False, False, True, False, None), 0, ARM).text
    assert "acq_rel" in code
