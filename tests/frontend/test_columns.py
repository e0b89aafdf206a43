"""Columns of places in a line that was changed on its way to clang."""

from __future__ import annotations

import pytest

from metalloid.frontend import diagnose


def test_what_came_out_of_a_macro_stands_at_its_name() -> None:
    written, expanded = "x[i] = TWICE(a) + b;", "x[i] = (2 * (a)) + b;"
    assert diagnose.align(expanded, expanded.index("2"), written) == written.index("TWICE") + 1
    assert diagnose.align(expanded, expanded.index("b;"), written) == written.index("b;") + 1
    assert diagnose.align(expanded, len(expanded) + 5, written) == len(written) + 1


def test_a_line_is_taken_apart_once_for_all_of_its_places(monkeypatch: pytest.MonkeyPatch) -> None:
    # A kernel of 300 barriers in one line took 27 s, most of them here.
    asked: list[str] = []
    tokens = diagnose._tokens
    monkeypatch.setattr(diagnose, "_tokens", lambda line: asked.append(line) or tokens(line))
    written = "threadgroup float s[64]; " + "s[t] += 1; " * 50
    expanded = "__local " + written
    places = [at for at in range(len(expanded)) if expanded.startswith("+=", at)]
    assert [diagnose.align(expanded, at, written) for at in places] == [at - 8 + 1 for at in places]
    assert len(asked) == 2
