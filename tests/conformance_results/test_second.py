"""The second opinion must notice an engine that differs from the oracle, in whatever way it is run."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conformance.results import kept, opinion_page, record, second
from conformance.results.case import Case, Output, Step, Work, poisoned, summed
from conformance.results.judge import Verdict
from conformance.results.second import second_opinion
from conformance.results.ulps import apart, same_bits
from conformance.results.ways import CHOSEN, FORCED, OTHERS, USUAL, Way, run_in_way, ways
from conformance.results.workers import Died, work_on

from metalloid.backends.cpu.build import Vectors
from metalloid.source import Source
from metalloid.transforms import canonicalize

HEAD = "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device const float* x, device float* out, "
PLAIN = "uint i [[thread_position_in_grid]]) { out[i] = x[i] * 2; }"
TOTAL = "uint i [[thread_position_in_grid]]) { out[i] = simd_sum(x[i]); }"


def case(
    body: str, expected: Callable[[Any], Any], tolerance: float = 0.0, ulps: float | None = None
) -> Case:
    def make(rng: np.random.Generator, size: str) -> Work:
        x = rng.standard_normal(64).astype(np.float32)
        out = poisoned(64)
        step = Step(Source(HEAD + body), "k", (x, out), (32, 1, 1), (2, 1, 1))
        return Work((step,), (Output("out", out, expected(x), tolerance, ulps=ulps),))

    return Case("tests", "tests", "k", make)


def total(x: Any) -> Any:
    return np.repeat(x.reshape(2, 32).astype(np.float64).sum(1), 32)


def test_an_engine_that_agrees_is_run_at_every_width() -> None:
    verdict = second_opinion(case(PLAIN, lambda x: x * 2))
    assert verdict.passed and verdict.ulps == 0 and verdict.backend == "both"
    assert verdict.ways == len(USUAL) + len([n for n in FORCED if n < 64])


def test_simdgroup_operations_have_one_width() -> None:
    steps = case(TOTAL, total, 1e-6).make(np.random.default_rng(0), "small").steps
    assert ways(steps, 0) == USUAL and ways(steps, 1) == OTHERS
    assert {way.lanes for way in ways(steps, 0, "every")} == {CHOSEN}
    assert second_opinion(case(TOTAL, total, 1e-6)).passed


def test_a_case_and_the_next_take_different_guards() -> None:
    steps = case(PLAIN, lambda x: x).make(np.random.default_rng(0), "small").steps
    one, other = ({w for w in ways(steps, n) if w.lanes} for n in (0, 1))
    assert all({w.tier for w in tried} == {"good", "baseline", "plain"} for tried in (USUAL, OTHERS))
    assert [(w.guards, w.backwards) for w in USUAL] == [(w.guards, w.backwards) for w in OTHERS]
    assert not one & other and {w.lanes for w in one} == {w.lanes for w in other}


def spoiled(monkeypatch: pytest.MonkeyPatch, wrong: Way, change: Callable[[Any], None]) -> None:
    def run(step: Step, way: Way) -> None:
        run_in_way(step, way)
        if way == wrong:
            change(step.arguments[1])

    monkeypatch.setattr(second, "run_in_way", run)


def nudge(out: Any) -> None:
    out[3] = np.nextafter(out[3], np.float32(np.inf))


def test_one_bit_in_one_way_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    spoiled(monkeypatch, USUAL[2], nudge)
    verdict = second_opinion(case(PLAIN, lambda x: x * 2))
    assert not verdict.passed
    assert f"engine ({USUAL[2]})" in verdict.reason and "element 3" in verdict.reason
    assert "1 of 8 ways" in verdict.reason


def test_a_sum_may_be_off_by_its_ulps(monkeypatch: pytest.MonkeyPatch) -> None:
    spoiled(monkeypatch, USUAL[0], nudge)
    assert second_opinion(case(TOTAL, total, 1e-6, ulps=summed(32))).passed
    assert not second_opinion(case(TOTAL, total, 1e-6, ulps=0)).passed


def test_the_engine_is_held_against_the_reference_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def far(out: Any) -> None:
        out[0] += np.float32(1)

    spoiled(monkeypatch, USUAL[0], far)
    assert "expected" in second_opinion(case(TOTAL, total, 1e-6, ulps=1e9)).reason


def test_a_wrong_oracle_is_told_as_such() -> None:
    assert second_opinion(case(PLAIN, lambda x: x)).reason.startswith("oracle: 'out'")


def test_a_fault_of_the_engine_is_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(step: Step, way: Way) -> None:
        raise KeyError("insertvalue")

    monkeypatch.setattr(second, "run_in_way", run)
    assert "KeyError: 'insertvalue'; 8 of 8 ways" in second_opinion(case(PLAIN, lambda x: x * 2)).reason


def test_distances() -> None:
    one = np.array([1, -2, 0, np.nan], np.float32)
    assert same_bits(one, one.copy())
    assert not same_bits(one, np.array([1, -2, -0.0, np.nan], np.float32))
    other = np.array([1 + 2.0**-23, -2, 2.0**-22, np.nan], np.float32)
    assert apart(one, other).tolist() == [0.5, 0, 1, 0]
    assert apart(np.array([1, 2]), np.array([1, 3])).tolist() == [0, np.inf]
    assert apart(one, np.zeros(4, np.float32))[3] == np.inf
    assert apart(np.array([1 + 1j]), np.array([1 + 2j])).tolist() == [0, 2.0**52]


def test_verdicts_are_found_again_for_the_same_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "LINES", tmp_path / "verdicts.jsonl")
    one = case(PLAIN, lambda x: x * 2)
    key = kept.key_of(one, False)
    verdict = Verdict("tests", "tests", "k", "both", ("k",), ways=9)
    kept.keep(key, verdict)
    with kept.LINES.open("a") as file:
        file.write('{"key": "half')
    assert kept.known() == {key: verdict}
    assert key == kept.key_of(case(PLAIN, lambda x: x * 2), False)
    assert key != kept.key_of(case(PLAIN, lambda x: x * 3), False)
    assert key != kept.key_of(case(TOTAL, lambda x: x * 2), False)
    assert key != kept.key_of(replace(one, order="race"), False)


def test_each_way_runs_code_of_its_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    """What users get is good code, or baseline code; what only tests get is made soonest."""
    made: list[tuple[int, int, bool]] = []
    compile = Vectors.compile

    def noted(self: Vectors, variant: Any, baseline: bool = False, check: Any = None) -> Any:
        made.append((self.width, self.level, baseline))
        return compile(self, variant, baseline, check)

    monkeypatch.setattr(Vectors, "compile", noted)
    steps = case(PLAIN.replace("2", "3"), lambda x: x * 3).make(np.random.default_rng(0), "small").steps
    for way in (*USUAL, Way(8, "none")):
        run_in_way(steps[0], way)
    assert made == [(0, 1, False), (0, 1, True), (0, 0, False), (0, 0, False), (8, 0, False)]


def test_a_kernel_is_made_canonical_once_for_all_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    canonical = canonicalize.canonical

    def noted(ir: str) -> Any:
        asked.append(ir)
        return canonical(ir)

    monkeypatch.setattr(canonicalize, "canonical", noted)
    assert second_opinion(case(PLAIN.replace("2", "5"), lambda x: x * 5)).ways > 4
    assert len(asked) == 1


def test_the_oldest_verdict_comes_first_and_the_page_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "RECORD", tmp_path / "second.json")
    monkeypatch.setattr(opinion_page, "PAGE", tmp_path / "page.md")
    cases = [replace(case(PLAIN, lambda x: x), name=n, family=f) for f in "fg" for n in "abc"]
    labels = [c.label for c in cases]

    def told(label: int, **more: Any) -> Verdict:
        c = cases[label]
        return Verdict(c.suite, c.family, c.name, "both", ways=9, **more)

    assert [c.label for c in record.oldest_first(cases, "P")] == [labels[n] for n in (0, 3, 1, 4, 2, 5)]
    record.add("P", "1111111", [told(0), told(3, ulps=2.0)])
    record.add("P", "2222222", [told(1, reason="the engine\ngives 1"), told(0)])
    record.add("Q", "2222222", [told(5)])
    record.add("P", "2222222", [told(2, reason="OutOfTime: compiling takes longer than 20 s")])
    assert [c.label for c in record.oldest_first(cases, "P")] == [labels[n] for n in (4, 2, 5, 3, 1, 0)]
    record.drop_others(labels)
    opinion_page.write(cases)
    page = opinion_page.PAGE.read_text()
    assert "3 of 6 cases run, in 27 ways together: 2 agree, 1 of them in every bit; 1 differ." in page
    assert "Verdicts: 2 of commit 2222222, 1 of commit 1111111." in page
    assert "| tests | f | 3 | 2 | 1 | 1 |" in page and f"- {labels[1]}: the engine gives 1" in page
    record.drop_others(labels[:1])
    assert list(record.load("P")) == labels[:1] and record.processors() == ["P", "Q"]


def _task(n: int, dies: int) -> int:
    if n == dies:
        os._exit(3)
    return n * n


def test_a_process_that_dies_takes_only_its_task_with_it() -> None:
    assert dict(work_on(_task, 5, (2,), 2)) == {0: 0, 1: 1, 2: Died(3), 3: 9, 4: 16}


def test_no_task_begins_when_time_is_over() -> None:
    assert dict(work_on(_task, 5, (9,), 1, time.monotonic() + 60)) == {n: n * n for n in range(5)}
    assert dict(work_on(_task, 5, (9,), 1, time.monotonic() - 1)) == {}
