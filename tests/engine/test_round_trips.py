"""How often the text of a module is parsed and printed on the way of one kernel, from clang to machine code.

The model reads clang's IR and writes the scalar IR that is kept; LLVM reads that, cleans it up and prints it, and the
model reads it; where a kernel is cut at barriers its regions go there and back once more; LLVM reads the vector code.
"""

from __future__ import annotations

import sys
from collections import Counter

import llvmlite.binding as llvm
import numpy as np
import pytest

import metalloid as mt
from metalloid.errors import NotVectorised
from metalloid.transforms.canonicalize import tidy

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
PLAIN = "kernel void k(device float* x, uint i [[thread_position_in_grid]]) { x[i] = x[i] * 3 + 1; }"
TREE = """kernel void k(device float* x, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float s[1024]; s[t] = x[t]; threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = 512; d > 0; d /= 2) { if (t < d) s[t] += s[t + d]; threadgroup_barrier(mem_flags::mem_threadgroup); }
    x[t] = s[0]; }"""


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
            if not arguments or arguments[0] != "":  # an engine begins with an empty module
                seen[called] += 1
            return function(*arguments, **named)

        monkeypatch.setattr(where, name, counted)

    count(llvm, "parse_assembly", "LLVM parses")
    count(llvm.ModuleRef, "__str__", "LLVM prints")
    count(sys.modules["metalloid.ir.read"]._Reader, "module", "the model reads")
    count(sys.modules["metalloid.ir.write"], "_lines", "the model writes")
    return seen


@pytest.mark.parametrize(("text", "most"), [(PLAIN, 6), (TREE, 10)])
def test_trips_of_a_kernel(trips: Counter[str], text: str, most: int) -> None:
    x = np.arange(1024, dtype=np.float32)
    mt.device("cpu").library(HEAD + text)["k"](x, grid=1024, threadgroup=1024)
    assert x[0] == (1 if text == PLAIN else 523776)
    assert trips["LLVM parses"] >= 2  # or nothing was counted
    assert sum(trips.values()) <= most, trips


BROKEN = """define void @__mt_entry() !dbg !4 {
  br i1 true, label %a, label %b
a:
  %x = add i32 1, 2, !dbg !5
  br label %b
b:
  %y = add i32 %x, 1, !dbg !5
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, runtimeVersion: 0, emissionKind: FullDebug)
!1 = !DIFile(filename: "a", directory: "b")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "f", scope: !1, file: !1, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DILocation(line: 1, column: 2, scope: !4)
"""


def test_a_broken_module_with_lines_is_refused() -> None:
    """LLVM's reader would end the process: it was parsed twice for that, once without its lines."""
    with pytest.raises(NotVectorised, match="does not dominate"):
        tidy(BROKEN, first=True)
