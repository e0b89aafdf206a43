"""Columns of places in a line that was changed on its way to clang."""

from __future__ import annotations

import pytest

from metalloid.frontend import diagnose
from metalloid.frontend.rewritten import Edit, Rewritten, applied
from metalloid.source import Source


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


def test_a_source_is_cut_into_lines_once() -> None:
    # A kernel asks for hundreds of lines, and the whole text was cut for each.
    texts = diagnose.Texts(Source("a\nb", name="k.metal"))
    assert texts.lines("k.metal") == ["a", "b"]
    assert texts.lines("k.metal") is texts.lines("k.metal")


def test_the_way_back_through_edits() -> None:
    before = "0123456789"
    text, edits = applied(before, [Edit(2, 4, ""), Edit(4, 4, "abc"), Edit(6, 8, "x"), Edit(8, 8, "y")])
    assert text == "01abc45xy89"
    rewritten = Rewritten(text, before, edits, False)
    back = [rewritten.original_offset(at) for at in range(len(text) + 2)]
    assert back == [0, 1, 4, 4, 4, 4, 5, 6, 8, 8, 9, 10, 11]
    assert Rewritten(before, before, (), False).original_offset(7) == 7
