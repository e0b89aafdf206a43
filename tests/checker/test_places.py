"""Findings point at the user's own line and column, whatever the front end and the compiler did to the text."""

from __future__ import annotations

import re

import numpy as np
import pytest

import metalloid as mt
from metalloid.frontend.moved import with_places
from metalloid.ir import read
from metalloid.ir.debug import location
from tests.checker.triplet import HEADER, compiled, floats


def pointed(text: str, *arguments: object, **sizes: object) -> list[str]:
    """What the line says from the column of each finding and of its other side on."""
    report = mt.check(compiled(HEADER + text), *arguments, **sizes)
    sides = [side for f in report.findings for side in (f, f.other) if side is not None]
    return [side.excerpt[side.location.column - 1 :] for side in sides if side.location]


def test_columns_after_a_threadgroup_declaration_on_the_same_line():
    text = """kernel void turn(device float* x, uint i [[thread_position_in_threadgroup]]) {
        threadgroup float t[64]; t[i] = x[i]; x[i] = t[63 - i];
    }"""
    write, read_ = pointed(text, floats(64), grid=64, threadgroup=64)
    assert write.startswith("t[i] = x[i];") and read_.startswith("t[63 - i];")


def test_columns_after_literals_and_macros():
    text = """#define FAR(p, k) p[(k) + 1000]
    kernel void far(device half* h, device float* x, uint i [[thread_position_in_grid]]) {
        h[i] = 1.5h * 2h; x[i] = FAR(x, i); h[i + 64] = 3h;
    }"""
    found = pointed(text, np.ones(64, np.float16), floats(64), grid=64)
    assert sorted(at[:6] for at in found) == ["FAR(x,", "h[i + "]


def test_a_fault_of_a_guarded_run_points_there_too():
    text = """kernel void far(device float* x, uint i [[thread_position_in_grid]]) {
        threadgroup float t[64]; t[i] = 1; x[i + 64] = t[i];
    }"""
    with pytest.raises(mt.KernelFault) as raised:
        compiled(HEADER + text)(floats(64), grid=64, threadgroup=64)
    finding = raised.value.finding
    assert finding.excerpt[finding.location.column - 1 :].startswith("x[i + 64]")


LOST = """struct Sizes { uint n; uint step; };
kernel void lost(device float* x, constant Sizes& s, uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < s.n; k += s.step)
        sum += x[k];
    x[i] = sum;
}"""


@pytest.mark.parametrize(
    "entry", [False, True], ids=["no place", "a place in the text that calls the kernel"]
)
def test_an_access_without_a_place_gets_the_nearest_of_the_users(entry: bool):
    ir = compiled(HEADER + LOST).checked_ir
    called = next(re.finditer(r"^(![0-9]+) = (?!.*inlinedAt).*DILocation\(.*$", ir, re.MULTILINE))[1]
    lost = [
        re.sub(r", !dbg ![0-9]+", f", !dbg {called}" if entry else "", line)
        if re.search(r"= load |^  store ", line)
        else line
        for line in ir.split("\n")
    ]
    module = with_places(read("\n".join(lost)))
    accesses = [i for i in module.function["__mt_entry"].instructions() if i.opcode in ("load", "store")]
    found = [location(module, i) for i in accesses]
    lines = {at.line - HEADER.count("\n") for at in found if at}
    assert len(found) >= 3 and None not in found and lines <= {4, 5, 6}
    assert {at.file for at in found if at} == {"kernel.metal"}
