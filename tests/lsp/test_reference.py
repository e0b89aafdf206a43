"""Every word that the compiler's hints know has an explanation, and rule pages read as hover texts."""

from __future__ import annotations

import pytest

from metalloid.frontend.attributes import PARAMETER_ATTRIBUTES
from metalloid.frontend.hints.vocabulary import FUNCTIONS
from metalloid.lsp.names import declarations, definition
from metalloid.lsp.reference import entries, look_up, rule_text
from metalloid.rules import all_rules


def test_every_builtin_and_every_attribute_is_explained() -> None:
    assert set(entries("functions")) >= FUNCTIONS
    assert set(entries("attributes")) >= PARAMETER_ATTRIBUTES
    for kind in ("functions", "attributes", "words"):
        for entry in entries(kind).values():
            assert entry.written and entry.meaning.endswith("."), entry


def test_functions_are_written_with_their_own_name() -> None:
    for entry in entries("functions").values():
        assert f"{entry.name}(" in entry.written.replace("<T>", ""), entry


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("float3", "16 bytes"),
        ("packed_float3", "12 bytes"),
        ("half4", "8 bytes"),
        ("float4x4", "64 bytes"),
        ("float3x3", "48 bytes"),
    ],
)
def test_vectors_tell_their_size(word: str, words: str) -> None:
    entry = look_up(word)
    assert entry is not None and words in entry.meaning


def test_every_rule_has_a_hover_text() -> None:
    for page in all_rules():
        text = rule_text(page.number)
        assert text.startswith(f"**{page.number}: ") and "```" not in text and len(text) > 80
    assert rule_text("M999") == ""


def test_names_are_seen_where_they_can_be() -> None:
    text = """#define N 4
template <typename T> T first(device T* p, uint at) {
    for (uint k = 0; k < N; k++) { p[k] += at; }
    return p[0];
}
[[kernel]] void run(device float* p [[buffer(0)]]) {
    float k = first(p, 1);
    { float k = 2; p[0] = k; }
    p[1] = k;
}
"""
    kinds = {(d.name, d.kind) for d in declarations(text)}
    assert {
        ("N", "macro"),
        ("first", "function"),
        ("run", "kernel"),
        ("at", "parameter"),
        ("k", "variable"),
    } <= kinds
    inner = definition(text, "k", text.index("p[0] = k") + 7)
    outer = definition(text, "k", text.index("p[1] = k") + 7)
    loop = definition(text, "k", text.index("p[k]") + 2)
    assert inner and outer and loop
    assert text[inner.start :].startswith("k = 2") and text[outer.start :].startswith("k = first")
    assert text[loop.start :].startswith("k = 0")
