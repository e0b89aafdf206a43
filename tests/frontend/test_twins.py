"""The source rules: each mistake gives its rule and no other, and its twin compiles."""

from __future__ import annotations

import pytest

from tests.frontend.test_hints import HEAD, compile_all, errors

# Rule, a wrong body, the same put right.
PAIRS = [
    ("M601", "x[i] = 2 * x[i]", "x[i] = 2 * x[i];"),
    ("M601", "if (i > 3 { x[i] = 1; }", "if (i > 3) { x[i] = 1; }"),
    ("M602", "x[i] = sqroot(x[i]);", "x[i] = sqrt(x[i]);"),
    ("M602", "float total = 0; x[i] = totl;", "float total = 0; x[i] = total;"),
    ("M603", "x[threadIdx.x] = 1;", "x[i] = 1;"),
    ("M603", "__shared__ float s[32]; s[i] = x[i];", "float s[32]; s[i % 32] = x[i]; x[i] = s[i % 32];"),
    ("M604", "x[i.x] = 1;", "x[i] = 1;"),
    ("M604", "uint j = i.y; x[j] = 1;", "uint j = i; x[j] = 1;"),
    (
        "M605",
        "half h = x[i]; bfloat b = h; x[i] = b;",
        "half h = x[i]; bfloat b = bfloat(float(h)); x[i] = b;",
    ),
    ("M605", "bfloat16 b = bfloat16(x[i]); x[i] = b;", "bfloat b = bfloat(x[i]); x[i] = float(b);"),
    ("M606", "for (uint k = 0; k < {N}; k++) x[i] += 1;", "for (uint k = 0; k < 16; k++) x[i] += 1;"),
    ("M606", "x[i] = {scale} * x[i];", "float scale = 2; x[i] = scale * x[i];"),
]


@pytest.mark.parametrize(("rule", "wrong", "right"), PAIRS)
def test_a_mistake_gives_its_rule_and_its_twin_compiles(rule: str, wrong: str, right: str) -> None:
    assert {d.rule for d in errors(f"{HEAD}{wrong}\n}}\n")} == {rule}
    compile_all(f"{HEAD}{right}\n}}\n")


def test_every_rule_of_the_design_has_two_pairs() -> None:
    counts = [
        sum(rule == number for rule, _, _ in PAIRS)
        for number in ("M601", "M602", "M603", "M604", "M605", "M606")
    ]
    assert counts == [2] * 6
