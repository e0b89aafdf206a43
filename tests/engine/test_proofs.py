"""Proofs at launch: what is proved never misses its memory, and what might miss it is not proved."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import random
import re
import threading
import time

import numpy as np
import pytest

import metalloid as mt
from metalloid.analysis.intervals.prove import Proof, Prover, access
from metalloid.analysis.intervals.values import Facts
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.backends.cpu.pipeline import sized, vector_code
from metalloid.errors import KernelFault
from metalloid.ir.debug import location
from metalloid.records import replace
from metalloid.runtime.buffer import aligned
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import HEADER, launch, program, same, scalar_ir, triple

F = np.float32


def prover(text: str) -> Prover:
    return Prover(canonical(scalar_ir(text, "k")[0]))


def facts(p: Prover, arrays, grid, group, local=None) -> Facts:
    made = launch(arrays, grid, group, local)
    contents = {n: arrays[n].tobytes() for n in p.parameters}
    lengths = {n: a.nbytes for n, a in enumerate(arrays)}
    return Facts(triple(grid), triple(group), made.threadgroups, lengths, local or {}, contents)


def proved(text: str, arrays, grid, group, local=None) -> tuple[int, int]:
    """How many accesses are proved, and how many there are."""
    p = prover(text)
    found = p.prove(facts(p, arrays, grid, group, local))
    return len(found.accesses), sum(access(i) is not None for i in p.function.instructions())


def n_(value: int, dtype=np.uint32) -> np.ndarray:
    return np.array([value], dtype)


TILED = """kernel void k(device const float* A, device const float* B, device float* C, constant uint& N,
  uint2 t [[thread_position_in_threadgroup]], uint2 g [[threadgroup_position_in_grid]]) {
  threadgroup float a[16][16], b[16][16];
  uint row = g.y * 16 + t.y, col = g.x * 16 + t.x;
  float acc = 0;
  for (uint k = 0; k < N; k += 16) {
    a[t.y][t.x] = A[row * N + k + t.x];
    b[t.y][t.x] = B[(k + t.y) * N + col];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < 16; i++) acc += a[t.y][i] * b[i][t.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  C[row * N + col] = acc; }"""
SIGNED = """kernel void k(device const float* a, device float* b, constant int& n, uint i [[thread_position_in_grid]]) {
  float s = 0;
  for (int j = n - 1; j >= 0; j--) s += a[j];
  if (int(i) < n) b[i] = s; }"""
STRIDED = """kernel void k(device const float* a, device float* b, constant uint& n, uint row [[threadgroup_position_in_grid]],
  uint t [[thread_index_in_threadgroup]], uint threads [[threads_per_threadgroup]]) {
  for (uint i = t; i < n; i += threads) b[row * n + i] = 2 * a[row * n + i]; }"""
TREE = """kernel void k(device const float* a, device float* o, uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
  uint g [[threadgroup_position_in_grid]], uint size [[threads_per_threadgroup]]) {
  threadgroup float s[64];
  s[t] = a[i];
  for (uint k = size / 2; k > 0; k >>= 1) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < k) s[t] += s[t + k];
  }
  if (t == 0) o[g] = s[0]; }"""
CLAMPED = """kernel void k(device const float* a, device float* b, constant int& n, uint i [[thread_position_in_grid]]) {
  int left = max(int(i) - 1, 0), right = min(int(i) + 1, n - 1);
  b[i] = a[left] + a[right]; }"""
DIVIDED = """kernel void k(device const float* a, device float* b, constant uint& n, uint i [[thread_position_in_grid]]) {
  b[(i % n) * n + i / n] = a[i]; }"""
STRUCT = """struct P { uint rows, cols; long stride; };
kernel void k(device const float* a, device float* b, constant P& p, uint2 i [[thread_position_in_grid]]) {
  if (i.x >= p.cols || i.y >= p.rows) return;
  b[i.y * p.cols + i.x] = a[i.y * p.stride + i.x]; }"""
HOST = """kernel void k(device float* b, threadgroup float* s [[threadgroup(0)]], uint i [[thread_position_in_threadgroup]]) {
  s[i * 2] = i; s[i * 2 + 1] = 1; threadgroup_barrier(mem_flags::mem_threadgroup); b[i] = s[63 - i]; }"""


def struct(rows: int, cols: int, stride: int) -> np.ndarray:
    return np.frombuffer(np.array([rows, cols], np.uint32).tobytes() + np.int64(stride).tobytes(), np.uint8)


# kernel, arrays, grid, threadgroup, which array to make one element shorter, host-sized memory
EXACT = [
    (TILED, lambda: [np.ones((32, 32), F)] * 3 + [n_(32)], (32, 32), (16, 16), (0, 1, 2), None),
    (SIGNED, lambda: [np.ones(100, F), np.zeros(100, F), n_(100, np.int32)], 128, 32, (0, 1), None),
    (STRIDED, lambda: [np.ones(3 * 70, F), np.zeros(3 * 70, F), n_(70)], 96, 32, (0, 1), None),
    (TREE, lambda: [np.ones(256, F), np.zeros(4, F)], 256, 64, (0, 1), None),
    (CLAMPED, lambda: [np.ones(50, F), np.zeros(50, F), n_(50, np.int32)], 50, 32, (0, 1), None),
    (DIVIDED, lambda: [np.ones(36, F), np.zeros(36, F), n_(6)], 36, 36, (0, 1), None),
    (STRUCT, lambda: [np.ones(4 * 9 + 7, F), np.zeros(35, F), struct(5, 7, 9)], (8, 8), (8, 8), (0, 1), None),
    (HOST, lambda: [np.zeros(32, F)], 32, 32, (0,), {0: 256}),
]  # fmt: skip


@pytest.mark.parametrize("case", EXACT, ids=lambda c: c[0].split("\n")[-1][:20])
def test_launches_that_fit_are_proved_and_those_one_element_short_are_not(case):
    text, arrays, grid, group, short, local = case
    made = arrays()
    done, all = proved(text, made, grid, group, local)
    assert done == all
    for n in short:
        fewer = list(made)
        fewer[n] = made[n].ravel()[:-1]
        assert proved(text, fewer, grid, group, local)[0] < all, n
        with pytest.raises(KernelFault):
            program(text, "k").run(launch([a.copy() for a in fewer], grid, group, local))


def test_host_sized_memory_one_element_short_is_not_proved():
    assert proved(HOST, [np.zeros(32, F)], 32, 32, {0: 252})[0] < 4


def test_a_larger_grid_is_not_proved():
    text = "kernel void k(device float* a, uint i [[thread_position_in_grid]]) { a[i] = 1; }"
    assert proved(text, [np.zeros(64, F)], 64, 32) == (1, 1)
    assert proved(text, [np.zeros(64, F)], 65, 32) == (0, 1)
    assert proved(text, [np.zeros(64, F)], 96, 96) == (0, 1)


def test_a_parameter_that_changes_between_launches():
    """Through the short road of a call and through the program itself."""
    text = "kernel void k(device float* a, constant uint& n, uint i [[thread_position_in_grid]]) { if (i < n) a[i] = i; }"
    kernel = mt.device("cpu").library(HEADER + text)["k"]
    whole = np.full(4096, 7, F)
    a = whole[1000:1064]
    for _ in range(3):
        for value in (64, 10, np.array(64, np.uint32), np.array([30], np.uint32)):
            kernel(a, value, grid=128, threadgroup=32)
        for value in (65, np.array(128, np.uint32)):
            with pytest.raises(KernelFault):
                kernel(a, value, grid=128, threadgroup=32)
    made, n = program(text, "k"), n_(64)
    for _ in range(3):
        n[0] = 64
        made.run(launch([a, n], 128, 32))
        n[0] = 66
        with pytest.raises(KernelFault):
            made.run(launch([a, n], 128, 32))
    assert (whole[:1000] == 7).all() and (whole[1064:] == 7).all()


def test_shorter_buffers_in_later_launches():
    text = "kernel void k(device float* a, uint i [[thread_position_in_grid]]) { a[i] = 1; }"
    kernel = mt.device("cpu").library(HEADER + text)["k"]
    for length, fits in ((64, True), (64, True), (63, False), (200, True), (10, False), (64, True)):
        a = np.zeros(length, F)
        if fits:
            kernel(a, grid=64, threadgroup=32)
            assert a[:64].all()
        else:
            with pytest.raises(KernelFault):
                kernel(a, grid=64, threadgroup=32)


def test_a_buffer_that_the_kernel_writes_is_no_parameter():
    text = """kernel void k(device uint* n, device float* a, uint i [[thread_position_in_grid]]) {
      if (i == 0) n[0] = 1000; threadgroup_barrier(mem_flags::mem_device); for (uint j = 0; j < n[0]; j++) a[j] = 1; }"""
    assert prover(text).parameters == ()
    with pytest.raises(KernelFault):
        program(text, "k").run(launch([n_(4), np.zeros(8, F)], 64, 64))
    unknown = """kernel void k(device uint* n, device uint* a, device uint* b, uint i [[thread_position_in_grid]]) {
      device uint* at = a; for (uint j = 0; j < i; j++) at = at == a ? b : a; at[i] = n[1]; }"""
    assert prover(unknown).parameters == ()


def test_a_parameter_that_another_argument_overlaps():
    """The kernel writes its own limit through another argument: it is read as it is then, under guard."""
    text = """kernel void k(device const uint* n, device uint* m, device float* a, uint i [[thread_position_in_grid]]) {
      if (i == 0) m[0] = 1000; threadgroup_barrier(mem_flags::mem_device); for (uint j = 0; j < n[0]; j++) a[j] = 1; }"""
    n, a = n_(8), np.zeros(8, F)
    with pytest.raises(KernelFault):
        program(text, "k").run(launch([n, n, a], 64, 64))


def test_a_parameter_that_another_thread_changes_meanwhile():
    """Proof and run see one copy: neither run is right and wrong at once, and nothing outside is touched."""
    text = "kernel void k(device float* a, device const uint* n, uint i [[thread_position_in_grid]]) { for (uint j = i; j < n[0]; j += 32) a[j] = 1; }"
    kernel = mt.device("cpu").library(HEADER + text)["k"]
    whole = np.zeros(1 << 20, F)
    a, n = whole[:4096], np.array([4096], np.uint32)
    stop = False

    def change() -> None:
        while not stop:
            n[0] = 1 << 19
            n[0] = 4096

    other = threading.Thread(target=change)
    other.start()
    try:
        for _ in range(300):
            try:
                kernel(a, n, grid=32, threadgroup=32)
            except KernelFault:
                assert not whole[4096:].any()
    finally:
        stop = True
        other.join()
    assert not whole[4096:].any()


def test_what_this_thread_learns_says_nothing_about_another_lanes_value():
    text = """kernel void k(device const uint* a, device float* b, uint i [[thread_position_in_grid]]) {
      uint x = a[i], y = simd_shuffle_xor(x, 1); if (x < 4) b[y] = 1; }"""
    assert proved(text, [np.arange(32, dtype=np.uint32), np.zeros(4, F)], 32, 32) == (1, 2)


def test_data_is_never_believed():
    text = "kernel void k(device const int* at, device float* b, uint i [[thread_position_in_grid]]) { b[at[i]] = 1; }"
    at = np.arange(2000, dtype=np.int32)
    made = program(text, "k")
    made.run(launch([at, np.zeros(2000, F)], 2000, 32))
    at[1234] = 2000
    with pytest.raises(KernelFault):
        made.run(launch([at, np.zeros(2000, F)], 2000, 32))


ENDLESS = """kernel void k(device atomic_uint* a, device const float* x, constant uint& n, uint i [[thread_position_in_grid]]) {
  float s = 0;
  while (atomic_load_explicit(a, memory_order_relaxed) == 0) for (uint j = 0; j < n; j++) s += x[j] * float(atomic_load_explicit(a, memory_order_relaxed));
  atomic_store_explicit(a, uint(s), memory_order_relaxed); }"""


@pytest.mark.parametrize("n", [4, 0])
def test_a_proved_kernel_that_never_ends_is_stopped(n):
    arrays = [n_(0), np.zeros(4, F), n_(n)]
    done, all = proved(ENDLESS, arrays, 32, 32)
    assert done == all
    start = time.perf_counter()
    with pytest.raises(KernelFault, match="still running"):
        program(ENDLESS, "k").run(launch(arrays, 32, 32), timeout=0.2)
    assert time.perf_counter() - start < 5


def test_a_long_loop_is_not_called_short():
    text = "kernel void k(device float* a, constant uint& n, uint i [[thread_position_in_grid]]) { float s = i; for (uint j = 0; j < n; j++) s = s * 0.5f + a[j & 3]; a[i & 3] = s; }"
    p = prover(text)
    for n, short in ((1000, True), (4_000_000_000, False)):
        found = p.prove(facts(p, [np.zeros(4, F), n_(n)], 32, 32))
        assert bool(found.loops) is short
    with pytest.raises(KernelFault, match="still running"):
        program(text, "k").run(launch([np.zeros(4, F), n_(4_000_000_000)], 32, 32), timeout=0.2)


# ---- at random -----------------------------------------------------------------------------------------------


class Maker:
    """Kernels that do nothing but find an index in a roundabout way."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = ["x", "y", "n", "m"]

    def term(self) -> str:
        return self.random.choice([*self.names, str(self.random.choice((0, 1, 2, 3, 7, 8, 16, 31)))])

    def expression(self, depth: int = 2) -> str:
        if depth == 0 or self.random.random() < 0.25:
            return self.term()
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        shape = self.random.choice(
            ("({a} + {b})", "({a} + {b})", "({a} * {b})", "({a} - {b})", "({a} % {b})", "({a} / {b})", "({a} & {b})",
             "({a} | {b})", "({a} ^ {b})", "({a} >> ({b} & 7))", "({a} << ({b} & 3))", "min({a}, {b})", "max({a}, {b})",
             "select({a}, {b}, {a} > {b})", "({a} & 65535)", "uint(max(int({a}) - int({b}), 0))", "({a} < {b} ? {a} : {b})")
        )  # fmt: skip
        return shape.format(a=a, b=b)

    def condition(self) -> str:
        compare = self.random.choice(("<", "<=", ">", ">=", "!=", "=="))
        cast = self.random.choice(("", "", "int"))
        return f"{cast}({self.expression(1)}) {compare} {cast}({self.expression(1)})"

    def body(self, depth: int) -> str:
        lines = []
        for _ in range(self.random.randint(1, 3)):
            what = self.random.random()
            if what < 0.35 or depth == 0:
                lines.append(f"a[{self.expression()}] += 1;")
            elif what < 0.55:
                name = f"v{len(self.names)}"
                lines.append(f"uint {name} = {self.expression()};")
                self.names.append(name)
            else:
                inner, kept = "", list(self.names)
                if what < 0.75:
                    head = f"if ({self.condition()}" + (f" && {self.condition()})" if what < 0.65 else ")")
                else:
                    j = f"j{depth}{self.random.randint(0, 999)}"
                    self.names.append(j)
                    step = self.random.choice(
                        ("++", " += 3", " += 16", " += m + 1", " = 2 * {j} + 1")
                    ).format(j=j)
                    start, end = self.term(), self.random.choice(("n", "m", "40", "n * 2"))
                    head = f"for (uint {j} = {start}; {j} < {end}; {j}{step})"
                    if self.random.random() < 0.25:
                        head = (
                            f"for (uint {j} = {end}; {j} > {start}; {j} -= {self.random.choice((1, 1, 2))})"
                        )
                inner = self.body(depth - 1)
                self.names = kept
                lines.append(f"{head} {{ {inner} }}")
        return " ".join(lines)

    def kernel(self) -> str:
        return f"""kernel void k(device atomic_uint* out, device uint* a, constant uint& n, constant uint& m,
  uint x [[thread_position_in_grid]], uint y [[thread_index_in_threadgroup]]) {{ {self.body(2)} }}"""


