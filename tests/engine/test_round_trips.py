"""How often the text of a module is parsed and printed on the way of one kernel, from clang to machine code.

The model reads clang's IR and writes the scalar IR that is kept, and LLVM reads the vector code. Between the two a
kernel is a module, also where it is cut at barriers and where it has a `switch`; a later start reads what was kept.
"""

from __future__ import annotations

import sys
from collections import Counter

import llvmlite.binding as llvmlite
import numpy as np
import pytest

import metalloid as mt
from metalloid import llvm
from metalloid.errors import NotVectorised
from metalloid.frontend import compile_kernel
from metalloid.ir import read, read_once
from metalloid.ir.intrinsics import ENTRY
from metalloid.source import Source
from metalloid.transforms.canonicalize import canonical

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
PLAIN = "kernel void k(device float* x, uint i [[thread_position_in_grid]]) { x[i] = x[i] * 3 + 1; }"
TREE = """kernel void k(device float* x, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[1024]; s[t] = x[t]; threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = 512; d > 0; d /= 2) { if (t < d) s[t] += s[t + d]; threadgroup_barrier(mem_flags::mem_threadgroup); }
    x[t] = s[0]; }"""

SWITCH = """kernel void k(device float* x, uint i [[thread_position_in_grid]]) {
    switch (int(x[i]) % 4) { case 0: x[i] = 1; break; case 1: x[i + 0] *= 3; break; case 2: x[i] = x[0]; } }"""


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch, tmp_path) -> Counter[str]:
    """Every time that text is parsed or printed, by who does it."""
    monkeypatch.setenv("METALLOID_CACHE_DIR", str(tmp_path))
    other = mt.device("cpu").library(HEAD + PLAIN.replace("3", "4"))["k"]
    other(np.ones(1024, np.float32), grid=1024, threadgroup=1024)  # the runtime, once for a process
    seen: Counter[str] = Counter()

    def count(where: object, name: str, called: str) -> None:
        function = getattr(where, name)

        def counted(*arguments, **named):
            seen[called] += 1
            return function(*arguments, **named)

        monkeypatch.setattr(where, name, counted)

    count(llvm, "parse", "LLVM parses")
    count(llvm.Module, "__str__", "LLVM prints")
    count(llvmlite, "parse_assembly", "LLVM parses")
    count(llvmlite.ModuleRef, "__str__", "LLVM prints")
    count(sys.modules["metalloid.ir.read"]._Reader, "module", "the model reads")
    count(sys.modules["metalloid.ir.write"], "_lines", "the model writes")
    return seen


@pytest.mark.parametrize(("text", "most"), [(PLAIN, 3), (TREE, 3), (SWITCH, 3)])
def test_trips_of_a_kernel(trips: Counter[str], text: str, most: int) -> None:
    x = np.arange(1024, dtype=np.float32)
    mt.device("cpu").library(HEAD + text)["k"](x, grid=1024, threadgroup=1024)
    assert x[0] == (523776 if text == TREE else 1)
    assert trips["LLVM parses"] == 1  # or nothing was counted
    assert sum(trips.values()) <= most, trips


@pytest.mark.parametrize("text", [PLAIN, TREE, SWITCH])
def test_the_passes_get_what_they_would_read(text: str) -> None:
    kernel = compile_kernel(Source(HEAD + text), "k", fresh=True)
    assert read_once(kernel.ir) == read(kernel.ir)


BROKEN = f"""define void @{ENTRY}() {{
  br i1 %c, label %a, label %b
a:
  %x = add i32 1, 2
  br label %b
b:
  %y = add i32 %x, 1
  ret void
}}
"""


@pytest.mark.parametrize("text", [BROKEN.replace("%x, 1", "%z, 1"), BROKEN.replace("%c", "%x"), BROKEN])
def test_values_that_are_not_made_are_refused(text: str) -> None:
    """LLVM said so when it read the text; now the model does."""
    with pytest.raises(NotVectorised, match="does not dominate"):
        canonical(text)


def test_a_way_that_nobody_goes_is_not_looked_at() -> None:
    assert len(canonical(BROKEN.replace("%c", "true")).function[ENTRY].blocks) == 3
