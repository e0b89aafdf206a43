"""Pictures of the studio, for the README: `python -m metalloid.studio.screenshots FOLDER`.

Each is made from a running studio, so it shows what there is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from metalloid.studio.browser import NARROW, WIDE, browser, missing, opened, served

PATIENCE = 120_000  # milliseconds: the first kernel of a machine is compiled


def _race(page: Any) -> None:
    page.wait_for_selector("#finding-1 .timeline:visible", timeout=PATIENCE)


def _timeline(page: Any) -> None:
    _race(page)
    page.evaluate("tabs.scrollIntoView()")


def _stages(page: Any) -> None:
    _race(page)
    page.click("#tab-stages")
    page.click(".choice:text-is('vec.ll')")
    page.wait_for_selector(".row .at:not(:empty)", timeout=PATIENCE)
    page.click(".gutter div:nth-child(11)")


def _gallery(page: Any) -> None:
    _race(page)
    page.click("#open-gallery")
    page.wait_for_selector(".lesson")


def _mistake(page: Any) -> None:
    _race(page)
    text = page.input_value("#source")
    page.fill("#source", text.replace("part[0]", "partt[0]"))
    page.wait_for_selector(".problem", timeout=PATIENCE)


def _never(page: Any) -> None:
    """Which elements nobody wrote."""
    _race(page)
    page.click("#open-gallery")
    page.click(".lesson[data-rule=M106]")
    page.wait_for_selector("#finding-1:has-text('M106')", timeout=PATIENCE)
    page.click("#tab-writers")


# Name, light or dark, size, and what is done before the picture is taken.
PICTURES: tuple[tuple[str, str, tuple[int, int], Callable[[Any], None]], ...] = (
    ("studio-race", "light", WIDE, _race),
    ("studio-race-dark", "dark", WIDE, _race),
    ("studio-stages", "light", WIDE, _stages),
    ("studio-stages-dark", "dark", WIDE, _stages),
    ("studio-mistake", "light", WIDE, _mistake),
    ("studio-writers", "light", WIDE, _never),
    ("studio-gallery", "light", WIDE, _gallery),
    ("studio-narrow", "light", NARROW, _timeline),
    ("studio-narrow-dark", "dark", NARROW, _timeline),
)


def take(folder: Path, only: str = "") -> list[Path]:
    """The pictures whose names have `only` in them."""
    folder.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    with served() as server, browser() as driven:
        for name, theme, size, prepare in PICTURES:
            if only in name:
                page = opened(driven, server.address, theme, size)
                prepare(page)
                page.wait_for_timeout(300)
                made.append(folder / f"{name}.png")
                page.screenshot(path=str(made[-1]))
                page.close()
    return made


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit("python -m metalloid.studio.screenshots FOLDER [PART OF A NAME]")
    if why := missing():
        sys.exit(why)
    for path in take(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""):
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
