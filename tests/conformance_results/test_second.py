"""The second opinion must notice an engine that differs from the oracle, in whatever way it is run."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conformance.results import kept, second
from conformance.results.case import Case, Output, Step, Work, poisoned, summed
from conformance.results.judge import Verdict
from conformance.results.second import second_opinion
from conformance.results.ulps import apart, same_bits
from conformance.results.ways import CHOSEN, FORCED, USUAL, Way, run_in_way, ways
from conformance.results.workers import Died, work_on

from metalloid.source import Source

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
    assert ways(steps, 0) == USUAL
    assert {way.lanes for way in ways(steps, 0, "every")} == {CHOSEN}
    assert second_opinion(case(TOTAL, total, 1e-6)).passed


def test_a_case_and_the_next_take_different_guards() -> None:
    steps = case(PLAIN, lambda x: x).make(np.random.default_rng(0), "small").steps
    one, other = ({w for w in ways(steps, n) if w.lanes} for n in (0, 1))
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


def _task(n: int, dies: int) -> int:
    if n == dies:
        os._exit(3)
    return n * n


def test_a_process_that_dies_takes_only_its_task_with_it() -> None:
    assert dict(work_on(_task, 5, (2,), 2)) == {0: 0, 1: 1, 2: Died(3), 3: 9, 4: 16}
