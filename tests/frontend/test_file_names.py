"""Files with any name: messages, findings and what was included are known by it, at the right line and column."""

from __future__ import annotations

import json

import numpy as np
import pytest

import metalloid as mt
from metalloid.frontend.unit import unescaped
from metalloid.ir.debug import unquoted
from metalloid.ir.lines import lined

NAMES = (
    "plain.metal",
    "two words.metal",
    "größe ü.metal",
    "核.metal",
    "back\\slash.metal",
    "octal\\303.metal",
)
OUTSIDE = "kernel void f(device float* x, uint i [[thread_position_in_grid]]) { x[i + 1] = 1; }\n"


@pytest.mark.parametrize("name", NAMES)
def test_messages_and_findings_are_at_their_column(tmp_path, name):
    file = tmp_path / name
    file.write_text("kernel void f(device float* x) { x[0] = foo; }\n")
    with pytest.raises(mt.CompileError) as caught:
        mt.device().library(file)["f"](np.zeros(4, np.float32), grid=4)
    (said,) = caught.value.diagnostics
    assert (said.file, said.line, said.column) == (str(file), 1, 41)
    file.write_text(OUTSIDE)
    kernel = mt.device().library(file)["f"]
    report = mt.check(kernel, np.zeros(4, np.float32), grid=4)
    (found,) = [finding for finding in report.findings if finding.rule == "M102"]
    assert found.location.file == str(file)
    assert (found.location.line, found.location.column) == (1, OUTSIDE.index("x[i + 1]") + 1)
    assert "x[i + 1] = 1" in found.excerpt


def test_a_file_that_is_included_is_known_by_its_name(tmp_path):
    """What was compiled is made anew when it changes."""
    (tmp_path / "zahl ü.h").write_text("#define N 3\n")
    (tmp_path / "a.metal").write_text('#include "zahl ü.h"\nkernel void f(device int* x) { x[0] = N; }\n')
    for value in (3, 4):
        (tmp_path / "zahl ü.h").write_text(f"#define N {value}\n")
        x = np.full(1, -1, np.int32)
        mt.device().library(tmp_path / "a.metal")["f"](x, grid=1)
        assert x[0] == value


def test_names_are_read_as_clang_and_llvm_write_them():
    assert unescaped(r"a\303\274 \"b\" \\.metal") == 'a\u00fc "b" \\.metal'
    assert unquoted(r'"a\C3\BC\5C.metal"') == "a\u00fc\\.metal"
    text = """define void @f() !dbg !2 {
  ret void, !dbg !1
}
!1 = !DILocation(line: 7, column: 3, scope: !2)
!2 = distinct !DISubprogram(name: "f", file: !3)
!3 = !DIFile(filename: "\\C3\\BC.metal", directory: "/tmp")
"""
    assert json.dumps([str(place.file) for place in lined(text).places if place]) == json.dumps(
        ["/tmp/ü.metal"]
    )
