"""Rows that are known to be short: lanes walk along them side by side, four rounds at once, and add up as threads alone
do."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest

import metalloid as mt
from metalloid.analysis.intervals import SHORT
from metalloid.analysis.intervals.prove import Prover
from metalloid.analysis.intervals.values import Facts
from metalloid.backends import interpret, patience
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.ir import write
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.verify import verify
from metalloid.records import replace
from metalloid.transforms.canonicalize import canonical
from metalloid.transforms.partial_sums import rows
from metalloid.transforms.short_rows import with_short
from tests.engine.both import WIDE, launch, program, scalar_ir

RNG = np.random.default_rng(71)
HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
TEXT = (
    HEAD
    + "kernel void k(device const {kind}* a, device const {kind}* b, device float* out, device {kind}* made,"
    " constant int& n, uint i [[thread_position_in_grid]]) {{ float s = 0, q = 0, p = 0; {body} out[i] = s + q - p; }}\n"
)
# Three sums; from the end; every second; sums and what they are for; two loops that write; the greatest and its place.
BODIES = {
    "three": "for (int j = 0; j < n; j++) { float x = a[i * n + j], y = b[i * n + j]; s += x * y; q += x * x; p += y * y; }",
    "from the end": "for (int j = 0; j < n; j++) s += float(a[i * n + n - 1 - j]) * float(b[j]);",
    "every second": "for (int j = 0; j < n; j++) s += float(a[2 * (i * n + j)]) * float(b[j]);",
    "scaled": "for (int j = 0; j < n; j++) s += float(a[i * n + j]) * float(a[i * n + j]);"
    " for (int j = 0; j < n; j++) made[i * n + j] = float(a[i * n + j]) * rsqrt(s + 1);",
    "in place": "for (int j = 0; j < n; j++) s += float(made[i * n + j]);"
    " for (int j = 0; j < n; j++) made[i * n + j] = float(made[i * n + j]) + s * float(b[j]);",
    "turned round": "for (int j = 0; j < n; j++) q += float(a[i * n + j]);"
    " for (int j = 0; j < n; j++) made[i * n + n - 1 - j] = float(a[i * n + j]) - q;",
    "least": "s = a[i * n]; for (int j = 0; j < n; j++) { float x = a[i * n + j]; s = min(s, x); q += x; }",
    "place": "float most = a[i * n]; for (int j = 1; j < n; j++) { float x = a[i * n + j]; if (x > most) { most = x; p = j; } } s = most;",
}  # fmt: skip
KINDS = {"float": np.float32, "half": np.float16}


def text(name: str, kind: str = "float") -> str:
    return TEXT.format(kind=kind, body=BODIES[name])


def expected(name: str, a: np.ndarray, b: np.ndarray, made: np.ndarray, n: int, threads: int):
    """What is written, in float64: the numbers, and the rows."""
    a, b, made = (x.astype(np.float64) for x in (a, b, made))
    x, y, z = (v[: threads * n].reshape(threads, n) for v in (a, b, made))
    rows = z.copy()
    if name == "three":
        return (x * y).sum(1) + (x * x).sum(1) - (y * y).sum(1), rows
    if name == "from the end":
        return x[:, ::-1] @ b[:n], rows
    if name == "every second":
        return a[: 2 * threads * n : 2].reshape(threads, n) @ b[:n], rows
    if name == "scaled":
        s = (x * x).sum(1)
        return s, x / np.sqrt(s + 1)[:, None]
    if name == "in place":
        return z.sum(1), z + z.sum(1)[:, None] * b[:n]
    if name == "turned round":
        return x.sum(1), (x - x.sum(1)[:, None])[:, ::-1]
    if name == "least":
        return x.min(1) + x.sum(1), rows
    return x.max(1) - x.argmax(1), rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BODIES)
def test_rows_of_all_lengths_in_every_code(name: str, kind: str) -> None:
    """Proved to be short or not, guarded, in any threadgroup: right, and with the same bits; the number behind a row's
    last is left alone."""
    made = mt.device("cpu").library(text(name, kind), math="fast")["k"]
    for n in (1, 3, 4, 7, 16, 19, 33, 62, 63, 64, 65, 100):
        threads = 75
        a, b, before = (RNG.uniform(-1, 1, 2 * threads * n + 9).astype(KINDS[kind]) for _ in range(3))
        # A number that another buffer holds as well may change while the kernel runs: nothing is proved with it.
        shared = np.append(b, np.array([n], np.int32).view(KINDS[kind]))
        count = shared[-(4 // shared.itemsize) :].view(np.int32)
        known = {"proved": (b, np.int32(n)), "guarded": (shared, count)}
        found = {}
        for guard, way in ((True, "proved"), (True, "guarded"), ("robust", "guarded"), (False, "guarded")):
            for group, good in product((7, 48), (False, True)):
                out, row = np.full(threads, np.nan, np.float32), before.copy()
                with patience.measuring() if good else nullcontext():
                    for _ in range(2 if good else 1):
                        row[...] = before
                        made(
                            a,
                            known[way][0],
                            out,
                            row,
                            known[way][1],
                            grid=threads,
                            threadgroup=group,
                            guard=guard,
                        )
                found[guard, way, group, good] = out.tobytes() + row.tobytes()
        numbers, rows = expected(name, a, b, before, n, threads)
        limit = {"float": 1e-4, "half": 4e-3}[kind] * max(1, n / 16)
        np.testing.assert_allclose(out, numbers, atol=limit, rtol=limit, err_msg=f"{n}")
        np.testing.assert_allclose(
            row[: threads * n].reshape(threads, n).astype(np.float64),
            rows,
            atol=limit,
            rtol=limit,
            err_msg=f"{n}",
        )
        assert (row[threads * n :] == before[threads * n :]).all()
        different = [key for key in found if found[key] != found[True, "proved", 7, False]]
        assert not different, (name, n, different)


@pytest.mark.parametrize("kind", ["constant", "device const"])
def test_a_limit_that_is_loaded_before_each_loop(kind: str) -> None:
    """Of two loads of the launch's number the loop has its own."""
    source = f"""kernel void k(device const float* a, device float* out, {kind} int* n, uint i [[thread_position_in_grid]]) {{
        float s = 0, q = 0; for (int j = 0; j < n[0]; j++) s += a[i * 80 + j]; out[2 * i] = s;
        for (int j = 0; j < n[0]; j++) q += a[i * 80 + j] * a[i * 80 + j]; out[2 * i + 1] = q; }}"""
    made = program(source, "k", 0, "fast")
    a = RNG.uniform(-1, 1, (40, 80)).astype(np.float32)
    for n in (5, 63, 64, 79):
        found = set()
        for guard in ("robust", False, True):
            for _ in range(2):
                out = np.full((40, 2), np.nan, np.float32)
                made.run(launch([a, out, np.int32([n])], 40, 20), guard=guard)
                found.add(out.tobytes())
        x = a[:, :n].astype(np.float64)
        np.testing.assert_allclose(out, np.stack([x.sum(1), (x * x).sum(1)], 1), atol=1e-4)
        assert len(found) == 1, n


