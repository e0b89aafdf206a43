"""The studio in a real browser: a mistake is typed, seen, mended; it runs; a race is planted and its timeline seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metalloid.studio.browser import NARROW, WIDE, browser, missing, opened, served

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())

SLOW = 60_000  # milliseconds: other tests compile at the same time
TEXT = """#include <metal_stdlib>
using namespace metal;

kernel void reverse(device const float* x [[buffer(0)]], device float* out [[buffer(1)]],
                    uint lid [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    tile[lid] = x[lid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[lid] = tile[63 - lid];
}
"""
BARRIER = "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"


@pytest.fixture(scope="module")
def driven() -> Iterator[Any]:
    with browser() as made:
        yield made


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = tmp_path_factory.mktemp("studio") / "reverse.metal"
    file.write_text(TEXT)
    with served(file) as server:
        yield server.address


def watched(driven: Any, address: str, theme: str, size: tuple[int, int], said: list[str]) -> Any:
    """A page whose complaints are kept."""
    page = opened(driven, address, theme, size)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda told: told.type == "error" and said.append(told.text))
    return page


def seen(page: Any, selector: str) -> Any:
    return page.wait_for_selector(selector, timeout=SLOW)


def replaced(page: Any, old: str, new: str) -> None:
    """What somebody who edits does, through the keyboard: select and type over."""
    page.evaluate(
        "old => { const at = source.value.indexOf(old); source.focus();"
        " source.setSelectionRange(at, at + old.length); }",
        old,
    )
    if new:
        page.keyboard.insert_text(new)
    else:
        page.keyboard.press("Delete")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_mistake_is_marked_mended_run_and_a_planted_race_is_drawn(
    driven: Any, address: str, theme: str, size: tuple[int, int], said: list[str]
) -> None:
    page = watched(driven, address, theme, size, said)
    seen(page, "#fill-x")
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    assert page.input_value("#source") == TEXT

    replaced(page, "63 - lid", "63 - lidd")  # a mistake, as it is typed
    assert "M602" in seen(page, ".lens.error").inner_text()
    seen(page, ".squiggle.error")
    assert "lidd" in seen(page, ".problem").inner_text()

    replaced(page, "lidd", "lid")  # mended
    page.wait_for_selector(".lens", state="detached", timeout=SLOW)
    assert page.input_value("#source") == TEXT

    for field, value in {"grid": "64", "threadgroup": "64", "shape-x": "64", "shape-out": "64"}.items():
        page.fill(f"#{field}", value)
    page.select_option("#fill-x", "arange")
    page.click("#run")
    assert "No findings" in seen(page, ".verdict.good").inner_text()
    values = [cell.inner_text().split()[-1] for cell in page.query_selector_all("#array-out .values div")]
    assert values == [str(63 - n) for n in range(64)]

    replaced(page, BARRIER, "")  # a race
    seen(page, ".panels.old")  # what is shown is from before the edit
    page.keyboard.press("Control+Enter")
    finding = seen(page, "#finding-1")
    assert "M201" in finding.inner_text() and "race in threadgroup memory" in finding.inner_text().lower()
    drawing = seen(page, "#finding-1 .timeline:visible")
    assert "either may come first" in drawing.text_content()
    assert drawing.bounding_box()["height"] > 80
    assert "M201" in seen(page, ".lens.error").inner_text()

    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]  # nothing sticks out
    assert said == []
    page.close()


def test_lines_lead_to_generated_code_and_back(driven: Any, address: str, said: list[str]) -> None:
    page = watched(driven, address, "light", WIDE, said)
    seen(page, "#fill-x")
    page.click("#tab-stages")
    stored = seen(page, ".row:has-text('store float'):has(.at:text-is('7'))")
    stored.click()
    band = seen(page, ".band.linked")
    assert band.bounding_box()["y"] == pytest.approx(
        page.locator(".gutter div").nth(6).bounding_box()["y"], abs=1
    )
    page.locator(".gutter div").nth(8).click()  # and from the source to the code
    linked = seen(page, ".row.linked")
    assert linked.query_selector(".at").inner_text() == "9"
    assert said == []
    page.close()


def test_the_gallery_explains_a_broken_kernel_and_shows_the_mended_one(driven: Any, said: list[str]) -> None:
    with served() as server:
        page = watched(driven, server.address, "light", WIDE, said)
        seen(page, "#finding-1 .timeline")  # the studio opens with a race
        page.click("#open-gallery")
        page.click(".lesson[data-rule=M106]")
        seen(page, "#finding-1:has-text('M106')")
        page.click("#tab-writers")
        assert len(page.query_selector_all(".map .never")) == 3  # the last elements, which nobody wrote
        page.click("#tab-findings")
        page.click("#finding-1 .rule")
        assert "Why it happens" in seen(page, ".learn").inner_text()
        page.click("#swap")
        seen(page, "#state.good:has-text('no findings')")
        assert said == []
        page.close()


def test_a_text_is_text_whatever_it_says(driven: Any, tmp_path: Path, said: list[str]) -> None:
    """Nothing that a kernel holds becomes part of the page."""
    file = tmp_path / "<img src=x onerror=alert(1)>.metal"
    text = (
        "// </pre><img src=x onerror=alert(1)><script>alert(2)</script>\n"
        "kernel void k(device float* x [[buffer(0)]]) { x[0] = undeclared; }\n"
        '#error "<img src=x onerror=alert(4)>"\n'
    )
    file.write_text(text)
    with served(file) as server:
        page = watched(driven, server.address, "light", WIDE, said)
        seen(page, ".problem")
        assert page.input_value("#source") == text and page.inner_text(".paint").strip() == text.strip()
        assert page.query_selector("img[src=x]") is None and len(page.query_selector_all("script")) == 1
        assert said == []
        page.close()


def test_the_file_is_saved(driven: Any, tmp_path: Path, said: list[str]) -> None:
    file = tmp_path / "saved.metal"
    file.write_text(TEXT)
    with served(file) as server:
        page = watched(driven, server.address, "light", WIDE, said)
        seen(page, "#fill-x")
        replaced(page, "63 - lid", "lid")
        seen(page, "#dirty:not([hidden])")
        page.keyboard.press("Control+s")
        page.wait_for_selector("#dirty", state="hidden", timeout=SLOW)
        assert file.read_text() == TEXT.replace("63 - lid", "lid")
        page.close()


def test_a_page_of_another_origin_gets_nothing(driven: Any, address: str) -> None:
    """A real browser sends the headers that the gate looks at, whatever a script asks for."""
    page = driven.new_page()
    page.goto("data:text/html,<p>elsewhere</p>")
    got = page.evaluate(
        """async (address) => {
            const tries = {
                post: () => fetch(address + 'api/open', {method: 'POST', body: '{}'}),
                silent: () => fetch(address + 'api/save', {method: 'POST', mode: 'no-cors', body: '{"text": "x"}'}),
                script: () => import(address + 'main.js'),
            };
            const told = {};
            for (const [name, one] of Object.entries(tries)) {
                try { told[name] = (await one()).type ?? 'loaded'; } catch { told[name] = 'refused'; }
            }
            return told;
        }""",
        address,
    )
    assert got["post"] == "refused" and got["script"] == "refused"
    assert got["silent"] in ("refused", "opaque")  # sent, and not answered to the script
    page.close()
