"""Functions that call themselves, directly or through each other: as many open calls as the stack has frames."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import warnings

import numpy as np
import pytest

import metalloid as mt
from metalloid.backends import interpret
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.pipeline import vector_code
from metalloid.frontend.call_stack import DEPTH
from metalloid.ir import Module
from metalloid.ir.intrinsics import ENTRY
from metalloid.transforms.call_notes import without_notes
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import HEADER, launch, program, scalar_ir

WHO = "uint i [[thread_position_in_grid]]"


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def ackermann(m: int, n: int) -> int:
    return n + 1 if not m else ackermann(m - 1, 1) if not n else ackermann(m - 1, ackermann(m, n - 1))


def steps(n: int) -> int:
    return 0 if n <= 1 else 1 + (steps(n // 2) if n % 2 == 0 else steps(3 * n + 1))


CASES = {
    "two calls": (
        f"int fib(int n) {{ return n < 2 ? n : fib(n - 1) + fib(n - 2); }} kernel void k(device float* o, {WHO}) {{ o[i] = fib(int(i)); }}",
        [fib(i) for i in range(12)],
    ),
    "one in the argument of another": (
        f"int a(int m, int n) {{ if (m == 0) return n + 1; if (n == 0) return a(m - 1, 1); return a(m - 1, a(m, n - 1)); }} kernel void k(device float* o, {WHO}) {{ o[i] = a(i / 4, i % 4); }}",
        [ackermann(i // 4, i % 4) for i in range(12)],
    ),
    "through each other": (
        f"bool odd(uint n); bool even(uint n) {{ return n == 0 ? true : odd(n - 1); }} bool odd(uint n) {{ return n == 0 ? false : even(n - 1); }} kernel void k(device float* o, {WHO}) {{ o[i] = even(i) ? 10 : 20; o[i] += odd(i * 3) ? 1 : 2; }}",
        [(10 if i % 2 == 0 else 20) + (1 if i * 3 % 2 else 2) for i in range(12)],
    ),
    "called from two places, one under a condition": (
        f"int c(int n) {{ if (n <= 1) return 0; return 1 + (n % 2 == 0 ? c(n / 2) : c(3 * n + 1)); }} kernel void k(device float* o, {WHO}) {{ float x = c(int(i) + 1); if (i & 1) x += 100 * c(int(i)); o[i] = x; }}",
        [steps(i + 1) + (100 * steps(i) if i & 1 else 0) for i in range(12)],
    ),
    "with an array and a struct": (
        f"struct P {{ float a; int b; }}; P f(int n, float x) {{ float t[3] = {{x, x + 1, float(n)}}; if (n == 0) return P{{t[1], 0}}; P l = f(n - 1, t[n % 3]); P r = f(n - 1, x * 2); return P{{l.a + r.a + t[2], l.b + r.b + 1}}; }} kernel void k(device float* o, {WHO}) {{ P p = f(int(i & 3), float(i)); o[i] = p.a + 1000 * p.b; }}",
        None,
    ),
    "without a result, writing memory": (
        f"void tower(device float* o, int n, uint at) {{ if (n == 0) return; tower(o, n - 1, at); o[at] += n; tower(o, n - 1, at); }} kernel void k(device float* o, {WHO}) {{ o[i] = 0; tower(o, int(i & 3) + 1, i); }}",
        [sum(n * 2 ** ((i & 3) + 1 - n) for n in range(1, (i & 3) + 2)) for i in range(12)],
    ),
}


@pytest.mark.parametrize("width", (0, 32, 8, 1))
@pytest.mark.parametrize("name", CASES)
def test_gives_what_it_should_on_oracle_and_engine(name, width):
    text, wanted = CASES[name]
    ir, _ = scalar_ir(text, "k")
    expected, got = np.full(12, -1, np.float32), np.full(12, -1, np.float32)
    interpret.run(ir, launch([expected], 12, 12))
    if wanted is not None:
        np.testing.assert_array_equal(expected, wanted)
    program(text, "k", width).run(launch([got], 12, 12))
    np.testing.assert_array_equal(got, expected)


DEEP = (
    HEADER
    + f"float f(int n) {{ return n <= 0 ? 1 : f(n - 1) * 0.5f + f(n - 2); }}\nkernel void k(device float* o, constant int& n, {WHO}) {{\n  o[i] = f(n - int(i & 1) * 100);\n}}"
)


def test_a_call_that_is_too_deep_is_told_at_its_line():
    k = mt.device().library(DEEP, name="deep.metal")["k"]
    out = np.full(8, -1, np.float32)
    k(out, 8, grid=8)
    with pytest.raises(mt.KernelFault, match=r"deep.metal:3.* M614 functions call themselves deeper than 64"):
        k(out, DEPTH + 5, grid=8, timeout=20)


@pytest.mark.parametrize("guard", ("robust", False))
def test_a_call_that_is_too_deep_ends_its_thread_where_no_guard_stops_the_launch(guard):
    """Frames that are taken twice return to each other: the launch did not end, or gave something."""
    k = mt.device().library(DEEP, name="deep.metal")["k"]
    out = np.full(8, -1, np.float32)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        k(out, DEPTH + 5, grid=8, guard=guard, timeout=20)
    assert (out[::2] == -1).all() and (out[1::2] == 1).all()
    if guard:
        assert len(told) == 1 and "M614 functions call themselves deeper" in str(told[0].message)


def test_the_checker_follows_it(monkeypatch: pytest.MonkeyPatch):
    text = HEADER + CASES["without a result, writing memory"][0]
    kernel = mt.device().library(text)["k"]
    assert mt.check(kernel, np.zeros(12, np.float32), grid=12).ok
    wrong = mt.device().library(text.replace("o[at] += n", "o[at + 4] += n"))["k"]
    for engine in ("vector", "oracle"):
        monkeypatch.setenv("METALLOID_CHECK_ENGINE", engine)
        report = mt.check(wrong, np.zeros(12, np.float32), grid=12)
        # Two lanes also write one element; the pointer went through a stack, and its buffer is known all the same.
        assert [(f.rule, f.buffer) for f in report.findings] == [("M102", "o"), ("M206", "o")], report.text()


def test_code_without_guards_notes_no_calls():
    """One that is too deep is noted behind the end of the list: that is for guards to see, and for nobody to do."""
    module = canonical(scalar_ir(DEEP.removeprefix(HEADER), "k")[0])
    plain = without_notes(module)
    assert sum(1 for _ in plain.function[ENTRY].instructions()) < sum(
        1 for _ in module.function[ENTRY].instructions()
    )

    def text(module: Module, guard: bool) -> str:
        return vector_code(module, ((8, 1, 1), False, False, guard, False, None), 0, codegen.host()).text

    assert text(module, False) == text(plain, False)
    assert text(module, True) != text(plain, True)