@pytest.mark.parametrize("group", [10, 12, 17, 48])
def test_gangs_of_fewer_lanes(group: int) -> None:
    """A launch of ten threads has gangs of 16 lanes, or of 8."""
    made, n = program(text("three").removeprefix(HEAD), "k", 0, "fast"), 19
    a, b, rows = (RNG.uniform(-1, 1, 400).astype(np.float32) for _ in range(3))
    right, _ = expected("three", a, b, rows, n, 10)
    for guard in ("robust", True):
        for _ in range(2):
            out = np.full(10, np.nan, np.float32)
            made.run(launch([a, b, out, rows, np.int32([n])], 10, group), guard=guard)
            np.testing.assert_allclose(out, right, atol=1e-4)


OVER = {
    "the next": "for (int j = 0; j < n; j++) s += b[i * 40 + j]; for (int j = 0; j < n; j++) made[i * 40 + j + 1] = made[i * 40 + j] + s;",
    "another's": "for (int j = 0; j < n; j++) s += b[i * 40 + j]; for (int j = 0; j < n; j++) made[i * 40 + j] = a[i * 40 + j] + s;",
}  # fmt: skip


@pytest.mark.parametrize("name", OVER)
@pytest.mark.parametrize("apart", [True, False])
def test_rows_that_are_read_after_they_are_written(name: str, apart: bool) -> None:
    """Loads go before stores only where no round reads what another has written."""
    source = TEXT.format(kind="float", body=OVER[name]).removeprefix(HEAD)
    made, ir = program(source, "k", 0, "fast"), scalar_ir(source, "k", "fast")[0]
    for n in (2, 7, 20):
        memory = RNG.integers(-9, 9, 4000).astype(np.float32)

        def run(how, memory: np.ndarray, n: int = n) -> np.ndarray:
            start = 1 if not apart else 2000
            a, rows = memory[:1300], memory[start : start + 1300]
            b, out = np.arange(1300, dtype=np.float32) % 7, np.zeros(30, np.float32)
            how(launch([a, b, out, rows, np.int32([n])], 30, 30))
            return np.append(memory, out)

        right = run(lambda asked: interpret.run(ir, asked), memory.copy())
        for _ in range(3):
            np.testing.assert_array_equal(run(made.run, memory.copy()), right, err_msg=f"{name}, {n}")


