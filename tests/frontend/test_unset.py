"""Twins of private variables: what is left of them in checked code, and whose are not made."""

from __future__ import annotations

import pytest

from metalloid.compile import scalar
from metalloid.frontend.unset.lines import bits, elements, parse
from metalloid.ir.intrinsics import UNSET
from metalloid.source import Source

HEAD = """#include <metal_stdlib>
using namespace metal;
struct Held { thread float* p; };
kernel void k(device float* out, device const float* x, constant int& n, uint i [[thread_position_in_grid]]) {
"""
TOLD = f"(i32 {UNSET},"


@pytest.mark.parametrize(
    ("body", "told", "twins"),
    [
        ("float a[4]; for (int k = 0; k < 4; k++) a[k] = x[k]; out[i] = a[1] + a[2];", False, False),
        ("float a[4]; a[0] = x[i]; out[i] = a[0] + a[2];", True, False),
        ("float a[4]; for (int k = 0; k < n; k++) a[k] = x[k]; out[i] = a[n];", True, True),
        ("float a[4]; Held h; h.p = a; h.p[n] = 1; out[i] = a[1];", False, False),  # its address is elsewhere
        ("float a[4] = {}; a[n] = 1; out[i] = a[1];", False, False),
    ],
    ids=["set", "known to be unset", "asked when it runs", "not followed", "declared with a value"],
)
def test_what_is_left_in_checked_code(body: str, told: bool, twins: bool):
    ir, _ = scalar(Source(f"{HEAD}{body}\n}}"), "k", checked=True)
    assert (TOLD in ir) == told and ("%mt_s." in ir) == twins, ir


def test_plain_code_has_none():
    ir, _ = scalar(Source(f"{HEAD}float a[4]; a[0] = x[i]; out[i] = a[0] + a[2];\n}}"), "k")
    assert TOLD not in ir and "mt_s." not in ir


def test_lines_are_taken_apart():
    store = parse("  store [2 x i32] %10, ptr %a.ascast, align 8, !dbg !157")
    assert store and (store.form, store.type, store.value, store.of) == (
        "store",
        "[2 x i32]",
        "%10",
        "%a.ascast",
    )
    gep = parse("  %p = getelementptr inbounds nuw [8 x float], ptr %a, i64 0, i64 %k, !dbg !1")
    assert gep and (gep.form, gep.of, gep.index) == ("gep", "%a", "i64 %k")
    taken = parse('  %8 = extractvalue %"struct.metal::vec" %7, 2, !dbg !1')
    assert taken and (taken.of, taken.type, taken.index) == ("%7", '%"struct.metal::vec"', ", 2")
    assert parse("for.end:  ; preds = %entry") is None
    assert elements("{ float, [4 x i8], %struct.P }") == ["float", "[4 x i8]", "%struct.P"]
    assert [bits(t) for t in ("i8", "half", "[3 x float]", "<2 x half>", "ptr", "i1")] == [
        8,
        16,
        96,
        32,
        0,
        0,
    ]