def check_random(seed: int) -> tuple[int, int]:
    """Launches of one kernel, all guarded; what was proved must not be what faults."""
    text = Maker(seed).kernel()
    ir, signature = scalar_ir(text, "k")
    p = Prover(canonical(ir))
    made = cpu_program(ir, signature, 8)
    choose = random.Random(seed)
    some = whole = 0
    for _ in range(12):
        n, m = choose.choice((0, 1, 5, 16, 31, 64, 100)), choose.choice((0, 1, 2, 8, 33, 4294967295))
        length, grid, group = (
            choose.choice((1, 8, 33, 64, 100, 1024, 40000)),
            choose.choice((1, 8, 40, 77)),
            choose.choice((8, 32)),
        )
        arrays = [np.zeros(1, np.uint32), np.zeros(length, np.uint32), n_(n), n_(m)]
        found = p.prove(facts(p, arrays, grid, group))
        total = sum(access(i) is not None for i in p.function.instructions())
        if not found.accesses:
            continue
        some += 1
        whole += len(found.accesses) == total
        case = launch(arrays, grid, group)
        guarded = made.choice(case, True, False, 1)
        guarded._prover = None  # nothing is proved
        try:
            made.run(case, timeout=2)
            bad = None
        except KernelFault as fault:
            if "still running" in str(fault):
                continue
            bad = fault.finding.location
        if bad is not None:
            suspects = {
                location(p.module, i)
                for block in p.function.blocks
                for number, i in enumerate(block.instructions)
                if access(i) is not None and (block.name, number) not in found.accesses
            }
            assert bad in suspects, f"{text}\nn={n} m={m} length={length} grid={grid} group={group}\n{bad}"
    return some, whole