@pytest.mark.parametrize(("n", "apart", "turned"), [(20, True, True), (20, False, False), (70, True, False)])
def test_what_a_launch_has_to_be_for_it(n: int, apart: bool, turned: bool) -> None:
    """Lanes, where all rows are short and none is read under another name: sums and stores four at once."""
    module = canonical(scalar_ir(text("scaled").removeprefix(HEAD), "k", "fast")[0])
    lengths = dict.fromkeys((0, 1, 2, 3), 1 << 16) | {4: 4}
    facts = Facts((32, 1, 1), (32, 1, 1), (1, 1, 1), lengths, {}, {4: np.int32([n]).tobytes()})
    proof = replace(Prover(module).prove(facts), apart=apart)
    code = vector_code(module, ((32, 1, 1), False, False, True, False, proof), 0, WIDE).text
    assert ("; loops in vectors" not in code) == turned
    assert ("store <4 x float>" in code) == turned


def test_a_loop_for_short_rows_beside_that_for_long_ones() -> None:
    module = canonical(scalar_ir(text("three").removeprefix(HEAD), "k", "fast")[0])
    function = module.function[ENTRY]
    (row,) = rows(function)
    two = with_short(function, row)
    assert two is not None
    made, long, short = two
    verify(module.with_function(made))
    assert {found.header for found in rows(made)} == {long.header, short.header}
    for n, right in ((SHORT - 1, "short"), (SHORT, "long")):
        taken = []
        one, threads = np.ones(SHORT, np.float32), 1
        for block in (long.header, short.header):
            spoiled = _without(made, block)
            out = np.full(threads, np.nan, np.float32)
            arrays = [one, one * 2, out, one.copy(), np.int32([n])]
            interpret.run(write(module.with_function(spoiled)), launch(arrays, threads, threads))
            taken.append(float(out[0]))
        assert taken[right == "long"] == n * (2 + 1 - 4), (n, taken)


def _without(function, header: str):
    """The function with sums of zeros in one loop."""
    block = function.block[header]
    code = [
        replace(i, opcode="fsub", operands=(i.operands[0], i.operands[0])) if i.opcode == "fmul" else i
        for i in block.instructions
    ]
    blocks = tuple(replace(b, instructions=tuple(code)) if b is block else b for b in function.blocks)
    return function.with_blocks(blocks)
