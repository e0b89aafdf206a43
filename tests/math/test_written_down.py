"""A function of the header is measured, known to the hints, and has its row in docs/math.md."""

from __future__ import annotations

import re

from metalloid.frontend import clang
from metalloid.frontend.hints.vocabulary import FUNCTIONS
from tests.math.cases import CASES
from tests.math.table import PAGE


def functions() -> set[str]:
    """Those of math.h: the words of its lists, and what `metal` takes besides."""
    text = (clang.INCLUDE / "metalloid" / "math.h").read_text()
    names = set(re.findall(r"X\((\w+), ", text)) | set(re.findall(r"using __MT_\w+::(\w+);", text))
    return names - {"name"}  # the macros' own parameter


def test_every_function_of_the_header_is_measured() -> None:
    names = functions()
    assert len(names) > 60
    assert names - {case.name for case in CASES} == set(), "add them to tests/math/cases.py"


def test_hints_know_every_function_of_the_header() -> None:
    assert functions() - FUNCTIONS == set(), "add them to frontend/hints/vocabulary.py"


def test_the_page_has_a_row_for_every_function() -> None:
    rows = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert rows == [case.name for case in CASES], "run python -m tests.math.table"
