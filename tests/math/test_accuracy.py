"""Every float function is within Metal's limits, in every mode and type."""

from __future__ import annotations

import re

import mpmath
import numpy as np
import pytest

from metalloid.source import MathMode
from tests.math.cases import CASES, Case, reference
from tests.math.measure import MODES, measure, module
from tests.math.scalar_jit import Kernel, build, compile_text
from tests.math.ulp import BFLOAT, FLOAT, HALF, Format, float_pairs, floats

EXACT = 1 + 1e-6  # what the float64 reference itself may be off


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", [FLOAT, HALF, BFLOAT], ids=lambda f: f.metal)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_error_is_within_the_limit(case: Case, form: Format, mode: MathMode) -> None:
    m = measure(case, form, mode)
    assert m.share <= EXACT, f"{case.name}{m.where} = {m.got!r}, expected {m.expected!r}: {m.worst:.2f} ulp"


@pytest.mark.parametrize("mode", MODES)
def test_only_intrinsics_that_are_instructions_remain(mode: MathMode) -> None:
    allowed = {"sqrt", "fma", "fabs", "floor", "ceil", "trunc", "rint", "copysign", "minnum", "maxnum"}
    allowed |= {
        "ctlz",
        "ldexp",  # one, or two products: see backends/cpu/lower/ops/ldexp.py
        "smin",
        "smax",
        "umin",
        "umax",
        "is",
        "abs",
        "usub",
        "uadd",
        "sadd",
        "ssub",
        "fshl",
        "ucmp",
        "fptosi",  # that stops at the ends: a conversion and a choice
        "fptoui",
    }
    for name in module(mode).calls:
        assert name.startswith("llvm."), name
        assert name.split(".")[1] in allowed, name


def truth(name: str, *x: float) -> float:
    """The function in 1200 bits: enough for sin(FLT_MAX)."""
    with mpmath.workprec(1200):
        return float(getattr(mpmath, name)(*(mpmath.mpf(v) for v in x)))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_the_reference_holds_for_huge_angles(name: str) -> None:
    case = next(c for c in CASES if c.name == name)
    x = floats()
    x = x[np.isfinite(x) & (np.abs(x) > 1e5)][:400]
    exact = np.array([truth(name, float(v)) for v in x])
    np.testing.assert_allclose(reference(case, x), exact, rtol=1e-13)


def test_the_reference_holds_for_powers() -> None:
    case = next(c for c in CASES if c.name == "pow")
    x, y = float_pairs()
    keep = (x > 0) & np.isfinite(x) & np.isfinite(y) & (np.abs(y) < 1e6)
    x, y = x[keep][::300], y[keep][::300]
    exact = np.array([truth("power", float(a), float(b)) for a, b in zip(x, y, strict=True)])
    keep = (exact > 1e-300) & (exact < 1e300)
    np.testing.assert_allclose(reference(case, x[keep], y[keep]), exact[keep], rtol=1e-12)


@pytest.mark.parametrize("mode", ["relaxed", "fast"])
def test_fast_math_does_not_reach_into_the_header(mode: MathMode) -> None:
    """Compensated sums must stay as written: clang needs -fexperimental-strict-floating-point for that."""
    ir = compile_text("[[clang::sycl_external]] float use(float x) { return precise::sin(x); }", mode)
    assert "fma" in ir
    assert not re.search(r"= f(add|sub|mul|div) (fast|reassoc|nnan|nsz|arcp)", ir)


@pytest.mark.parametrize("mode", ["relaxed", "fast"])
def test_precise_functions_are_the_same_in_every_mode(mode: MathMode) -> None:
    names = [case.name for case in CASES if case.arity == 1 and case.plain and not case.integer_result]
    kernels = [Kernel(name, ("float", "float"), f"precise::{name}(a)") for name in names]
    reckless, safe = build(kernels, mode), module("safe")
    x = floats()[np.isfinite(floats())]
    for name in names:
        expected = safe(f"{name}_float", x, dtype="float32")
        keep = np.isfinite(expected)
        np.testing.assert_array_equal(reckless(name, x, dtype="float32")[keep], expected[keep], err_msg=name)
