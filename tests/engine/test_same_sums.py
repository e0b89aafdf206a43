"""Sums of a thread's own row have the same bits in all code of a kernel: guarded, proved, in any threadgroup."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends import patience
from metalloid.backends.cpu.lower import lane_or_loop
from metalloid.backends.cpu.lower.lane_or_loop import alone
from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.compile import scalar
from metalloid.ir import read, write
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.verify import verify
from metalloid.source import Source
from metalloid.targets import TargetInfo, aarch64, x86
from metalloid.transforms.canonicalize import canonical
from metalloid.transforms.partial_sums import rows
from metalloid.transforms.split_sums import split, splits
from tests.engine.both import WIDE, launch, program

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
# Sums of half rows; the dot of a row and a vector; four a round; differences; two sums; a sum of sums; one behind a
# sum of a block; elements found.
ROWS = {
    "half": "for (uint j = 0; j < n; j++) s += float(a[i * n + j]);",
    "dot": "s = 1; for (uint j = 0; j < n; j++) s += float(a[i * n + j]) * float(a[j]);",
    "four": "for (uint j = 0; j + 3 < n; j += 4) s += float(a[i * n + j]) * float(a[i * n + j + 3]);",
    "int": "for (int j = 0; j < int(n); j++) s -= float(a[int(i * n) + j]);",
    "two": "float q = 0; for (uint j = 0; j < n; j++) { float x = a[i * n + j]; s += x; q += x * x; } s = s * s - q;",
    "tree": "for (uint j = 0; j + 16 <= n; j += 16) { float t = 0; for (uint k = 0; k < 16; k++) {"
    " float x = a[i * n + j + k]; t += x * x; } s += t * float(a[i * n + j]); }",
    "both": "for (uint k = 0; k < 16; k++) s += float(a[i * 16 + k]) * float(a[i * 16 + k]); s = s * s;"
    " for (uint j = 0; j < n; j++) s += float(a[i * n + j]);",
    "found": "for (uint j = 0; j < n; j++) s += float(a[i * n + uint(at[j])]);",
}  # fmt: skip


def text(body: str) -> str:
    return (
        f"{HEAD}kernel void k(device const half* a, device const int* at, device float* out, constant uint& n,"
        f" uint i [[thread_position_in_grid]]) {{ float s = 0; {body} out[i] = s; }}\n"
    )


def kernel(body: str) -> mt.Kernel:
    return mt.device("cpu").library(text(body), math="fast")["k"]


def numbers(n: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(7)
    return random.uniform(-1, 1, (threads + 3) * (n + 1)).astype(np.float16), random.integers(
        0, 9, n, np.int32
    )


def expected(name: str, a: np.ndarray, at: np.ndarray, n: int, threads: int) -> np.ndarray:
    wide = a.astype(np.float64)
    table = wide[: threads * n].reshape(threads, n)
    fours, sixteens = np.arange(0, n - 3, 4), n // 16 * 16
    return {
        "half": table.sum(1),
        "dot": 1 + table @ wide[:n],
        "four": (table[:, fours] * table[:, fours + 3]).sum(1),
        "int": -table.sum(1),
        "two": table.sum(1) ** 2 - (table**2).sum(1),
        "tree": ((table[:, :sixteens] ** 2).reshape(threads, -1, 16).sum(2) * table[:, :sixteens:16]).sum(1),
        "both": (wide[: threads * 16].reshape(threads, 16) ** 2).sum(1) ** 2 + table.sum(1),
        "found": table[:, at].sum(1),
    }[name]


@pytest.mark.parametrize("name", ROWS)
def test_every_code_of_a_kernel_adds_up_alike(name: str) -> None:
    for n in (37, 63, 100, 1000):
        threads, found = 150, {}
        a, at = numbers(n, threads)
        # A number that another buffer holds as well may change while the kernel runs: nothing is proved with it.
        shared = np.append(at, np.int32(n))
        known = {"proved": (at, np.uint32(n)), "guarded": (shared, shared[n:].view(np.uint32))}
        for guard, way in ((True, "proved"), (True, "guarded"), ("robust", "guarded"), (False, "guarded")):
            table, count = known[way]
            made = kernel(ROWS[name])
            for group, good in product((7, 64, 1000), (False, True)):
                out = np.full(threads, np.nan, np.float32)
                with patience.measuring() if good else nullcontext():
                    made(a, table, out, count, grid=threads, threadgroup=group, guard=guard)
                found[guard, way, group, good] = out
        right = expected(name, a, at, n, threads)
        first = found[True, "proved", 7, False]
        assert np.abs(first - right).max() <= 2e-4 * max(1, np.abs(right).max())
        different = [key for key, out in found.items() if out.tobytes() != first.tobytes()]
        assert not different, (name, n, different)


@pytest.mark.parametrize("name", ["half", "dot", "int", "two"])
@pytest.mark.parametrize("target", [aarch64.NEON, x86.AVX2, x86.AVX512], ids=lambda t: t.name)
def test_a_loop_along_a_row_is_split_for_registers_of_any_width(name: str, target: TargetInfo) -> None:
    """Wide registers hold so many sums that the rounds of all were too long, and the loop stayed as it was."""
    module = canonical(scalar(Source(text(ROWS[name]), math="fast"), "k")[0])
    ((row, (counts, ways)),) = (alone(module, target) or {}).items()
    function = module.function[ENTRY]
    assert counts[0] * 4 >= target.vector_bytes
    made = split(function, row, counts, *ways)
    assert all(name in made.block for name in splits(row, counts))


def test_loops_of_work_alone_are_not_looked_at_for_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread alone gains where lanes' loads are far apart: without loads nothing has to be known of lanes."""

    def refuse(*_: object) -> None:
        raise AssertionError("shapes of values are not needed")

    body = (
        "uint h = i; for (uint j = 0; j < n; j++) { h = h * 31 + j; h ^= popcount(h) + (h >> 7); h += h << 3; }"
        " s = float(h);"
    )
    working, reading = (canonical(scalar(Source(text(b), math="fast"), "k")[0]) for b in (body, ROWS["dot"]))
    monkeypatch.setattr(lane_or_loop, "Uniformity", refuse)
    assert alone(working, x86.AVX512) is None
    with pytest.raises(AssertionError, match="not needed"):
        alone(reading, x86.AVX512)


