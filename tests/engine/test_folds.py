"""The greatest and the least of a thread's row, many at a time: rows of any length, NaN, infinities, several folds."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu.pipeline import vector_code
from metalloid.transforms.canonicalize import canonical
from tests.engine.both import WIDE, same, scalar_ir

RNG = np.random.default_rng(41)
TEXT = """kernel void k(device const {t}* a, device const {t}* b, device float* o, constant int& n,
  uint i [[thread_position_in_grid]]) {{ {body} }}"""
LENGTHS = (0, 1, 3, 15, 16, 17, 33, 64, 70, 127, 130)
THREADS = 21
FORMS = {
    "max": "float m = -INFINITY; for (int j = 0; j < n; j++) m = max(m, float(a[i * n + j])); o[i] = m;",
    "fabs": "float m = 0; for (int j = 0; j < n; j++) m = fmax(m, fabs(float(a[i * n + j]) * 0.5f)); o[i] = m;",
    "both": "float m = a[i * n], l = m; for (int j = 0; j < n; j++) { float x = a[i * n + j]; m = max(m, x); l = min(l, x); } o[i] = m; o[i + 32] = l;",
    "of half": "half m = half(a[i * n]); for (int j = 0; j < n; j++) m = max(m, half(a[i * n + j])); o[i] = float(m);",
    "a choice": "float m = -5; for (int j = 0; j < n; j++) { float x = a[i * n + j]; m = x > m ? x : m; } o[i] = m;",
    "where": "float m = -5; int at = -1; for (int j = 0; j < n; j++) { float x = a[i * n + j]; if (x > m) { m = x; at = j; } } o[i] = m; o[i + 32] = at;",
    "and the last": "float m = -1, x = 0; for (int j = 0; j < n; j++) { x = a[i * n + j] * 2; m = max(m, x + 1); } o[i] = m; o[i + 32] = x;",
    "max and min in turn": "float m = -1; for (int j = 0; j < n; j++) { m = max(m, a[i * n + j]); m = min(m, b[j]); } o[i] = m;",
    "of the greatest so far": "float m = -1, q = -2; for (int j = 0; j < n; j++) { m = max(m, a[i * n + j]); q = max(q, m); } o[i] = m; o[i + 32] = q;",
    "backwards": "float m = -1; for (int j = 0; j < n; j++) m = max(m, a[i * n + (n - 1 - j)]); o[i] = m;",
    "sixteen": "float m = a[i * 16]; for (int j = 0; j < 16; j++) m = max(m, a[i * 16 + j]); float l = m; for (int j = 0; j < 16; j++) l = min(l, b[(i & 3) * 16 + j]); o[i] = m; o[i + 32] = l;",
    "first asked behind": "float m = -1; int j = 0; do { m = max(m, a[i * n + j]); j++; } while (j < n); o[i] = m;",
    "integers": "int m = -3; for (int j = 0; j < n; j++) m = max(m, int(a[i * n + j])); o[i] = m;",
}  # fmt: skip
NEVER_NAN = ("a choice", "where", "max and min in turn", "integers")


def arrays(n: int, type: type, odd: tuple[float, ...] = ()) -> list[np.ndarray]:
    a, b = ((RNG.standard_normal(count) * 20).astype(type) for count in (32 * 140, 256))
    if odd:
        at = RNG.integers(0, a.size, a.size // 6)
        a[at] = RNG.choice(odd, at.size)
        a[:: max(n, 1)] = a[::16] = 1.5  # the first of each row is a number
    return [a, b, np.full(64, 77, np.float32), np.int32([n])]


@pytest.mark.parametrize("form, math", [*((form, "fast") for form in FORMS), ("fabs", "safe")])
def test_rows_of_any_length(form, math):
    text = TEXT.format(t="float", body=FORMS[form])
    for at, n in enumerate(LENGTHS):
        guard = False if n != 70 else "robust"
        odd = (np.inf, -np.inf, -0.0, 0.0, *([] if form in NEVER_NAN else [np.nan]))[: 9 * (at % 3)]
        same(text, arrays(n, np.float32, odd), THREADS, THREADS, guard=guard, math=math)


def test_both_tiers():
    text = TEXT.format(t="float", body=FORMS["both"])
    same(text, arrays(70, np.float32), THREADS, 20, baseline=True, math="fast")


def test_rows_of_halves():
    for n in (1, 17, 70, 127):
        text = TEXT.format(t="half", body=FORMS["of half"])
        same(text, arrays(n, np.float16, (np.inf, np.nan)), THREADS, THREADS, guard="robust", math="fast")


def test_what_is_no_number_is_passed_by_unless_it_is_the_first():
    text = TEXT.format(t="float", body=FORMS["both"])
    a, b, o, n = arrays(70, np.float32)
    table = a[: THREADS * 70].reshape(THREADS, 70)
    table[:, 5:66:3] = np.nan
    table[3, 0] = np.nan
    for math in ("fast", "safe"):
        got = same(text, [a, b, o, n], THREADS, THREADS, math=math)[2]
        others = [r for r in range(THREADS) if r != 3 or math == "safe"]
        np.testing.assert_array_equal(got[others], np.nanmax(table, 1)[others])
        np.testing.assert_array_equal(got[32:][others], np.nanmin(table, 1)[others])


@pytest.mark.parametrize("math, step", [("fast", "fcmp"), ("safe", "maxnum")])
def test_sixty_four_at_a_time(math, step):
    """Four registers, each the greatest of its own."""
    module = canonical(scalar_ir(TEXT.format(t="float", body=FORMS["max"]), "k", math)[0])
    code = vector_code(module, ((64, 1, 1), False, False, True, False, None), 0, WIDE).text
    assert code.count(f"{step} ") + code.count(f".{step}.") >= 64
