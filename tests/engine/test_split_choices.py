"""Loads and stores through a pointer that a condition chooses: of any depth, in loops, of memory that is too short."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.backends.cpu.pipeline import vector_stage
from metalloid.errors import KernelFault
from tests.engine.both import WIDE, launch, program, same, scalar_ir

RNG = np.random.default_rng(37)
TEXT = """kernel void k(device const float* a, device const float* b, constant float* c, device float* o, device float* q,
  device const int* f, constant int& n, uint i [[thread_position_in_grid]]) {{
  {body} }}"""
FORMS = {
    "two loads": "o[i] = f[i] > 0 ? a[i] : b[i];",
    "moved": "o[i] = (f[i] > 0 ? a : b)[i + uint(n)];",
    "another space": "o[i] = f[i] > 0 ? a[i] : c[i];",
    "the same for all": "o[i] = n > 0 ? a[i] : c[i & 7];",
    "nested": "o[i] = f[i] > 2 ? a[i] : (f[i] > 0 ? b[i] : (f[i] > -2 ? q[i] : a[i + 1]));",
    "pointers of pointers": "device const float* p = f[i] > 2 ? (f[i] > 3 ? a : b) : (f[i] > 0 ? b : (f[i] > -2 ? (device const float*)q : a + 3)); o[i] = p[i] + p[2 * i];",
    "chosen again": "device const float* p = f[i] > 0 ? a + i : b + 2 * i; p = f[i] > 1 ? p + 1 : (device const float*)q; o[i] = *p;",
    "an index": "int j = f[i] & 1 ? f[i + 1] : int(a[i]) & 63; o[i] = b[j & 127];",
    "two stores": "if (f[i] > 0) o[i] = a[i]; else q[i] = b[i];",
    "three stores": "if (f[i] > 0) o[i] = a[i]; else if (f[i] < -1) q[i] = a[i]; else q[i + 200] = b[i];",
    "read and written": "device float* p = f[i] > 0 ? o : q; p[i] += a[i]; p[i] *= 2;",
    "in a loop": "float s = 0; for (int j = 0; j < n; j++) { device const float* p = f[i + j] > 0 ? a : b; s += p[i + j]; } o[i] = s;",
    "a loop of one block": "float s = 0; for (int j = 0; j < n; j++) s += (f[j] > 0 ? a : b)[j] * float(j); o[i] = s;",
    "turn by turn": "device const float* p = a; device const float* r = b; float s = 0; for (int j = 0; j < n; j++) { s += p[i + j] - 2 * r[i]; device const float* t = p; p = r; r = t; } o[i] = s;",
    "behind a return": "if (f[i] > 3) return; device float* p = f[i] > 0 ? o : q; if (f[i] == 1) { p[i] = 1; return; } p[i] = (f[i] < -2 ? a : b)[i];",
    "more than are split": "o[i] = " + " + ".join(f"(f[i] > {n} ? a : b)[i]" for n in range(-5, 5)) + ";",
}  # fmt: skip


def arrays(sizes=(512, 512, 512, 512, 512), n: int = 7) -> list[np.ndarray]:
    made = [RNG.integers(-9, 9, size).astype(np.float32) for size in sizes]
    return [*made, RNG.integers(-4, 5, 512).astype(np.int32), np.int32([n])]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_each_from_its_own_memory(form):
    for at, (grid, group) in enumerate([(128, 32), (100, 64), (97, 13)]):
        guard = (True, False, "robust")[at % 3]
        given = arrays(n=(7, 0, 1)[at % 3])
        same(TEXT.format(body=form), given, grid, group, guard=guard, widths=(0, 4) if at == 1 else (0,))


@pytest.mark.parametrize("form", ["two loads", "two stores"])
def test_a_side_that_nobody_takes_may_be_too_short(form):
    """`f` chooses the first memory up to thread 39, the second one behind it."""
    given = arrays((40, 128, 512, 128 if form == "two loads" else 40, 128))
    given[5][:] = np.where(np.arange(512) < 40, 1, -1)
    same(TEXT.format(body=FORMS[form]), given, 128, 32, widths=(0, 1, 32), baseline=True)


@pytest.mark.parametrize(
    "form, rule, buffers", [("two loads", "M101", (0, 1)), ("two stores", "M102", (3, 4))]
)
@pytest.mark.parametrize("width", [0, 1, 32])
def test_the_side_that_is_too_short_is_told(form, rule, buffers, width):
    text = TEXT.format(body=FORMS[form])
    for side, sign in enumerate((1, -1)):
        given = arrays((128, 128, 512, 128, 128))
        given[buffers[side]] = given[buffers[side]][:77].copy()
        given[5][:] = -sign
        given[5][[20, 76, 90]] = sign
        with pytest.raises(KernelFault) as caught:
            program(text, "k", width).run(launch(given, 128, 32))
        found = caught.value.finding
        assert (found.rule, found.buffer, found.thread) == (rule, buffers[side], (90, 0, 0))
        assert found.location.line == 5


def test_stores_to_memory_that_overlaps():
    text = TEXT.format(body=FORMS["read and written"])
    whole = RNG.integers(-9, 9, 600).astype(np.float32)
    expected, given = whole.copy(), arrays()
    plus = given[5][:100] > 0
    for i in range(100):  # each thread has elements of its own, in one half or the other
        at = i if plus[i] else 300 + i
        expected[at] = (expected[at] + given[0][i]) * 2
    given[3], given[4] = whole[:400], whole[300:]
    for guard in (True, False, "robust"):
        again = whole.copy()
        given[3], given[4] = again[:400], again[300:]
        program(text, "k").run(launch(given, 100, 32), guard=guard)
        np.testing.assert_array_equal(again, expected)


def test_two_plain_vectors():
    code = vector_stage(scalar_ir(TEXT.format(body=FORMS["two loads"]), "k")[0], (64, 1, 1), WIDE)
    assert "masked.gather" not in code.split("@segment0", 1)[1]