def test_random_kernels_that_are_proved_do_not_fault():
    results = [check_random(seed) for seed in range(40)]
    assert sum(s for s, _ in results) > 100 and sum(w for _, w in results) > 40


@pytest.mark.fuzz
@pytest.mark.timeout(20000)
def test_many_random_kernels():
    for seed in range(1000, 3000):
        check_random(seed)


def test_a_proof_marks_its_accesses_only():
    text = (
        "kernel void k(device float* a, device float* b, uint i [[thread_position_in_grid]]) { b[i] = a[i]; }"
    )
    module = canonical(scalar_ir(text, "k")[0])
    proof = Proof(
        frozenset(
            {
                ("entry", n)
                for n, i in enumerate(module.function["__mt_entry"].entry.instructions)
                if i.opcode == "load"
            }
        ),
        frozenset(),
    )
    marked = proof.mark(module).function["__mt_entry"]
    assert [i.opcode for i in marked.instructions() if any(k == "mt.proved" for k, _ in i.metadata)] == [
        "load"
    ]


@pytest.mark.parametrize("offset", [0, 4, 1])
def test_large_outputs_are_written_past_the_caches_and_right(offset):
    """Lines, pieces of lines, and neither; the ends of the output are not touched."""
    text = "kernel void k(device const float* a, device float* b, constant uint& n, uint i [[thread_position_in_grid]]) { if (i < n) b[i] = a[i] + 1; }"
    n = (1 << 23) + 100
    a = np.arange(n, dtype=F)
    whole = aligned(n + 128, F)
    whole[:] = 7
    b = whole[offset : offset + n]
    made = program(text, "k")
    made.run(launch([a, b, n_(n - 3)], n, 256), threads=2)
    assert (
        (b[:-3] == a[:-3] + 1).all() and (whole[:offset] == 7).all() and (whole[offset + n - 3 :] == 7).all()
    )
    streams = [claim.proof().streams for *_, claim in made._variants if claim is not None]
    assert any(streams) or offset == 1


