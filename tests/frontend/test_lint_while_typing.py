"""A text of many kernels is looked at as a whole while somebody types: the same mistakes, soon."""

from __future__ import annotations

import pytest

from metalloid.frontend import lint, lint_source, lint_while_typing
from metalloid.source import Source

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
MANY = HEAD + "".join(
    f"kernel void k{n}(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {{ x[i] = {n}; }}\n"
    for n in range(lint.FEW + 3)
)


def test_mistakes_are_those_of_lint():
    for right, wrong in (
        ("= 4;", "= four;"),
        ("uint i [[thread_position_in_grid]]) { x[i] = 5", "uint i) { x[i] = 5"),
    ):
        source = Source(MANY.replace(right, wrong))
        assert source.text != MANY
        found = lint_while_typing(source).diagnostics
        assert [(d.rule, d.line, d.column) for d in found] == [
            (d.rule, d.line, d.column) for d in lint_source(source).diagnostics
        ]
    assert lint_while_typing(Source(MANY)).kernels == lint_source(Source(MANY)).kernels


def test_no_kernel_is_compiled_for_itself(monkeypatch: pytest.MonkeyPatch):
    compiled = []
    monkeypatch.setattr(lint, "compile_entry", lambda parsed, name, constants, **rest: compiled.append(name))
    assert lint_while_typing(Source(MANY)).diagnostics == ()
    assert compiled == []
    lint_while_typing(Source(HEAD + MANY.split("\n")[2] + "\n"))
    assert compiled == ["k0"]