def test_sums_that_fill_one_register_are_put_into_it() -> None:
    """Added up two by two, LLVM takes them two by two all along their loop."""
    block = (
        "struct block { half d; uchar q[16]; };\nkernel void k(device const block* a, device const float* x,"
    )
    body = """ device float* y, constant uint& n, uint r [[thread_position_in_grid]]) {
        float s = 0;
        for (uint b = 0; b < n; b++) {
            float part = 0;
            for (uint j = 0; j < 16; j++) part += float(a[r * n + b].q[j] & 15) * x[b * 16 + j];
            s += float(a[r * n + b].d) * part;
        }
        y[r] = s; }"""
    ir = scalar(Source(HEAD + block + body, math="fast"), "k")[0]
    assert "fadd <8 x float>" in vector_stage(ir, (64, 1, 1), WIDE)


LOOP = """define float @f(ptr %a, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %s = phi float [ 0.0, %entry ], [ %t, %loop ]
  %p = getelementptr float, ptr %a, i32 %i
  %x = load float, ptr %p, align 4
  %t = fadd FLAGS float %s, %x
  %next = add i32 %i, 1
  %end = icmp eq i32 %next, %n
  br i1 %end, label %exit, label %loop
exit:
  %r = phi float [ %t, %loop ]
  ret float %r
}
"""


def test_only_sums_that_may_be_reordered_are_split() -> None:
    fixed = read(LOOP.replace("FLAGS ", "")).function["f"]
    assert rows(fixed) == ()
    kept = LOOP.replace("FLAGS", "reassoc").replace("  %next", "  store float %t, ptr %p, align 4\n  %next")
    assert rows(read(kept).function["f"]) == ()  # every sum on the way is wanted
    module = read(LOOP.replace("FLAGS", "reassoc"))
    (row,) = rows(module.function["f"])
    made = split(module.function["f"], row, (8,))
    text = write(module.with_function(made)).replace("@llvm.partial.total.fadd.float", "@total")
    verify(f"{text}\ndeclare float @total({', '.join(['float'] * 8)})\n")
    assert text.count("load float") == 9