def test_stores_past_the_caches_are_written_as_such():
    text = "kernel void k(device float* b, uint i [[thread_position_in_grid]]) { b[i] = 1; }"
    p = prover(text)
    proof = Proof(streams=p.streams([(0, 64)]))
    variant = ((256, 1, 1), False, False, True, False, proof)
    assert "!nontemporal" in vector_code(canonical(scalar_ir(text, "k")[0]), variant, 0, codegen.host()).text


def test_outputs_that_are_read_or_shared_with_atomics_stay_in_the_caches():
    read = "kernel void k(device float* a, uint i [[thread_position_in_grid]]) { a[i] = a[i] * 2; }"
    counted = """kernel void k(device float* a, device atomic_uint* n, uint i [[thread_position_in_grid]]) {
      a[i] = 2; atomic_fetch_add_explicit(n, 1u, memory_order_relaxed); }"""
    assert not prover(read).outputs and not prover(counted).outputs


def in_gangs(part: str, size: int, width: int) -> str:
    """The vector code of a kernel in several gangs: in one, its arrays live in registers."""
    shape, ir = (size, 1, 1), scalar_ir(part, "k")[0]
    return vector_code(sized(ir, shape), (shape, False, False, True, False, None), width, codegen.host()).text


def test_threadgroup_memory_that_is_not_filled_first_starts_as_zeros():
    """In the second threadgroup of a row as well; a variable that is filled before it is read is not cleared."""
    part = """kernel void k(device float* o, uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
      threadgroup float s[64], whole[64]; if (t > 9) s[t] = 5; whole[t] = i; threadgroup_barrier(mem_flags::mem_threadgroup);
      o[i] = s[63 - t] + whole[63 - t]; }"""
    text = in_gangs(part, 64, 32)
    assert text.count("call void @llvm.memset") == 1
    for width in (0, 8, 32, 64):
        o = np.full(64 * 40, -1, F)
        program(part, "k", width).run(launch([o], 64 * 40, 64))
        i = np.arange(64 * 40)
        t = i % 64
        assert (o == np.where(63 - t > 9, 5, 0) + (i - t + 63 - t)).all()


