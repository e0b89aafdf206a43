"""Sentences that misled somebody who read them with nothing but the kernel's source at hand, as they are now."""

from __future__ import annotations

import pytest

from metalloid.checker import Report
from tests.checker.second_round.case import report_of
from tests.checker.second_round.test_second_round import CASES

BY_NAME = {case.name: case for case in CASES}


def report(name: str) -> Report:
    if name.startswith("torch:"):
        pytest.importorskip("torch", reason="torch is not installed")
    return report_of(BY_NAME[name])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("call: a border of a tile that nobody loads", "has written there (element 33)"),
        ("MLX: a sum that starts in new memory", "written there (element 0); its memory starts undefined"),
        (
            "call: rows of a struct's tile taken for another length",
            "index 4 is past the end of the rows of 'mine.rows', of which there are 4",
        ),
        (
            "a token written behind a full cache",
            "make it larger, or use it only where the index is below 128",
        ),
        (
            "torch: a value that is loaded before the guard",
            "return before this line where the index is not below 50",
        ),
    ],
)
def test_places_are_told_as_authors_count_and_mends_say_where(name: str, says: str):
    assert says in report(name).text()


def test_a_matrix_has_no_lanes_to_choose():
    (found,) = report("encoder: a matrix by 24 lanes").findings
    assert found.hint == "make the threadgroup a multiple of 32 threads"


def test_stores_that_meet_because_an_index_wrapped_are_no_finding_of_their_own():
    found = report("call: a loop down that passes 0")
    assert {f.rule for f in found.findings} == {"M404"}
    assert "below 0" in found.explain().text() and "barrier" not in found.explain().text()


def test_a_zero_of_a_division_by_zero_is_not_a_sum_of_nothing():
    assert "nothing was added" not in report("a mean of a tree over nothing").explain().text()
