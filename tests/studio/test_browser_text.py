"""The studio's source in a real browser: marks stand under their words, long texts stay quick, nothing sticks out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metalloid.studio.browser import NARROW, WIDE, browser, missing, opened, served

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

SLOW = 60_000  # milliseconds: other tests compile at the same time
# Where a word of the painted source is on the screen.
PLACE = """word => {
    const walk = document.createTreeWalker(document.querySelector('.paint'), NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const at = walk.currentNode.data.indexOf(word);
        if (at < 0) continue;
        const range = document.createRange();
        range.setStart(walk.currentNode, at);
        range.setEnd(walk.currentNode, at + word.length);
        const {x, y, width} = range.getBoundingClientRect();
        return {x, y, width};
    }
}"""


@pytest.fixture(scope="module")
def driven() -> Iterator[Any]:
    with browser() as made:
        yield made


BEFORE = ("", "\t\t", "/* tab\tinside */ ", "/* naïve größe */ ", "/* 日本語 */ ", "/* \U0001f600 */ ")


def test_a_mistake_is_underlined_where_it_is(driven: Any, tmp_path: Path) -> None:
    """Behind tabs, letters of several bytes, wide ones, and one that JavaScript counts twice."""
    file = tmp_path / "k.metal"
    lines = [f"{before}x[i] = missing{n};" for n, before in enumerate(BEFORE)]
    head = "kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {"
    file.write_text("\n".join([head, *lines, "}\n"]), encoding="utf-8")
    with served(file) as server:
        page = opened(driven, server.address, "light", WIDE)
        page.wait_for_selector(".squiggle.error", timeout=SLOW)
        marks = [mark.bounding_box() for mark in page.query_selector_all(".squiggle.error")]
        problems = page.query_selector_all(".problem")
        assert len(marks) == len(problems) == len(BEFORE)
        for n, (line, mark, problem) in enumerate(zip(lines, marks, problems, strict=True)):
            word = page.evaluate(PLACE, f"missing{n}")
            assert mark["x"] == pytest.approx(word["x"], abs=1), line
            assert mark["width"] == pytest.approx(word["width"], abs=1), line
            assert f"{n + 2}:{line.index('missing') + 1}" in problem.inner_text()
            problem.click()  # and the cursor goes there
            assert page.evaluate("source.value.slice(source.selectionStart)").startswith(f"missing{n}")
        page.close()


def test_of_a_long_text_only_what_is_seen_is_made(driven: Any, tmp_path: Path) -> None:
    """A key in 4,800 lines used to wait for as many numbers and ten thousand coloured words."""
    file = tmp_path / "long.metal"
    lines = [f"constant int c{n} = {n}; // line {n + 1}" for n in range(4800)]
    lines[2000:2400] = ["/* begins", *["constant int hidden = 1;"] * 398, "ends */"]
    file.write_text("\n".join(lines) + "\n")
    with served(file) as server:
        page = opened(driven, server.address, "light", WIDE)
        page.wait_for_selector(".paint span", timeout=SLOW)
        page.evaluate(
            "() => { const at = source.value.indexOf('c4700'); source.focus(); source.setSelectionRange(at, at); }"
        )
        page.evaluate("editor.scrollTop = 4690 * 21")
        page.wait_for_selector(".paint:has-text('c4700')", timeout=SLOW)
        page.keyboard.insert_text("more_")
        assert "more_c4700" in page.text_content(".paint")
        assert page.evaluate("document.querySelectorAll('.sheet *').length") < 2500
        number = page.locator(".gutter div:text-is('4701')").bounding_box()["y"]
        assert page.evaluate(PLACE, "more_c4700")["y"] == pytest.approx(number, abs=6)
        page.evaluate("editor.scrollTop = 2200 * 21")  # inside the comment, which begins far above
        page.wait_for_selector(".paint:has-text('hidden')", timeout=SLOW)
        assert page.evaluate("[...document.querySelectorAll('.paint span')].map((s) => s.className)") == [
            "comment"
        ]
        page.close()


def test_at_420_pixels_no_panel_and_no_button_sticks_out(driven: Any) -> None:
    with served() as server:
        page = opened(driven, server.address, "dark", NARROW)
        page.wait_for_selector("#finding-1 .timeline:visible", timeout=SLOW)
        overfull = (
            "[...document.querySelectorAll('button, .pill')].filter((b) => b.offsetParent"
            " && b.scrollWidth > b.clientWidth + 1 && getComputedStyle(b).overflow !== 'hidden')"
            ".map((b) => b.textContent)"
        )
        for tab in ("result", "findings", "writers", "roofline", "stages", "learn"):
            page.click(f"#tab-{tab}")
            assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0], tab
            assert page.evaluate(overfull) == [], tab
        page.click("#open-gallery")
        page.wait_for_selector(".lesson")
        assert page.evaluate(overfull) == []
        page.close()
