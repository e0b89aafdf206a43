"""The page of a comparison: the smallest case, the map of the errors, what was varied."""

from __future__ import annotations

import re

import numpy as np

import metalloid as mt
from tests.checker.test_page import Page, laid_out, needs_browser


def from_column_16_on(x: np.ndarray) -> np.ndarray:
    """Right up to 16 columns; from there on zeros."""
    out = x.copy()
    out[..., 16:] = 0
    return out


def compared() -> mt.Comparison:
    cases = mt.cases({"x": "rows D"}, tiles=8, largest=256)
    return mt.compare(from_column_16_on, lambda x: x, cases, progress=False)


def test_the_page_has_the_smallest_case_a_map_and_what_was_varied():
    result = compared()
    page = Page(html := result.html())
    text = "".join(page.texts)
    assert f"Smallest failing case: {result.smallest}" in text
    assert result.first_wrong is not None and result.first_wrong.place in text
    shown = result.larger or result.example
    assert shown is not None and shown.wrong is not None
    squares = re.findall(r'<rect class="(\w+)(?: first)?" x=', html)
    assert len(squares) == shown.wrong.size
    assert sum(kind != "fine" for kind in squares) == int(shown.wrong.sum())
    found = re.findall(r'class="(?!fine)\w+(?: first)?" x="(\d+)" y="(\d+)"', html)
    wrong = [(int(y) // 12, int(x) // 12) for x, y in found]
    assert sorted(wrong) == [tuple(map(int, at)) for at in np.argwhere(shown.wrong)]
    assert f"What was varied, in {len(result.outcomes)} cases" in text
    for name in ("rows", "D", "dtype", "layout", "values", "transposed", "zeros"):
        assert name in text


def test_values_have_the_colour_of_their_cases():
    html = compared().html()
    of_d = re.search(r"<h3>D</h3><p>(.*?)</p>", html)[1]
    kinds = {int(value): kind for kind, value in re.findall(r'class="value (\w+)" title="D (\d+): ', of_d)}
    assert kinds[16] == "right" and kinds[17] in ("wrong", "mixed") and kinds[256] == "wrong"


def test_a_comparison_that_is_right_says_so():
    cases = mt.cases({"x": "n"}, largest=64)
    html = mt.compare(lambda x: x + 0, lambda x: x, cases, progress=False).html()
    assert '<header class="good">' in html and "cases are right" in html and "Smallest" not in html
    assert 'class="value right"' in html and 'class="value wrong"' not in html.replace('">all wrong', "")


def test_the_page_needs_nothing_else_and_is_whole():
    for result in (compared(), mt.compare(lambda x: x, lambda x: x, [(np.ones(3),)], progress=False)):
        html = result.html()
        assert not re.search(r"<script|<link|@import|url\(|https?://", html)
        Page(html)


def test_names_are_escaped():
    case = mt.cases({"<x>": "<n>"}, largest=8)
    html = mt.compare(lambda x: x + 1, lambda x: x, case, progress=False).html()
    assert "<n>" not in html and "&lt;n&gt;" in html


def test_a_notebook_shows_the_smallest_case_and_the_map():
    html = compared()._repr_html_()
    assert html.startswith('<div class="metalloid embedded">') and "Smallest failing case" in html
    assert "<svg" in html and "What was varied" not in html


@needs_browser
def test_it_fits_a_telephone(tmp_path):
    sizes, wider = laid_out(tmp_path, compared().html(), "header, h2, .card, .errors, .thing, .value")
    assert wider <= 0 and len(sizes) > 40 and all(wide > 10 and high > 15 for wide, high in sizes)