def test_threadgroup_memory_is_cleared_as_far_as_it_is_read():
    """What is read past the stores is zero in every threadgroup, though the one before left numbers there."""
    part = """kernel void k(device float* o, uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
      threadgroup float s[1024]; s[t] = i; threadgroup_barrier(mem_flags::mem_threadgroup);
      o[i] = s[t + 24] + s[3]; threadgroup_barrier(mem_flags::mem_threadgroup); s[t + 24] = 7; s[t + 900] = 7; }"""
    for size in (32, 64):
        text = in_gangs(part, size, 16)
        lengths = re.findall(r"call void @llvm.memset.p0.i64\(ptr align \d+ \S+, i8 0, i64 (\d+),", text)
        assert lengths in (["96"], [str(4 * size + 96)]), lengths
        for width in (0, 8, 32):
            o = np.full(size * 40, -1, F)
            program(part, "k", width).run(launch([o], size * 40, size))
            i = np.arange(size * 40)
            t = i % size
            assert (o == np.where(t + 24 < size, i + 24, 0) + (i - t + 3)).all()


def test_an_index_that_is_proved_though_its_base_is_negative():
    """Only lanes from 5 on get there: their base, lane 0, is before the start."""
    for minus in ("t - 5", "t - n", "(t * 3 - n * 3) / 3"):
        text = f"""kernel void k(device const float* a, device float* b, constant uint& n, uint t [[thread_index_in_threadgroup]]) {{
          if (t >= 5) b[t] = a[{minus}] + a[t - n] * 2; }}"""
        arrays = [np.arange(27, dtype=F), np.zeros(32, F), n_(5)]
        same(text, arrays, 32, 32, widths=(0, 8, 32))


