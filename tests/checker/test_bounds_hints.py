"""What is advised for an access outside its memory is about the index that stands in its line."""

from __future__ import annotations

import pytest

from metalloid.findings.bounds import Outside

SIX = {"write": False, "size": 4, "bytes": 2400, "element": 4, "grid": (6, 1, 1), "threadgroup": (6, 1, 1)}


@pytest.mark.parametrize("line", ["y[i] = x[i * 120];", "y[i] = x[i * n];", "y[i + 1] = x[i * 120];"])
def test_a_factor_too_many(line: str):
    """One element of each thread's own, at a multiple of its number."""
    found = Outside(name="x", offset=2400, thread=(5, 0, 0), line=line, **SIX)
    assert "leave out the factor 120" in found.hint


@pytest.mark.parametrize(
    "line", ["y[i * n + j] = x[i * n + n - j];", "s += x[i * n + j];", "y[i] = x[n - 1];"]
)
def test_the_end_of_a_row_is_no_factor(line: str):
    """Element 600 is 5 * 120 by chance: rows are of 100."""
    found = Outside(name="x", offset=2400, thread=(5, 0, 0), line=line, **SIX)
    assert "factor" not in found.hint and "the index is 600" in found.hint
