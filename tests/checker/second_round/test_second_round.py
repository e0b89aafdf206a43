"""Every case of the second round on both engines: the mistake is found, its twin has none, and `ok` agrees with why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.checker.second_round import (
    across,
    advice,
    agreement,
    alarms,
    at_work,
    bindings,
    call_words,
    compaction,
    conditions,
    early,
    encoder_words,
    fences,
    forms,
    histories,
    integers,
    layout,
    mlx_words,
    more_histories,
    numbers,
    outputs,
    places,
    pointers,
    positions,
    progress,
    quiet,
    sentences,
    shared_parts,
    strangers,
    torch_numbers,
    torch_words,
    two_barriers,
    undefined,
    unset,
    well_advised,
)
from tests.checker.second_round.case import Case, report_of

PARTS = (
    agreement,
    early,
    outputs,
    undefined,
    progress,
    quiet,
    sentences,
    shared_parts,
    two_barriers,
    advice,
    bindings,
    forms,
    fences,
    alarms,
    at_work,
    layout,
    numbers,
    integers,
    places,
    pointers,
    positions,
    across,
    compaction,
    conditions,
    histories,
    unset,
    more_histories,
    torch_words,
    torch_numbers,
    mlx_words,
    encoder_words,
    call_words,
    strangers,
    well_advised,
)
CASES = tuple(case for part in PARTS for case in part.CASES)


# Cases that are like others run on one engine each time, mistakes on the vector engine; `pytest -m fuzz` has the rest.
WORDS = (torch_words, torch_numbers, mlx_words, encoder_words, call_words)
ONCE = frozenset(
    case.name for part in (histories, layout, unset, more_histories, *WORDS) for case in part.CASES
)


def runs() -> Iterator[Any]:
    for case in CASES:
        for engine in ("vector", "oracle"):
            seldom = case.name in ONCE and engine != ("vector" if case.find else "oracle")
            marks = [pytest.mark.fuzz] if seldom else []
            yield pytest.param(case, engine, id=f"{case.name}-{engine}", marks=marks)


@pytest.mark.parametrize(("case", "engine"), tuple(runs()))
def test_what_slipped_through(case: Case, engine: str, monkeypatch: pytest.MonkeyPatch):
    if case.slow and engine == "oracle":
        pytest.skip("too many threads for the oracle")
    monkeypatch.setenv("METALLOID_CHECK_ENGINE", engine)
    report = report_of(case)
    found = [f for f in report.findings if f.severity != "note"]
    if not case.find:
        assert not found and report.ok, report.text()
        assert not report.launches or report.explain().broken is None, report.explain().text()
        return
    right = [f for f in found if f.rule == case.find]
    assert right and not report.ok, report.text()
    assert any(case.says in f.text() for f in right), report.text()
    why = report.explain().broken  # it gives the advice of a finding, and no other
    assert why is not None, report.explain().text()
    # A condition that nobody passed is told with its numbers.
    if not {f.rule for f in found} & {"M106", "M305"}:
        assert why.hint in {f.hint for f in found}, report.explain().text()


def test_positives_and_twins_are_equal_in_number():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    wrong = sum(bool(case.find) for case in CASES)
    assert abs(2 * wrong - len(CASES)) <= len(CASES) // 10 + 2, (wrong, len(CASES))