def test_rests_and_choices_do_not_wrap():
    """`i - i / n * n` is what the optimiser makes of a rest: it is no less in any lane than 0."""
    p = prover("""kernel void k(device const float* a, device float* b, constant uint* n, uint i [[thread_position_in_grid]]) {
      b[i] = a[(i / n[0] % n[1] * n[2] + i / (n[0] * n[1])) * n[0] + i % n[0]]; }""")
    for numbers, whole in (((20, 3, 4), 2), ((20, 3, 1 << 30), 1)):
        found = p.prove(facts(p, [np.zeros(240, F), np.zeros(240, F), np.array(numbers, np.uint32)], 240, 64))
        assert len(found.whole) == whole


def test_an_index_that_wraps_more_than_once_is_not_taken_for_whole():
    text = """kernel void k(device const float* a, device float* b, constant uint& n, uint t [[thread_index_in_threadgroup]]) {
      b[t] = a[t * n + 7]; }"""
    p = prover(text)
    for n, whole in ((3, 2), (1 << 30, 1), (4294967295, 1)):  # the index of b is always
        found = p.prove(facts(p, [np.zeros(8 + 31 * 3, F), np.zeros(32, F), n_(n)], 32, 32))
        assert len(found.whole) == whole
    arrays = [np.arange(8 + 31 * 3, dtype=F), np.zeros(32, F), n_(3)]
    same(text, arrays, 32, 32, widths=(0, 8, 32))


