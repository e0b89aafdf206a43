"""Sums of a thread's own neighbours, lane after lane, in kernels whose lanes run side by side."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends import patience
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.backends.cpu.lower.sums_in_turn import InTurn, sums_in_turn
from metalloid.backends.cpu.pipeline import sized, vector_code
from metalloid.compile import scalar
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.verify import misplaced
from metalloid.source import Source
from metalloid.targets import TargetInfo, aarch64, x86
from metalloid.transforms.canonicalize import canonical
from metalloid.transforms.partial_sums import is_total
from metalloid.transforms.split_sums import split
from tests.engine.both import LESSER, WIDE, launch

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
THREADS, BLOCK = 150, 40  # bytes of a block: a half, 32 bytes, and others between them and the next
ARGUMENTS = (
    "(device const block* a, device const float* x, device const uint* at, device float* out,"
    " uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]])"
)
STRUCT = "struct block { half d; uchar q[32]; ushort left[3]; };\n"
SUM = "for (uint j = 0; j < 32; j++) s += "
# Each has a sum of 32 products, and something that all lanes of a SIMD-group do together.
BODIES = {
    "bytes": f"float s = 0; {SUM} float(a[i].q[j]) * x[i % 7 * 32 + j]; out[i] = s + 0 * simd_sum(s);",
    "nibbles": "float s = 1; for (uint j = 0; j < 16; j++) { s += float(int(a[i].q[j] & 15) - 8) * x[i % 7 * 32 + j];"
    " s += float(int(a[i].q[j] >> 4) - 8) * x[i % 7 * 32 + 16 + j]; } out[i] = simd_max(s);",
    "some": f"float s = 0; if (lane % 3 != 1) {{ {SUM} float(a[i].q[j]) * x[i % 7 * 32 + j]; }} out[i] = simd_sum(s);",
    "scaled": f"float f = a[i].d, s = 0; {SUM} f * float(a[i].q[j]) * x[i % 7 * 32 + j]; out[i] = simd_sum(s);",
    "loop": f"float t = 0; for (uint k = 0; k < i % 5; k++) {{ float s = 0; {SUM} float(a[i].q[j]) * x[k * 32 + j];"
    " t += s; } out[i] = simd_sum(t);",
    "found": f"uint b = at[i]; float s = 0; {SUM} float(a[b].q[j]) * x[b % 7 * 32 + j]; out[i] = simd_sum(s);",
    "again": f"float s = 0; {SUM} float(a[i].q[j]) * x[i % 7 * 32 + j]; s = simd_sum(s);"
    " out[i] = s + a[i].q[3] + x[i % 7 * 32];",
    "own": f"float s = 0, m = x[i % 7 * 32]; {SUM} x[i % 7 * 32 + j] * 2 > m ? float(a[i].q[j]) : m;"
    " out[i] = simd_sum(s);",
    "halves": f"half s = 0; {SUM} half(a[i].q[j] & 1) * half(x[i % 7 * 32 + j] > 0); out[i] = simd_max(s);",
}  # fmt: skip


def text(name: str) -> str:
    return f"{HEAD}{STRUCT}kernel void {name}{ARGUMENTS} {{ {BODIES[name]} }}\n"


def among(found: np.ndarray, how: str) -> np.ndarray:
    """Each thread's result of its SIMD-group."""
    groups = [found[n : n + 32] for n in range(0, len(found), 32)]
    return np.concatenate([np.full(len(g), getattr(g, how)()) for g in groups])