def test_a_counter_that_does_not_hold_so_many_rounds_keeps_its_loop() -> None:
    """Sixteen rounds of 32 are more than a byte: its limit was compared with what was left of 481, which is 225."""
    narrow = LOOP.replace("FLAGS", "reassoc").replace("i32 %n", "i8 %n").replace("phi i32", "phi i8")
    narrow = narrow.replace("i32 %i\n", "i8 %i\n").replace("add i32 %i, 1", "add i8 %i, 32")
    narrow = narrow.replace("eq i8 %next", "ult i8 %next")
    narrow = narrow.replace("label %exit, label %loop", "label %loop, label %exit")
    function = read(narrow).function["f"]
    (row,) = rows(function)
    assert split(function, row, (16,)) is function and split(function, row, (4,)) is not function


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 63, 64, 79, 80, 81, 127, 250])
def test_what_is_left_of_a_row_is_added_up_once(n: int) -> None:
    """First 64 rounds at once, then 16, then one by one: whole numbers tell a round that is missing or there twice."""
    body = "float s = 0; for (uint i = 0; i < w; i++) s += a[r * w + i] * b[i]; o[r] = s; most[r] = w;"
    arguments = (
        "device const float* a, device const float* b, device float* o, device uint* most, constant uint& w,"
        " uint r [[thread_position_in_grid]]"
    )
    made = mt.device("cpu").library(f"{HEAD}kernel void k({arguments}) {{ {body} }}")["k"]
    rng = np.random.default_rng(n)
    a, b = (rng.integers(-9, 10, size).astype(np.float32) for size in ((37, n), (n,)))
    for guard in (True, False):
        out, most = np.full(37, np.nan, np.float32), np.zeros(37, np.uint32)
        given = [x if x.size else np.zeros(1, np.float32) for x in (a, b)]
        with patience.measuring():
            made(*given, out, most, np.uint32(n), grid=37, threadgroup=16, guard=guard)
        np.testing.assert_array_equal(out, a @ b)


def test_rows_of_bfloat_have_vector_code(recwarn: pytest.WarningsRecorder) -> None:
    """Their sums were split like those of halves, which is not how bfloat is computed: LLVM refused the code."""
    body = text(ROWS["half"]).replace("device const half* a", "device const bfloat* a")
    body = body.replace("float s = 0", "bfloat s = 0").replace("float(a[i * n + j])", "a[i * n + j]")
    bits = np.full(64 * 40, 0x3F80, np.uint16)  # 1.0
    out = np.full(64, np.nan, np.float32)
    mt.device("cpu").library(body, math="fast")["k"](
        bits, np.zeros(1, np.int32), out, np.uint32(40), grid=64, threadgroup=32
    )
    np.testing.assert_array_equal(out, 40)
    assert not [w for w in recwarn if "no vector code" in str(w.message)]


REREAD = """kernel void k(device const float* a, device uint* o, device const uint* p,
    uint i [[thread_position_in_grid]]) {
    uint w = p[1]; if (i >= p[0]) return; o[i] = w; float s = 0;
    for (uint k = 0; k < p[1]; k++) s += a[i * w + k];
    o[i] = as_type<uint>(s); }"""
INSIDE = REREAD.replace("s += a[i * w + k];", "{ s += a[i * p[1] + k]; o[i] = k; }")


@pytest.mark.parametrize("text", [REREAD, INSIDE])
def test_parameters_that_are_read_again_change_no_order(text: str) -> None:
    """A proof has one load for them: its loop's limit is another value, and the sum is split as without a proof."""
    n, w = 64, 77
    a = np.random.default_rng(0).standard_normal(n * w).astype(np.float32)
    found = set()
    for guard in (True, False, "robust"):
        for early in (False, True):
            for _ in range(3):
                o = np.zeros(n, np.uint32)
                program(text, "k", 0, "fast", early).run(
                    launch([a, o, np.uint32([n, w])], n, 32), guard=guard
                )
                found.add(o.tobytes())
    assert len(found) == 1