def test_one_grid_after_the_other_does_not_mean_code_after_code():
    """What can be proved differs from grid to grid; a grid that comes again earns its own code."""
    text = """kernel void k(device const int* x, device int* y, device const int* z, device const int* w, uint i [[thread_position_in_grid]]) {
        y[i] = x[i] + (x[i] < 5 ? z[i] : 0) + (x[i] < 7 ? w[i] : 0); }"""
    ir, signature = scalar_ir(text, "k")
    kernel = cpu_program(ir, signature)

    def code_after(n: int, z: int, w: int) -> int:
        """How much code there is after a launch of n threads, with so many elements of z and w."""
        x, y = np.arange(n, dtype=np.int32), np.full(n, 77, np.int32)
        kernel.run(launch([x, y, np.ones(z, np.int32), np.ones(w, np.int32)], n, 32))
        assert (y == x + (x < 5) + (x < 7)).all()
        return len(kernel._variants)

    assert [code_after(64, 64, 64), code_after(128, 8, 128)] == [1, 2]  # the first two at once
    assert (
        code_after(192, 192, 8) == code_after(256, 8, 8) == code_after(320, 320, 9) == 3
    )  # one that is guarded
    assert code_after(384, 384, 384) == 3  # of a proof that has code
    assert code_after(192, 192, 8) == 4


PLACES = """long3 places(int at, constant int* shape, constant long* one, constant long* other, constant long* third, int dims) {
  long3 p = 0;
  for (int d = dims - 1; d >= 0 && at > 0; --d) {
    int rest = at % shape[d];
    p.x += rest * one[d]; p.y += rest * other[d]; p.z += rest * third[d];
    at /= shape[d];
  }
  return p; }
kernel void k(device const float* a, device const uint* lhs, device const uint* rhs, device float* o, constant int& dims,
  constant int* shape, constant long* one, constant long* other, constant long* third, uint i [[thread_position_in_grid]]) {
  long3 p = places(i, shape, one, other, third, dims);
  long3 q = places(lhs[p.x], shape, one, other, third, dims);
  long3 r = places(rhs[p.y], shape, one, other, third, dims);
  o[i] = a[q.y] + a[r.z] + a[r.x]; }"""


def test_loops_that_start_from_each_other_are_not_gone_through_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What MLX does to find an element by its strides. It took 60,000 steps, and then nothing was proved."""
    monkeypatch.setattr("metalloid.analysis.intervals.evaluate.BUDGET", 1000)
    assert proved(PLACES, places(), 16, 16)[0] >= 9


def places() -> list[np.ndarray]:
    indices = [np.zeros(64, np.uint32) for _ in range(2)]
    strides = [np.array(s, np.int64) for s in ((4, 1), (1, 4), (0, 1))]
    return [
        np.zeros(64, F),
        *indices,
        np.zeros(64, F),
        np.array([2], np.int32),
        np.array([4, 4], np.int32),
        *strides,
    ]


def test_a_phi_that_takes_too_long_is_given_up_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """MLX's row_reduce_looped: the first such phi took all steps, and half of what can be proved was not."""
    full = proved(PLACES, places(), 16, 16)[0]
    monkeypatch.setattr("metalloid.analysis.intervals.evaluate.SHARE", 5)
    assert 2 <= proved(PLACES, places(), 16, 16)[0] < full  # the store and the number of dimensions


def test_a_signed_remainder_beside_its_quotient_is_proved() -> None:
    """Tiles of MLX are loaded so; the optimiser writes x % 2 as x - x / 2 * 2."""
    text = """kernel void k(device const half* x, device half* y, ushort sg [[simdgroup_index_in_threadgroup]],
  ushort lane [[thread_index_in_simdgroup]]) {
  short t = sg * 32 + lane, row = t / 2, column = 8 * (t % 2);
  for (short n = 0; n < 8; n++) y[row * 16 + column + n] = x[row * 16 + column + n];
}"""
    some = np.zeros(64 * 16, np.float16)
    done, all_ = proved(text, [some, some.copy()], 128, 128)
    assert done == all_ and all_ > 0
    done, _ = proved(text, [some, some[:-1].copy()], 128, 128)
    assert done < all_


LEFT = """kernel void k(device const float* a, device float* out, constant short& n, ushort i [[thread_index_in_threadgroup]]) {
  short row = short(i) / 2, left = n - row;
  if (left > 0) out[row] = a[row];
}"""


def test_what_is_left_says_how_much_was_taken_away() -> None:
    """n - i > 0 in 16 bits, as MLX asks whether a row of a tile is there."""
    arrays = [np.ones(20, F), np.zeros(20, F), n_(20, np.int16)]
    assert proved(LEFT, arrays, 64, 64) == (3, 3)
    assert proved(LEFT, [a[:19] for a in arrays[:2]] + arrays[2:], 64, 64) == (1, 3)


