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


def test_a_function_constant_without_a_value_is_no_zero() -> None:
    divides = """constant int rows [[function_constant(0)]];
constant int all = is_function_constant_defined(rows) ? rows : 2;
kernel void k(device int* out, uint i [[thread_position_in_grid]]) { int n = rows; out[i] = 64 / n + 64 / all; }
"""
    assert not lint_source(Source(divides)).diagnostics
    wrong = lint_source(Source(divides.replace("64 / n", "64 / 0"))).diagnostics
    assert [d.rule for d in wrong] == ["M621"]