def expected(name: str, q: np.ndarray, d: np.ndarray, x: np.ndarray, at: np.ndarray) -> np.ndarray:
    i = np.arange(THREADS)
    q, wide, rows = q.astype(np.float64), x.astype(np.float64), i % 7
    short = wide[: 7 * 32].reshape(7, 32)
    plain = (q * short[rows]).sum(1)
    parted = np.concatenate([np.mod(q[:, :16], 16), q[:, :16] // 16], axis=1) - 8
    return {
        "bytes": plain,
        "nibbles": among(1 + (parted * short[rows]).sum(1), "max"),
        "some": among(np.where(i % 32 % 3 != 1, plain, 0), "sum"),
        "scaled": among(d.astype(np.float64) * plain, "sum"),
        "loop": among(np.array([sum((q[n] * short[k]).sum() for k in range(n % 5)) for n in i]), "sum"),
        "found": among((q[at] * short[at % 7]).sum(1), "sum"),
        "again": among(plain, "sum") + q[:, 3] + short[rows, 0],
        "own": among(np.where(2 * short[rows] > short[rows, :1], q, short[rows, :1]).sum(1), "sum"),
        "halves": among((np.mod(q, 2) * (short[rows] > 0)).sum(1), "max"),
    }[name]


def blocks(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a = rng.integers(0, 256, (THREADS, BLOCK), np.uint8)
    d = rng.uniform(-2, 2, THREADS).astype(np.float16)
    a[:, :2] = d.view(np.uint8).reshape(-1, 2)
    return a, a[:, 2:34], d


@pytest.mark.parametrize("name", BODIES)
def test_sums_are_right_and_the_same_in_all_code(name: str) -> None:
    rng = np.random.default_rng(11)
    a, q, d = blocks(rng)
    x, at = rng.uniform(-1, 1, 512).astype(np.float32), rng.integers(0, THREADS, THREADS, np.uint32)
    right, first = expected(name, q, d, x, at), None
    for guard, group, good in product((True, "robust", False), (32, 64, 96), (False, True)):
        kernel = mt.device("cpu").library(text(name), math="fast")[name]
        out = np.full(THREADS, np.nan, np.float32)
        with patience.measuring() if good else nullcontext(), warnings.catch_warnings():
            warnings.simplefilter("error")  # that there is no vector code
            kernel(a, x, at, out, grid=THREADS, threadgroup=group, guard=guard)
        first = out if first is None else first
        np.testing.assert_allclose(out, right, rtol=2e-4, atol=2e-3, err_msg=str((guard, group, good)))
        assert out.tobytes() == first.tobytes(), (guard, group, good)


@pytest.mark.parametrize("target", [aarch64.NEON, x86.AVX2, x86.AVX512], ids=lambda t: t.name)
@pytest.mark.parametrize("name", ["bytes", "nibbles", "some", "found"])
def test_they_are_chosen_from_the_text(name: str, target: TargetInfo) -> None:
    ir = scalar(Source(text(name), math="fast"), name)[0]
    assert len(sums_in_turn(canonical(ir), target).sums) == 1
    exact = scalar(Source(text(name), math="safe"), name)[0]
    assert sums_in_turn(canonical(exact), target) == InTurn()  # nobody may reorder them


def test_a_sum_whose_lanes_are_neighbours_stays_as_it_is() -> None:
    near = text("bytes").replace("a[i].q[j]", "x[i + j]").replace("x[i % 7 * 32 + j]", "x[600 + j]")
    ir = scalar(Source(near, math="fast"), "bytes")[0]
    assert sums_in_turn(canonical(ir), x86.AVX512) == InTurn()


def test_one_lane_loads_its_neighbours_at_once() -> None:
    ir, size = scalar(Source(text("bytes"), math="fast"), "bytes")[0], (64, 1, 1)
    code = vector_code(sized(ir, size), (size, False, False, False, False, None), 0, WIDE).text
    assert "load <16 x i8>" in code and "load <16 x float>" in code and "gather" not in code


# Loops along a thread's own row, in kernels whose lanes do something together.
ROWS = {
    "dot": "float s = 0; for (uint j = 0; j < n; j++) s += float(a[i * n + j]) * x[j]; out[i] = s + 0 * simd_sum(s);",
    "pair": "float s = 1; for (uint j = 0; j < n; j++) s += float(a[i * n + j]) * x[i % 7 * n + j];"
    " out[i] = simd_sum(s);",
    "two": "float s = 0, q = 0; for (uint j = 0; j < n; j++) { float v = a[i * n + j]; s += v; q += v * v; }"
    " out[i] = simd_sum(s) * simd_max(q);",
    "less": "float s = 0; for (int j = 0; j < int(n); j++) s -= float(a[int(i * n) + j]) * x[j]; out[i] = simd_sum(s);",
    "ragged": "float s = 0; uint m = n - i % 3; for (uint j = 0; j < m; j++) s += float(a[i * n + j]) * x[j];"
    " out[i] = simd_sum(s);",
    "nested": "float s = 0; for (uint k = 0; k < 2 + i % 2; k++) { float t = 0; for (uint j = 0; j < n; j++)"
    " t += float(a[i * n + j]) * x[k * n + j]; s += t * t; } out[i] = simd_sum(s);",
    "last": "float s = 0, v = 0; for (uint j = 0; j < n; j++) { v = a[i * n + j]; s += v * x[j]; }"
    " out[i] = simd_sum(s) + v;",
    "tiles": "threadgroup float t[96]; t[i % 96] = x[i]; threadgroup_barrier(mem_flags::mem_threadgroup); float s = 0;"
    " for (uint j = 0; j < n; j++) s += float(a[i * n + j]) * x[j]; out[i] = s + 0 * t[(i + 1) % 96];",
}  # fmt: skip


def row_text(name: str) -> str:
    arguments = "(device const half* a, device const float* x, device float* out, constant uint& n,"
    where = " uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]])"
    return f"{HEAD}kernel void {name}{arguments}{where} {{ {ROWS[name]} }}\n"


def of_rows(name: str, a: np.ndarray, x: np.ndarray, n: int) -> np.ndarray:
    i, wide = np.arange(THREADS), x.astype(np.float64)
    table = a[: THREADS * n].astype(np.float64).reshape(THREADS, n)
    plain = table @ wide[:n]
    pairs = np.array([table[k] @ wide[k % 7 * n : k % 7 * n + n] for k in i])
    ends = np.array([table[k, : n - k % 3] @ wide[: n - k % 3] for k in i])
    nested = np.array([sum((table[t] @ wide[k * n : k * n + n]) ** 2 for k in range(2 + t % 2)) for t in i])
    return {
        "dot": plain,
        "pair": among(1 + pairs, "sum"),
        "two": among(table.sum(1), "sum") * among((table**2).sum(1), "max"),
        "less": among(-plain, "sum"),
        "ragged": among(ends, "sum"),
        "nested": among(nested, "sum"),
        "last": among(plain, "sum") + table[:, -1],
        "tiles": plain,
    }[name]


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("n", [3, 16, 81, 150])
def test_rows_are_right_and_the_same_in_all_code(name: str, n: int) -> None:
    rng = np.random.default_rng(n)
    a, x = (
        rng.uniform(-1, 1, THREADS * n).astype(np.float16),
        rng.uniform(-1, 1, 8 * n + THREADS).astype(np.float32),
    )
    right, first = of_rows(name, a, x, n), None
    # A number in memory that is written as well: nothing is proved with it.
    counts = np.full(THREADS + 1, np.nan, np.float32)
    counts.view(np.uint32)[THREADS] = n
    for guard, group, known in product((True, "robust", False), (32, 96), (True, False)):
        kernel = mt.device("cpu").library(row_text(name), math="fast")[name]
        out = np.full(THREADS, np.nan, np.float32) if known else counts[:THREADS]
        number = np.uint32(n) if known else counts[THREADS:].view(np.uint32)
        with patience.measuring() if guard is True else nullcontext(), warnings.catch_warnings():
            warnings.simplefilter("error")
            kernel(a, x, out, number, grid=THREADS, threadgroup=group, guard=guard)
        first = out.copy() if first is None else first
        np.testing.assert_allclose(out, right, rtol=2e-3, atol=2e-3, err_msg=str((guard, group, known)))
        assert out.tobytes() == first.tobytes(), (guard, group, known)


@pytest.mark.parametrize("name", ROWS)
def test_loops_are_chosen_from_the_text(name: str) -> None:
    module = canonical(scalar(Source(row_text(name), math="fast"), name)[0])
    ((row, counts),) = sums_in_turn(module, x86.AVX512).rows.items()
    for way in ("in turn", "in memory"):
        made = module.with_function(split(module.function[ENTRY], row, counts, way))
        assert sum(is_total(i) for i in made.function[ENTRY].instructions()) == len(counts) * len(row.sums)
        assert not misplaced(made.function[ENTRY])


def test_a_threadgroup_array_that_lives_in_registers_is_read_by_lanes() -> None:
    body = """threadgroup float s[64]; s[t] = a[i]; threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t < 32) s[t] += s[t + 32]; threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t < 16) s[t] += s[t + 16]; threadgroup_barrier(mem_flags::mem_threadgroup);
        float r = 0; for (uint j = 0; j < 16; j++) r += s[t % 4 * 16 + j] * a[i * 16 + j]; o[i] = r;"""
    where = "uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]"
    kernel = mt.device("cpu").library(
        f"{HEAD}kernel void k(device const float* a, device float* o, {where}) {{ {body} }}", math="fast"
    )["k"]
    a, out = (np.arange(256 * 16) * 7 % 11 - 5).astype(np.float32), np.full(256, np.nan, np.float32)
    with patience.measuring():
        kernel(a, out, grid=256, threadgroup=64)
    s = a[:256].reshape(4, 64).copy()
    s[:, :32] += s[:, 32:]
    s[:, :16] += s[:, 16:32]
    rows = s.reshape(4, 4, 16)[:, np.arange(64) % 4].reshape(256, 16)
    np.testing.assert_array_equal(out, (rows * a.reshape(256, 16)).sum(1))


PAIRS = f"""{HEAD}kernel void k(device const T* a, device const T* b, device T* out, constant uint& width,
  constant uint& n, constant uint& m, uint2 p [[thread_position_in_grid]]) {{
    if (p.x >= m || p.y >= n || p.x % 7 == 3) return;
    T sum = 0;
    for (uint k = 0; k < width; k++) {{
        T d = a[p.y * width + k] - b[p.x * width + k]; sum += d * d; }}
    out[p.y * m + p.x] = sum; }}"""


@pytest.mark.parametrize("kind", ["float", "half"])
@pytest.mark.parametrize("group", [(8, 8), (20, 20), (5, 3), (32, 1), (64, 2)])
def test_totals_of_several_lanes(kind: str, group: tuple[int, int]) -> None:
    """Whole gangs, the last ones of a grid, and lanes that have left."""
    rng, dtype = np.random.default_rng(5), {"float": np.float32, "half": np.float16}[kind]
    kernel = mt.device("cpu").library(PAIRS.replace("T ", f"{kind} ").replace("T*", f"{kind}*"), math="fast")[
        "k"
    ]
    for n, m, width in ((29, 37, 32), (16, 64, 16), (7, 130, 50), (9, 20, 5)):
        a, b = (rng.integers(-2, 3, (rows, width)).astype(dtype) for rows in (n, m))
        apart = a[:, None].astype(np.float64) - b
        right = (apart**2).sum(2)
        right[:, np.arange(m) % 7 == 3] = 77
        with patience.measuring():
            for guard in (True, False):
                out = np.full((n, m), 77, dtype)
                for _ in range(2):
                    kernel(
                        a,
                        b,
                        out,
                        np.uint32(width),
                        np.uint32(n),
                        np.uint32(m),
                        grid=(m, n),
                        threadgroup=group,
                        guard=guard,
                    )
                np.testing.assert_array_equal(out, right, err_msg=str((n, m, width, guard)))


def test_two_lanes_are_halved_as_one() -> None:
    """Eight lanes side by side, and the gang's 32 in four rounds."""
    ir, size = scalar(Source(text("bytes"), math="fast"), "bytes")[0], (64, 1, 1)
    code = vector_code(sized(ir, size), (size, False, False, False, False, None), 0, WIDE).text
    assert "%totals" in code and "%turns" not in code and "store <8 x float>" in code
    assert code.count("fadd <16 x float>") >= 7


@pytest.mark.parametrize("level", LESSER)
def test_totals_on_lesser_processors(level: str) -> None:
    ir, signature = scalar(Source(PAIRS.replace("T ", "float ").replace("T*", "float*"), math="fast"), "k")
    made, rng = cpu_program(ir, signature, target=codegen.limited(level)), np.random.default_rng(6)
    for n, m, width in ((16, 64, 16), (9, 37, 50)):
        a, b = (rng.integers(-2, 3, (rows, width)).astype(np.float32) for rows in (n, m))
        right = ((a[:, None] - b) ** 2).sum(2)
        right[:, np.arange(m) % 7 == 3] = 77
        for _ in range(2):
            out = np.full((n, m), 77, np.float32)
            arrays = [a, b, out, *(np.uint32([number]) for number in (width, n, m))]
            made.run(launch(arrays, (m, n), (8, 4)), guard=False)
            np.testing.assert_array_equal(out, right)