def test_what_is_left_may_be_compared_with_a_longer_number() -> None:
    """A limit of 2^32 + 5 was taken for 5, and the threads up to 50 for none."""
    text = """kernel void k(device int* o, constant ulong& most, constant uint& n, uint i [[thread_position_in_grid]]) {
      uint left = n - i;
      if (ulong(left) < most) { o[i] += 7; if (i < 50) o[i + 100] = o[i + 100] * 3 + 1; } }"""
    for most, taken in (((1 << 32) + 5, 100), (5, 4), (60, 59)):
        arrays = [np.ones(200, np.int32), n_(most, np.uint64), n_(100)]
        i = np.arange(100)
        inside = 100 - i < most
        expected = np.concatenate([np.where(inside, 8, 1), np.where(inside & (i < 50), 4, 1)])
        np.testing.assert_array_equal(same(text, arrays, 100, 20, widths=(0, 8))[0], expected)
        assert inside.sum() == taken


def test_a_part_of_a_launch_has_its_own_proof() -> None:
    p = prover("""kernel void k(device float* out, constant uint& n, uint g [[threadgroup_position_in_grid]],
      uint t [[thread_index_in_threadgroup]], uint i [[thread_position_in_grid]]) {
      if (g * 32 + 32 <= n) out[g * 32 + t] = 1; else if (i < n) out[i] = 2;
    }""")  # fmt: skip
    whole = facts(p, [np.zeros(100, F), n_(100)], 128, 32)
    inside, edge = (replace(whole, part=(part, (0, 1), (0, 1))) for part in ((0, 3), (3, 4)))
    dead = [p.prove(f).dead for f in (whole, inside, edge)]
    assert not dead[0] and len(dead[1]) >= 1 and len(dead[2]) >= 1 and dead[1] != dead[2]


def turning(next: str, places: int, tiles: int, early: str = "") -> str:
    """A tile is filled while another is read. `now` says which."""
    return f"""kernel void k(device const float* a, device float* out, constant uint& n,
  uint t [[thread_position_in_threadgroup]]) {{
  threadgroup float tile[{places}][64];
  uint now = 0;
  float sum = 0;
  tile[0][t] = a[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint at = 0; at < n; at += 64) {{
    uint next = {next};
    if (at + 64 < n) tile[next % {tiles}][t] = a[at + 64 + t];
    for (uint i = 0; i < 4; i++) sum += tile[now][(t + i) % 64];
    {early}
    now = next;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }}
  out[t] = sum; }}"""


TURNS = [
    ("1 - now", 2),
    ("now ^ 1", 2),
    ("now == 0 ? 1 : 0", 2),
    ("now == 2 ? 0 : now + 1", 3),
    ("(now + 1) % 3", 3),
    ("3 - now", 4),
]


@pytest.mark.parametrize(("next", "places"), TURNS)
def test_tiles_that_take_turns_are_proved(next, places):
    arrays = [np.random.default_rng(0).random(256, F), np.full(64, np.nan, F), n_(256)]
    text = turning(next, places, places)
    done, every = proved(text, arrays, 64, 64)
    assert done == every
    expected = sum(np.roll(arrays[0].reshape(4, 64), -i, 1).sum(0) for i in range(4))
    if places < 4:
        np.testing.assert_allclose(same(text, arrays, 64, 64, widths=(0, 16))[1], expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("next", "places"),
    [("2 - now", 2), ("now ^ 2", 2), ("now == 3 ? 0 : now + 1", 3), ("now ^ (at / 64)", 2)],
)
def test_tiles_that_take_more_turns_than_there_are_places_are_not(next, places):
    arrays = [np.ones(256, F), np.zeros(64, F), n_(256)]
    done, every = proved(turning(next, places, places), arrays, 64, 64)
    assert done < every
    if next != "now ^ (at / 64)":
        with pytest.raises(KernelFault, match="tile"):
            program(turning(next, places, places), "k").run(launch(arrays, 64, 64))


def test_a_turn_that_depends_on_data_is_not_proved():
    text = turning("1 - now", 2, 2, early="if (sum > 1e9f) now = 7;").replace("now = next;", "now = 1 - now;")
    arrays = [np.ones(256, F), np.zeros(64, F), n_(256)]
    done, every = proved(text, arrays, 64, 64)
    assert done < every
