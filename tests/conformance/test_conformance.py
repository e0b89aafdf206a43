"""The conformance run's own parts: what it lists, what it accepts, what it reports."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance.cases import Case
from conformance.check import Outcome, check, problem
from conformance.instantiations import expand
from conformance.mlx_headers import hadamard_radix_m

from conformance import report
from metalloid.source import Source

HEAD = (
    'target triple = "amdgcn-amd-amdhsa"\ndeclare ptr addrspace(1) @__mt_buffer(i32)\ndeclare void @other()\n'
)


def module(body: str) -> str:
    first = "  %p = call ptr addrspace(1) @__mt_buffer(i32 0)"
    return f"{HEAD}define void @__mt_entry() {{\n{first}\n{body}\n  ret void\n}}\n"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("  store float 1.0, ptr addrspace(1) %p", ""),
        ("  %call.i = load float, ptr addrspace(1) %p\n  store float %call.i, ptr addrspace(1) %p", ""),
        ("  store <2 x float> zeroinitializer, ptr addrspace(1) %p", "a vector type is left"),
        ("  %g = addrspacecast ptr addrspace(1) %p to ptr", "an addrspacecast is left"),
        ("  %g = inttoptr i64 8 to ptr\n  store i8 0, ptr %g", "a generic pointer is used"),
        ("  call void @other()", "a call is left"),
        ("  store float 1.0, ptr addrspace(1) %q", "the IR does not verify"),
    ],
)
def test_ir_is_held_against_the_contract(body: str, sentence: str) -> None:
    assert problem(module(body)).startswith(sentence)
    assert bool(problem(module(body))) == bool(sentence)


def case(text: str, **settings: object) -> Case:
    return Case("ggml", "k.metal", "k", ((Source(text), "k"),), **settings)  # type: ignore[arg-type]


GOOD = "kernel void k(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 1.0f; }"


def test_a_kernel_passes_when_one_attempt_compiles() -> None:
    bad, good = Source("kernel void k(device Unknown* x) {}"), Source(GOOD)
    assert check(case(GOOD)).passed
    assert check(Case("ggml", "k.metal", "k", ((bad, "k"), (good, "k")))).passed
    failed = check(case("kernel void k(device float* x) { x[0] = y; }"))
    assert not failed.passed
    assert "'y'" in failed.reason


def test_what_must_be_refused_or_is_invalid_must_say_so() -> None:
    assert not check(case(GOOD, invalid="declared a second time")).passed
    twice = "kernel void k(device float* x) { float a = 1; float a = 2; x[0] = a; }"
    assert check(case(twice, invalid="'a' is declared a second time")).passed
    assert not check(case(twice, invalid="something else")).passed


def test_argument_patterns_expand_to_every_combination() -> None:
    assert expand("float, 3") == ["float, 3"]
    assert expand("{a|b}, {B}") == ["a, true", "a, false", "b, true", "b, false"]


def test_the_hadamard_matrix_is_one() -> None:
    lines = [line for line in hadamard_radix_m().splitlines() if line.startswith("  t[")]
    rows = [[1 if f"+ x[{c}]" in line else -1 for c in range(12)] for line in lines]
    products = {
        (i, j): sum(a * b for a, b in zip(rows[i], rows[j], strict=True))
        for i in range(12)
        for j in range(12)
    }
    assert products == {(i, j): 12 if i == j else 0 for i in range(12) for j in range(12)}


def test_fewer_passes_than_expected_is_a_regression() -> None:
    outcomes = [
        Outcome("ggml", "a.metal", f"k{i}", passed=i > 0, reason="" if i else "no") for i in range(1066)
    ]
    assert report.regressions(outcomes) == ["ggml: 1065 passed, 1066 expected"]
    assert report.counts(outcomes) == {"ggml": (1065, 1066)}
    page = report.page(outcomes, ["a.py, line 3: because"])
    assert "| 1066 | 1065 |" in page
    assert "- `k0` (ggml, a.metal): no" in page
    assert "- a.py, line 3: because" in page


def test_a_suite_alone_changes_its_own_part_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(report, "ROOT", tmp_path)
    bad = [Outcome(suite, "f.h", f"{suite}-kernel", False, "because") for suite in ("ggml", "mlx-nax")]
    report.write_page(bad, [])
    path = tmp_path / "docs/support.md"
    before = path.read_text(encoding="utf-8")
    report.update_page([Outcome("mlx-nax", "f.h", "mlx-nax-kernel", True)])
    after = path.read_text(encoding="utf-8")
    changed = set(before.splitlines()) ^ set(after.splitlines())
    title = report.TITLES["mlx-nax"]
    assert changed == {
        f"| {title} | 1 | 0 |",
        f"| {title} | 1 | 1 |",
        "- `mlx-nax-kernel` (mlx-nax, f.h): because",
    }
    report.update_page(bad)
    assert sorted(path.read_text(encoding="utf-8").splitlines()) == sorted(before.splitlines())
    report.update_page([Outcome(one.suite, one.file, one.kernel, True) for one in bad])
    assert "## Kernels that do not pass\n\nNone.\n\n## Inline" in path.read_text(encoding="utf-8")
